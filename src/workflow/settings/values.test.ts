/** Single values of the front matter: what each may be, and what is said about one that it may not. */
import { afterAll, describe, expect, test } from "vitest";

import { makeTempDir } from "../../../test/support/temp-dir.ts";
import { appErrorOf, loadText, workflowText } from "../../../test/support/workflow-files.ts";
import type { Settings } from "../../domain/settings.ts";

const dir = await makeTempDir();
afterAll(() => dir.dispose());

function settingsOf(yaml: string, env: Readonly<Record<string, string>> = {}): Settings {
  return loadText(dir.path, workflowText(yaml), env).settings;
}

/** The one problem that `yaml` has, without the file's name. */
function problemOf(yaml: string, env: Readonly<Record<string, string>> = {}): string {
  const error = appErrorOf(() => settingsOf(yaml, env));
  expect(error.code).toBe("invalid_workflow_config");
  return error.message.replaceAll(`${dir.path}/WORKFLOW.md:`, "");
}

test("every key takes a value of its kind", () => {
  const settings = settingsOf(
    `
polling: {interval_ms: 5000}
workspace: {root: /srv/spaces, on_terminal: keep}
hooks: {after_create: git clone, before_run: b, after_run: c, before_remove: d, timeout_ms: 1}
agent:
  {backend: codex, max_concurrent_agents: 2, max_turns: 3, max_retry_backoff_ms: 4, resume: false, finish_grace_ms: 0,
   max_idle_runs: 0, max_concurrent_agents_by_state: {Todo: 1}}
codex:
  command: my-agent serve
  approval_policy: {granular: {sandbox_approval: true, rules: false, mcp_elicitations: true}}
  thread_sandbox: workspace-write
  turn_sandbox_policy: {type: externalSandbox, networkAccess: restricted}
  turn_timeout_ms: 1
  read_timeout_ms: 2
  start_timeout_ms: 3
  stall_timeout_ms: 0
  env: {A: text, B: 5, C: true}
  env_inherit: all
  git_writes: false
  trust_project: true
  dynamic_tools: false
  approvals_reviewer: auto_review
  process: shared
  images: {max_count: 0, max_bytes: 1}
approvals: {commands: ask, file_changes: accept, permissions: decline, elicitations: ask, questions: ask, timeout_ms: 9}
budget:
  {tokens_per_run: 1, tokens_per_issue: 2, tokens_per_day: 3, usd_per_issue: 0.5, usd_per_day: 10,
   prices: {gpt-x: {input: 1.25, cached_input: 0.1, output: 10}, gpt-y: {input: 2, output: 8}}}
state: {dir: /srv/state}
server:
  {port: 0, host: 0.0.0.0, token_file: token, open_refresh: true, metrics: true, webhooks: {linear: {secret: $HOOK}}}
shutdown: {drain_ms: 0}
notify: {webhooks: ["https://a.example/x", $SINK]}
log: {file: /var/log/s.log, max_bytes: 10, keep: 2}`,
    { HOOK: "hook-secret", SINK: "http://b.example/key" },
  );
  expect(settings).toMatchObject({
    polling: { intervalMs: 5000 },
    workspace: { root: "/srv/spaces", onTerminal: "keep" },
    hooks: { afterCreate: "git clone", beforeRun: "b", afterRun: "c", beforeRemove: "d", timeoutMs: 1 },
    agent: {
      maxConcurrentAgents: 2,
      maxTurns: 3,
      maxRetryBackoffMs: 4,
      resume: false,
      finishGraceMs: 0,
      maxIdleRuns: 0,
      maxConcurrentAgentsByState: { todo: 1 },
    },
    codex: {
      command: "my-agent serve",
      approvalPolicy: { granular: { sandbox_approval: true, rules: false, mcp_elicitations: true } },
      threadSandbox: "workspace-write",
      turnSandboxPolicy: { type: "externalSandbox", networkAccess: "restricted" },
      turnTimeoutMs: 1,
      readTimeoutMs: 2,
      startTimeoutMs: 3,
      stallTimeoutMs: 0,
      env: { A: "text", B: "5", C: "true" },
      envInherit: "all",
      gitWrites: false,
      trustProject: true,
      dynamicTools: false,
      approvalsReviewer: "auto_review",
      process: "shared",
      images: { maxCount: 0, maxBytes: 1 },
    },
    approvals: {
      commands: "ask",
      fileChanges: "accept",
      permissions: "decline",
      elicitations: "ask",
      questions: "ask",
      timeoutMs: 9,
    },
    budget: {
      tokensPerRun: 1,
      tokensPerIssue: 2,
      tokensPerDay: 3,
      usdPerIssue: 0.5,
      usdPerDay: 10,
      prices: {
        "gpt-x": { input: 1.25, cachedInput: 0.1, output: 10 },
        "gpt-y": { input: 2, cachedInput: 2, output: 8 },
      },
    },
    state: { dir: "/srv/state" },
    server: {
      port: 0,
      host: "0.0.0.0",
      tokenFile: `${dir.path}/token`,
      openRefresh: true,
      metrics: true,
      webhooks: { linear: { secret: "hook-secret" } },
    },
    shutdown: { drainMs: 0 },
    notify: { webhooks: ["https://a.example/x", "http://b.example/key"] },
    log: { file: "/var/log/s.log", maxBytes: 10, keep: 2 },
    secrets: [
      { value: "hook-secret", envNames: ["HOOK"] },
      { value: "http://b.example/key", envNames: ["SINK"] },
    ],
  });
});

test.each([
  [
    "polling: {interval_ms: 0}",
    "polling.interval_ms: 0 is not a whole number of milliseconds, 1 or more; write one such as 30000",
  ],
  [
    "polling: {interval_ms: 1.5}",
    "polling.interval_ms: 1.5 is not a whole number of milliseconds, 1 or more; write one such as 30000",
  ],
  [
    "polling: {interval_ms: .inf}",
    "polling.interval_ms: Infinity is not a whole number of milliseconds, 1 or more; write one such as 30000",
  ],
  [
    "polling: {interval_ms: 1e+99}",
    "polling.interval_ms: 1e+99 is too large, 31536000000 is the most; write one such as 30000",
  ],
  [
    "codex: {stall_timeout_ms: 9007199254740991}",
    "codex.stall_timeout_ms: 9007199254740991 is too large, 31536000000 is the most; write one such as 300000",
  ],
  [
    "shutdown: {drain_ms: 31536000001}",
    "shutdown.drain_ms: 31536000001 is too large, 31536000000 is the most; write one such as 30000",
  ],
  ["polling: 5", "polling: 5 is not a map; write its keys indented on the lines below it"],
  ["polling: [5]", "polling: [5] is not a map; write its keys indented on the lines below it"],
  ["workspace: {root: 5}", "workspace.root: 5 is not text; write a path such as ~/symphony-workspaces"],
  ["workspace: {root: ' '}", 'workspace.root: " " is blank; write a path such as ~/symphony-workspaces'],
  ["workspace: {on_terminal: delete}", 'workspace.on_terminal: "delete" is not supported; write one of remove, keep'],
  [
    "hooks: {before_run: [a]}",
    'hooks.before_run: ["a"] is not text; write the script as a block, such as "|" followed by indented lines',
  ],
  [
    "hooks: {timeout_ms: -1}",
    "hooks.timeout_ms: -1 is not a whole number of milliseconds, 1 or more; write one such as 60000",
  ],
  ["agent: {backend: claude}", 'agent.backend: "claude" is not supported; write one of codex'],
  [
    "agent: {max_concurrent_agents: 0}",
    "agent.max_concurrent_agents: 0 is not a whole number of agents, 1 or more; write one such as 10",
  ],
  [
    "agent: {max_concurrent_agents_by_state: 3}",
    "agent.max_concurrent_agents_by_state: 3 is not a map; write State: number lines",
  ],
  ["agent: {resume: maybe}", 'agent.resume: "maybe" is neither true nor false; write one of the two'],
  [
    "codex: {command: ''}",
    'codex.command: "" is blank; write the shell command that starts the agent, such as codex app-server',
  ],
  [
    "codex: {command: [codex, app-server]}",
    'codex.command: ["codex","app-server"] is not text; write the shell command that starts the agent, such as codex app-server',
  ],
  ["codex: {env: {A: [1]}}", "codex.env.A: the value is not a plain value; write text, or a reference such as $NAME"],
  ["codex: {env: {1-A: x}}", "codex.env.1-A: is no name for an environment variable; use letters, digits and _"],
  ["approvals: {commands: allow}", 'approvals.commands: "allow" is not supported; write one of accept, decline, ask'],
  [
    "budget: {tokens_per_run: 0}",
    "budget.tokens_per_run: 0 is not a whole number of tokens, 1 or more; write one such as 2000000",
  ],
  [
    "budget: {usd_per_day: -1}",
    "budget.usd_per_day: -1 is not an amount of US dollars, 0 or more; write one such as 25",
  ],
  [
    "budget: {prices: {m: {input: 1}}}",
    "budget.prices.m.output: the key is not an amount of US dollars per million tokens, 0 or more; write one such as 1.25",
  ],
  ["server: {port: -1}", "server.port: -1 is not a TCP port from 0 to 65535; write one such as 8080"],
  [
    "notify: {webhooks: https://a}",
    "notify.webhooks: the value is not a list; write it such as [https://hooks.example.com/symphony]",
  ],
  [
    "notify: {webhooks: [ftp://key@a]}",
    "notify.webhooks[0]: the value is not an http or https address; write it such as https://hooks.example.com/symphony",
  ],
  ["log: {keep: 0}", "log.keep: 0 is not a whole number of files, 1 or more; write one such as 5"],
])("%s is refused", (yaml, problem) => {
  expect(problemOf(yaml)).toBe(`4: ${problem}`);
});

test.each([
  [
    "required_labels: {a: b}",
    'tracker.required_labels: {"a":"b"} is not a list of labels; write it such as [One, Two], and quote names that look like numbers',
  ],
  ["required_labels: [2024]", "tracker.required_labels[0]: 2024 is not text; quote it"],
  [
    "active_states: []",
    "tracker.active_states: the list is empty, so no issue would ever start; name at least one state",
  ],
  ["active_states: [Todo, '']", "tracker.active_states[1]: the state name is blank; write it, or remove the entry"],
  [
    "active_states: [todo, ' DONE ']",
    'tracker.active_states: "DONE" is also one of tracker.terminal_states; a state is active or terminal, so remove it from one of them',
  ],
])("tracker.%s is refused", (yaml, problem) => {
  expect(problemOf(`  ${yaml}`)).toBe(`4: ${problem}`);
});

test("quoted whole numbers and flags count as what they spell, as older files have them", () => {
  const settings = settingsOf('polling: {interval_ms: "15000"}\nagent: {resume: "false"}');
  expect(settings.polling.intervalMs).toBe(15_000);
  expect(settings.agent.resume).toBe(false);
});

test("a stall limit of 0 or less is kept: it turns the rule off", () => {
  expect(settingsOf("codex: {stall_timeout_ms: -5}").codex.stallTimeoutMs).toBe(-5);
});

test("a blank script is no script", () => {
  expect(settingsOf('hooks: {before_run: "  "}').hooks.beforeRun).toBeNull();
});

describe("secrets", () => {
  test("no error shows a value that may be one", () => {
    const yaml =
      "server: {webhooks: {linear: {secret: [hunter2]}}}\ncodex: {env: {K: [hunter2]}}\nnotify: {webhooks: [hunter2]}";
    const problem = problemOf(yaml);
    expect(problem.split("\n")).toHaveLength(2);
    expect(problem).not.toContain("hunter2");
    expect(problemOf("notify: {webhooks: [hunter2]}")).not.toContain("hunter2");
  });

  test("the tracker's secret can't be handed to the agent, by value or by name", () => {
    const file = (entry: string): string =>
      `---\ntracker: {kind: keyed, api_key: $KEY}\ncodex: {env: {${entry}}}\n---\n`;
    for (const entry of ["MY_KEY: $KEY", "KEYED_API_KEY: other"]) {
      const error = appErrorOf(() => loadText(dir.path, file(entry), { KEY: "s3cret" }));
      expect(error.message).toContain("would hand the daemon's own secret to the agent");
      expect(error.message).not.toContain("s3cret");
    }
    expect(loadText(dir.path, file("MY_KEY: other"), { KEY: "s3cret" }).settings.codex.env).toEqual({
      MY_KEY: "other",
    });
  });
});
