/** Every default of the file, pinned literally: a change here is a change of the outside contract. */
import { tmpdir } from "node:os";

import { afterAll, expect, test } from "vitest";

import { makeTempDir } from "../../../test/support/temp-dir.ts";
import { loadText, workflowText } from "../../../test/support/workflow-files.ts";
import { workflowSchema } from "./schema.ts";
import { schemaKeys } from "./unknown-keys.ts";

const dir = await makeTempDir();
afterAll(() => dir.dispose());

test("a file that names only its tracker gets every documented default", () => {
  const { settings, warnings } = loadText(dir.path, workflowText());
  expect(warnings).toEqual([]);
  expect(settings).toEqual({
    workflowPath: `${dir.path}/WORKFLOW.md`,
    revision: expect.stringMatching(/^[0-9a-f]{12}$/),
    promptTemplate: "Work on {{ issue.identifier }}.",
    tracker: {
      kind: "plain",
      provider: { path: undefined },
      requiredLabels: [],
      excludedLabels: [],
      activeStates: ["Todo", "In Progress"],
      terminalStates: ["Done"],
    },
    polling: { intervalMs: 30_000 },
    workspace: { root: `${tmpdir()}/symphony_workspaces`, onTerminal: "remove" },
    hooks: { afterCreate: null, beforeRun: null, afterRun: null, beforeRemove: null, timeoutMs: 60_000 },
    agent: {
      backend: "codex",
      maxConcurrentAgents: 10,
      maxTurns: 20,
      maxRetryBackoffMs: 300_000,
      maxConcurrentAgentsByState: {},
      resume: true,
      finishGraceMs: 10_000,
      maxIdleRuns: 3,
    },
    codex: {
      command: "codex app-server",
      approvalPolicy: null,
      threadSandbox: null,
      turnSandboxPolicy: null,
      turnTimeoutMs: 3_600_000,
      readTimeoutMs: 5000,
      startTimeoutMs: 60_000,
      stallTimeoutMs: 300_000,
      env: {},
      envInherit: "core",
      gitWrites: true,
      trustProject: false,
      dynamicTools: true,
      approvalsReviewer: null,
      process: "per_run",
      images: { maxCount: 5, maxBytes: 5_000_000 },
    },
    approvals: {
      commands: "decline",
      fileChanges: "decline",
      permissions: "decline",
      elicitations: "decline",
      questions: "decline",
      timeoutMs: 3_600_000,
    },
    budget: {
      tokensPerRun: null,
      tokensPerIssue: null,
      tokensPerDay: null,
      usdPerIssue: null,
      usdPerDay: null,
      prices: {},
    },
    state: { dir: null },
    server: {
      port: null,
      host: null,
      tokenFile: null,
      openRefresh: false,
      metrics: false,
      webhooks: { linear: { secret: null } },
    },
    shutdown: { drainMs: 30_000 },
    notify: { webhooks: [], secret: null },
    log: { file: null, maxBytes: null, keep: null },
    secrets: [],
  });
});

test("sections and keys without a value count as absent", () => {
  const bare = loadText(dir.path, workflowText()).settings;
  const yaml = "polling:\nagent:\n  max_turns:\ncodex: ~\nhooks: {before_run: null}\nworker:\n";
  const { settings, warnings } = loadText(dir.path, workflowText(yaml));
  expect({ ...settings, revision: "" }).toEqual({ ...bare, revision: "" });
  expect(warnings).toEqual([]);
});

test("the file's keys are these and no others", () => {
  expect(workflowSchema.safeParse({ tracker: { kind: "plain" } }).success).toBe(true);
  expect(schemaKeys()).toEqual([
    "tracker.kind",
    "tracker.provider",
    "tracker.required_labels",
    "tracker.excluded_labels",
    "tracker.active_states",
    "tracker.terminal_states",
    "polling.interval_ms",
    "workspace.root",
    "workspace.on_terminal",
    "hooks.after_create",
    "hooks.before_run",
    "hooks.after_run",
    "hooks.before_remove",
    "hooks.timeout_ms",
    "agent.backend",
    "agent.max_concurrent_agents",
    "agent.max_turns",
    "agent.max_retry_backoff_ms",
    "agent.max_concurrent_agents_by_state",
    "agent.resume",
    "agent.finish_grace_ms",
    "agent.max_idle_runs",
    "codex.command",
    "codex.approval_policy",
    "codex.thread_sandbox",
    "codex.turn_sandbox_policy",
    "codex.turn_timeout_ms",
    "codex.read_timeout_ms",
    "codex.start_timeout_ms",
    "codex.stall_timeout_ms",
    "codex.env",
    "codex.env_inherit",
    "codex.git_writes",
    "codex.trust_project",
    "codex.dynamic_tools",
    "codex.approvals_reviewer",
    "codex.process",
    "codex.images.max_count",
    "codex.images.max_bytes",
    "approvals.commands",
    "approvals.file_changes",
    "approvals.permissions",
    "approvals.elicitations",
    "approvals.questions",
    "approvals.timeout_ms",
    "budget.tokens_per_run",
    "budget.tokens_per_issue",
    "budget.tokens_per_day",
    "budget.usd_per_issue",
    "budget.usd_per_day",
    "budget.prices",
    "state.dir",
    "server.port",
    "server.host",
    "server.token_file",
    "server.open_refresh",
    "server.metrics",
    "server.webhooks.linear.secret",
    "shutdown.drain_ms",
    "notify.webhooks",
    "notify.secret",
    "log.file",
    "log.max_bytes",
    "log.keep",
  ]);
});
