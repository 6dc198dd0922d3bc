/** Maps checked front matter, in the file's names, to the typed Settings that everything else reads. */
import { tmpdir } from "node:os";
import { join } from "node:path";

import type {
  BudgetSettings,
  CodexSettings,
  ModelPrice,
  Secret,
  Settings,
  TrackerSettings,
} from "../../domain/settings.ts";
import { stateCaps } from "./cross-field.ts";
import type { KeyPath } from "../front-matter-yaml.ts";
import { keyText } from "../front-matter-yaml.ts";
import { expandPath, type PathContext } from "../paths.ts";
import { shown, type Problems } from "./problems.ts";
import type { WorkflowValues } from "./schema.ts";

/** Everything that the mapping needs beside the values. */
export interface MappingContext {
  readonly paths: PathContext;
  /** Key text to the variable that gave the value. */
  readonly from: ReadonlyMap<string, string>;
  readonly problems: Problems;
}

/** What comes from elsewhere than the values. */
export interface SettingsBase {
  readonly workflowPath: string;
  readonly revision: string;
  readonly promptTemplate: string;
  readonly tracker: TrackerSettings;
  readonly secrets: readonly Secret[];
}

/** Folder of the workspaces under the system's temporary one (section 5.3.3). */
const DEFAULT_ROOT = "symphony_workspaces";

const ENV_NAME = /^[A-Za-z_][A-Za-z0-9_]*$/;

function pathValue(value: string | null, key: KeyPath, context: MappingContext): string | null {
  if (value === null) return null;
  const expanded = expandPath(value, context.paths);
  if ("path" in expanded) return expanded.path;
  context.problems.error(
    key,
    `${shown(value)} uses $${expanded.unset}, which is unset or empty; export it, or write the path out`,
  );
  return null;
}

function environmentMistake(name: string, value: string): string | null {
  if (!ENV_NAME.test(name)) return "is no name for an environment variable; use letters, digits and _";
  return value.includes("\0") ? "the value holds a NUL character, which no environment can; remove it" : null;
}

function environment(env: WorkflowValues["codex"]["env"], problems: Problems): Record<string, string> {
  const entries = Object.entries(env).map(([name, value]) => {
    const mistake = environmentMistake(name, String(value));
    if (mistake !== null) problems.error(["codex", "env", name], mistake);
    return [name, String(value)] as const;
  });
  return Object.fromEntries(entries);
}

function codexSettings(codex: WorkflowValues["codex"], problems: Problems): CodexSettings {
  return {
    command: codex.command,
    approvalPolicy: codex.approval_policy,
    threadSandbox: codex.thread_sandbox,
    turnSandboxPolicy: codex.turn_sandbox_policy,
    turnTimeoutMs: codex.turn_timeout_ms,
    readTimeoutMs: codex.read_timeout_ms,
    startTimeoutMs: codex.start_timeout_ms,
    stallTimeoutMs: codex.stall_timeout_ms,
    env: environment(codex.env, problems),
    envInherit: codex.env_inherit,
    gitWrites: codex.git_writes,
    trustProject: codex.trust_project,
    dynamicTools: codex.dynamic_tools,
    approvalsReviewer: codex.approvals_reviewer,
    process: codex.process,
    images: { maxCount: codex.images.max_count, maxBytes: codex.images.max_bytes },
  };
}

/** Cached input costs what input costs, unless its own price is given. */
export function pricesOf(written: WorkflowValues["budget"]["prices"]): BudgetSettings["prices"] {
  const prices = Object.entries(written).map(([model, price]): [string, ModelPrice] => {
    return [model, { input: price.input, cachedInput: price.cached_input ?? price.input, output: price.output }];
  });
  return Object.fromEntries(prices);
}

function budgetSettings(budget: WorkflowValues["budget"]): BudgetSettings {
  return {
    tokensPerRun: budget.tokens_per_run,
    tokensPerIssue: budget.tokens_per_issue,
    tokensPerDay: budget.tokens_per_day,
    usdPerIssue: budget.usd_per_issue,
    usdPerDay: budget.usd_per_day,
    prices: pricesOf(budget.prices),
  };
}

/** Addresses of alert sinks often hold their own key; those that come from a variable were meant to stay out of sight. */
function ownSecrets(values: WorkflowValues, from: ReadonlyMap<string, string>): readonly Secret[] {
  const secret = (value: string | null, key: KeyPath): Secret[] => {
    const name = from.get(keyText(key));
    return value === null ? [] : [{ value, envNames: name === undefined ? [] : [name] }];
  };
  const hooks = values.notify.webhooks
    .map((value, index) => ({ value, key: ["notify", "webhooks", index] }))
    .filter(({ key }) => from.has(keyText(key)));
  return [
    ...secret(values.server.webhooks.linear.secret, ["server", "webhooks", "linear", "secret"]),
    ...hooks.flatMap(({ value, key }) => secret(value, key)),
    ...secret(values.notify.secret, ["notify", "secret"]),
  ];
}

function agentSettings(
  values: WorkflowValues["agent"],
  activeStates: readonly string[],
  problems: Problems,
): Settings["agent"] {
  return {
    backend: values.backend,
    maxConcurrentAgents: values.max_concurrent_agents,
    maxTurns: values.max_turns,
    maxRetryBackoffMs: values.max_retry_backoff_ms,
    maxConcurrentAgentsByState: stateCaps(values.max_concurrent_agents_by_state, activeStates, problems),
    resume: values.resume,
    finishGraceMs: values.finish_grace_ms,
    maxIdleRuns: values.max_idle_runs,
  };
}

function serverSettings(server: WorkflowValues["server"], context: MappingContext): Settings["server"] {
  return {
    port: server.port,
    host: server.host,
    tokenFile: pathValue(server.token_file, ["server", "token_file"], context),
    openRefresh: server.open_refresh,
    metrics: server.metrics,
    webhooks: server.webhooks,
  };
}

/** Problems with paths, names and single entries are collected; the answer counts only when there are none. */
export function toSettings(values: WorkflowValues, base: SettingsBase, context: MappingContext): Settings {
  const { problems, from } = context;
  const { hooks, approvals } = values;
  const root = pathValue(values.workspace.root, ["workspace", "root"], context);
  return {
    ...base,
    polling: { intervalMs: values.polling.interval_ms },
    workspace: { root: root ?? join(tmpdir(), DEFAULT_ROOT), onTerminal: values.workspace.on_terminal },
    hooks: {
      afterCreate: hooks.after_create,
      beforeRun: hooks.before_run,
      afterRun: hooks.after_run,
      beforeRemove: hooks.before_remove,
      timeoutMs: hooks.timeout_ms,
    },
    agent: agentSettings(values.agent, base.tracker.activeStates, problems),
    codex: codexSettings(values.codex, problems),
    approvals: {
      commands: approvals.commands,
      fileChanges: approvals.file_changes,
      permissions: approvals.permissions,
      elicitations: approvals.elicitations,
      questions: approvals.questions,
      timeoutMs: approvals.timeout_ms,
    },
    budget: budgetSettings(values.budget),
    state: { dir: pathValue(values.state.dir, ["state", "dir"], context) },
    server: serverSettings(values.server, context),
    shutdown: { drainMs: values.shutdown.drain_ms },
    notify: values.notify,
    log: {
      file: pathValue(values.log.file, ["log", "file"], context),
      maxBytes: values.log.max_bytes,
      keep: values.log.keep,
    },
    secrets: [...base.secrets, ...ownSecrets(values, from)],
  };
}
