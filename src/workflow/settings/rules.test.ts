/** Rules that need more than one value, and the warnings that a file loads with. */
import { afterAll, describe, expect, test } from "vitest";

import { makeTempDir } from "../../../test/support/temp-dir.ts";
import { appErrorOf, loadText, workflowText } from "../../../test/support/workflow-files.ts";

const dir = await makeTempDir();
afterAll(() => dir.dispose());

function load(yaml: string) {
  return loadText(dir.path, workflowText(yaml));
}

function withoutPath(text: string): string {
  return text.replaceAll(`${dir.path}/WORKFLOW.md:`, "");
}

function warningsOf(yaml: string): readonly string[] {
  return load(yaml).warnings.map(withoutPath);
}

function problemOf(yaml: string): string {
  return withoutPath(appErrorOf(() => load(yaml)).message);
}

describe("unknown keys", () => {
  test.each([
    ["pollling: {interval_ms: 5}", ["4: pollling: is unknown and ignored; did you mean polling?"]],
    ["agent: {max_turn: 5}", ["4: agent.max_turn: is unknown and ignored; did you mean agent.max_turns?"]],
    ["agent: {maxTurns: 5}", ["4: agent.maxTurns: is unknown and ignored; did you mean agent.max_turns?"]],
    ["codex: {max_turns: 5}", ["4: codex.max_turns: is unknown and ignored; did you mean agent.max_turns?"]],
    ["max_turns: 5", ["4: max_turns: is unknown and ignored; did you mean agent.max_turns?"]],
    [
      "codex:\n  images:\n    maxcount: 5",
      ["6: codex.images.maxcount: is unknown and ignored; did you mean codex.images.max_count?"],
    ],
    ["budget: {prices: {m: {input: 1, output: 1, cached: 1}}}", ["4: budget.prices.m.cached: is unknown and ignored"]],
    ["server: {webhooks: {github: {secret: x}}}", ["4: server.webhooks.github: is unknown and ignored"]],
    ["worker: {pool: 5}", ["4: worker.pool: is unknown and ignored"]],
    ["colour: blue\nflavour: sweet", ["4: colour: is unknown and ignored", "5: flavour: is unknown and ignored"]],
    [
      "  provider: {paht: x}",
      ["4: tracker.provider.paht: is unknown and ignored; did you mean tracker.provider.path?"],
    ],
    ["  api_key: x", ["4: tracker.api_key: is unknown and ignored"]],
    ["codex: {env: {ANY: x}}", []],
  ])("%j", (yaml, warnings) => {
    expect(warningsOf(yaml)).toEqual(warnings);
  });

  test("they don't hide what is wrong with known ones", () => {
    expect(problemOf("colour: blue\npolling: {interval_ms: x}")).toContain("polling.interval_ms");
  });
});

describe("caps by state", () => {
  test("keys are normalized, and bad entries are ignored with a warning each", () => {
    const yaml =
      'agent:\n  max_concurrent_agents_by_state:\n    " In Progress ": 2\n    Todo: "3"\n    A: 0\n    B: -1\n    C: 1.5\n    D: many\n    "": 4';
    const { settings, warnings } = load(yaml);
    expect(settings.agent.maxConcurrentAgentsByState).toEqual({ "in progress": 2, todo: 3 });
    const ignored = (line: number, name: string, value: string): string =>
      `${line}: agent.max_concurrent_agents_by_state.${name}: ${value} is ignored, because it is not a whole number of agents, 1 or more`;
    expect(warnings.map(withoutPath)).toEqual([
      ignored(8, "A", "0"),
      ignored(9, "B", "-1"),
      ignored(10, "C", "1.5"),
      ignored(11, "D", '"many"'),
      "12: agent.max_concurrent_agents_by_state.: is ignored, because the state name is blank",
    ]);
  });

  test("two spellings of one state: the later counts, with a warning", () => {
    const { settings, warnings } = load("agent: {max_concurrent_agents_by_state: {Todo: 1, TODO: 2}}");
    expect(settings.agent.maxConcurrentAgentsByState).toEqual({ todo: 2 });
    expect(warnings.map(withoutPath)).toEqual([
      "4: agent.max_concurrent_agents_by_state.TODO: replaces an earlier entry for the same state",
    ]);
  });

  test("a cap for a state that is not active is kept, with the nearest active one named", () => {
    expect(warningsOf("agent: {max_concurrent_agents_by_state: {In Progres: 1}}")).toEqual([
      "4: agent.max_concurrent_agents_by_state.In Progres: limits a state that is not one of tracker.active_states; did you mean In Progress?",
    ]);
  });
});

describe("workers on other hosts", () => {
  test.each([
    ["worker: {ssh_hosts: [a, b]}", 'worker.ssh_hosts: ["a","b"]'],
    ["worker: {ssh_hosts: a}", 'worker.ssh_hosts: "a"'],
    ["worker: {max_concurrent_agents_per_host: 2}", "worker.max_concurrent_agents_per_host: 2"],
  ])("%s is refused", (yaml, start) => {
    expect(problemOf(yaml)).toBe(
      `4: ${start}: runs on other hosts are not supported yet; remove the key (agents run on this host)`,
    );
  });

  test("an empty list asks for nothing", () => {
    expect(warningsOf("worker: {ssh_hosts: []}")).toEqual([]);
  });
});

describe("values that app-server no longer takes", () => {
  test("the reject object is refused with the granular one that means the same", () => {
    expect(
      problemOf("codex: {approval_policy: {reject: {sandbox_approval: true, rules: false, mcp_elicitations: true}}}"),
    ).toBe(
      '4: codex.approval_policy: {"reject":{"sandbox_approval":true,"rules":false,"mcp_elicitations":true}} is no longer accepted by ' +
        "app-server; write {granular: {sandbox_approval: false, rules: true, mcp_elicitations: false}}, which means the same, or never",
    );
  });

  test("on-failure is refused with the modern value", () => {
    expect(problemOf("codex: {approval_policy: on-failure}")).toBe(
      '4: codex.approval_policy: "on-failure" is no longer accepted by app-server; write on-request, or never to be asked nothing',
    );
  });

  test.each(["never", "on-request", "untrusted", "something-newer"])("%s is passed through", (policy) => {
    expect(load(`codex: {approval_policy: ${policy}}`).settings.codex.approvalPolicy).toBe(policy);
  });

  test("a policy that is neither a name nor a map is refused", () => {
    expect(problemOf("codex: {approval_policy: [never]}")).toContain('["never"] is neither a name nor a map');
    expect(problemOf("codex: {approval_policy: true}")).toContain("true is neither a name nor a map");
  });

  test.each([
    ["workspaceWrite", "workspace-write"],
    ["readOnly", "read-only"],
    ["dangerFullAccess", "danger-full-access"],
    ["workspace_write", "workspace-write"],
  ])("thread_sandbox %s is refused with its kebab name", (value, name) => {
    expect(problemOf(`codex: {thread_sandbox: ${value}}`)).toBe(
      `4: codex.thread_sandbox: "${value}" is not what app-server calls it; write ${name}`,
    );
  });

  test("a sandbox that we don't know is passed through with a warning", () => {
    const { settings, warnings } = load("codex: {thread_sandbox: container}");
    expect(settings.codex.threadSandbox).toBe("container");
    expect(warnings.map(withoutPath)).toEqual([
      '4: codex.thread_sandbox: "container" is passed through; app-server 0.171.0 knows read-only, workspace-write, danger-full-access',
    ]);
  });

  test("a turn policy is a map, and its types are camel-case", () => {
    expect(problemOf("codex: {turn_sandbox_policy: workspace-write}")).toContain(
      '"workspace-write" is not a map with a type; write it such as {type: workspaceWrite, writableRoots: [...]}',
    );
    expect(problemOf("codex:\n  turn_sandbox_policy:\n    type: workspace-write")).toBe(
      '6: codex.turn_sandbox_policy.type: "workspace-write" is not what app-server calls it here; write workspaceWrite',
    );
    expect(warningsOf("codex: {turn_sandbox_policy: {type: dangerFullAccess}}")).toEqual([]);
  });
});

describe("pairs that mean less than they seem to", () => {
  test("a writable turn policy without the workspaces is warned about", () => {
    const warned = warningsOf(
      "workspace: {root: /srv/w}\ncodex: {turn_sandbox_policy: {type: workspaceWrite, writableRoots: [/data]}}",
    );
    expect(warned).toHaveLength(1);
    expect(warned[0]).toContain("5: codex.turn_sandbox_policy: is sent unchanged: neither the ticket's workspace");
  });

  test.each(["/srv", "/srv/w"])("one that covers the root with %s is not", (root) => {
    const yaml = `workspace: {root: /srv/w}\ncodex: {turn_sandbox_policy: {type: workspaceWrite, writableRoots: [${root}]}}`;
    expect(warningsOf(yaml)).toEqual([]);
  });

  test("ask beside the policy never, which is the default too, is warned about", () => {
    const warning = (key: string): string =>
      `4: approvals.${key}: ask has no effect while codex.approval_policy is never: the agent asks nothing; set it to on-request`;
    expect(warningsOf("approvals: {commands: ask, permissions: ask}")).toEqual([
      warning("commands"),
      warning("permissions"),
    ]);
    expect(warningsOf("approvals: {commands: ask}\ncodex: {approval_policy: never}")).toEqual([warning("commands")]);
    expect(warningsOf("approvals: {commands: ask}\ncodex: {approval_policy: on-request}")).toEqual([]);
  });

  test("a user's question comes even under never, so asking is no mistake there", () => {
    expect(warningsOf("approvals: {questions: ask}")).toEqual([]);
  });

  test("a budget in dollars without prices is warned about", () => {
    expect(warningsOf("budget: {usd_per_day: 5}")).toEqual([
      "4: budget.usd_per_day: has no effect without budget.prices; give the model's prices per million tokens",
    ]);
    expect(warningsOf("budget: {usd_per_day: 5, prices: {m: {input: 1, output: 2}}}")).toEqual([]);
  });
});
