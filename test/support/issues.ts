/** Issues and settings for tests: complete, valid, and changed by a few overrides. */
import { issueId } from "../../src/domain/ids.ts";
import type { Issue } from "../../src/domain/issue.ts";
import type { AgentSettings, CodexSettings, Settings, TrackerSettings } from "../../src/domain/settings.ts";

/** An eligible issue; the id follows the identifier unless given. */
export function makeIssue(identifier: string, overrides: Partial<Issue> = {}): Issue {
  return {
    id: issueId(`id-${identifier}`),
    identifier,
    title: `Title of ${identifier}`,
    state: "Todo",
    description: null,
    branch_name: null,
    url: null,
    assignee_id: null,
    priority: null,
    labels: [],
    blocked_by: [],
    dispatchable: true,
    native_ref: null,
    created_at: "2026-01-01T00:00:00Z",
    updated_at: "2026-01-01T00:00:00Z",
    ...overrides,
  };
}

export interface SettingsOverrides {
  readonly tracker?: Partial<TrackerSettings>;
  readonly agent?: Partial<AgentSettings>;
  readonly codex?: Partial<CodexSettings>;
  readonly rest?: Partial<Settings>;
}

/** The documented defaults, with a local board. */
export function makeSettings(overrides: SettingsOverrides = {}): Settings {
  return {
    workflowPath: "/nowhere/WORKFLOW.md",
    revision: "000000000000",
    promptTemplate: "",
    tracker: {
      kind: "local",
      provider: {},
      requiredLabels: [],
      excludedLabels: [],
      activeStates: ["Todo", "In Progress"],
      terminalStates: ["Done", "Closed", "Cancelled", "Canceled", "Duplicate"],
      ...overrides.tracker,
    },
    polling: { intervalMs: 30_000 },
    workspace: { root: "/nowhere/workspaces", onTerminal: "remove" },
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
      ...overrides.agent,
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
      ...overrides.codex,
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
    ...overrides.rest,
  };
}
