/** Runs one hook of the workflow file in a workspace (section 9.4). */
import { AppError } from "../domain/errors.ts";
import type { Issue } from "../domain/issue.ts";
import type { HookSettings, Settings } from "../domain/settings.ts";
import type { Host } from "../host/port.ts";
import type { Log } from "../lib/log.ts";
import type { Environment } from "../host/environment.ts";
import { hookEnvironment } from "./environment.ts";
import { issueFields } from "./log-fields.ts";
import { redact } from "./redact.ts";

export type HookName = "after_create" | "before_run" | "after_run" | "before_remove";

export interface HookRequest {
  readonly issue: Issue;
  readonly attempt: number | null;
  /** The hook's script, its time and the secrets to keep from it. */
  readonly settings: Settings;
  /** The workspace, where the script runs. */
  readonly path: string;
  readonly runMarker: string;
  /** Ends the hook's whole process tree when it aborts. */
  readonly signal?: AbortSignal;
}

export interface HookDeps {
  readonly host: Host;
  readonly log: Log;
  /** The daemon's environment. */
  readonly baseEnv: Environment;
}

/** Enough of the end of an output to see what went wrong. */
const MAX_TAIL_CHARS = 2_000;

const SCRIPT_OF = {
  after_create: "afterCreate",
  before_run: "beforeRun",
  after_run: "afterRun",
  before_remove: "beforeRemove",
} as const satisfies Record<HookName, keyof HookSettings>;

function tailOf(output: string): string {
  const trimmed = output.trim();
  return trimmed.length <= MAX_TAIL_CHARS ? trimmed : `...${trimmed.slice(-MAX_TAIL_CHARS)}`;
}

/**
 * Resolves when the script has ended well, or there is none. Throws AppError hook_failed with the exit code or hook_timeout, each
 * with the redacted end of the output, and the signal's reason when that aborted it. No process of the hook is left in any case.
 */
export async function runHook(name: HookName, request: HookRequest, deps: HookDeps): Promise<void> {
  const { issue, attempt, settings, path, runMarker, signal } = request;
  const script = settings.hooks[SCRIPT_OF[name]];
  if (script === null) return;
  signal?.throwIfAborted();
  const { secrets, hooks } = settings;
  const env = hookEnvironment({ baseEnv: deps.baseEnv, secrets, issue, workspacePath: path, attempt });
  const result = await deps.host.runScript({
    script,
    cwd: path,
    env,
    timeoutMs: hooks.timeoutMs,
    marker: runMarker,
    ...(signal === undefined ? {} : { signal }),
  });
  if (result.aborted) signal?.throwIfAborted();
  const fields = { ...issueFields(issue), hook: name };
  if (!result.timedOut && result.exitCode === 0) {
    deps.log.debug(fields, "hook completed");
    return;
  }
  const output = tailOf(redact(result.output, secrets, deps.baseEnv));
  const said = output === "" ? "it printed nothing" : `it printed: ${output}`;
  const data = { hook: name, path, exitCode: result.exitCode, output };
  throw result.timedOut
    ? new AppError(
        "hook_timeout",
        `hook ${name} in ${path} took longer than hooks.timeout_ms (${hooks.timeoutMs} ms); ${said}`,
        data,
      )
    : new AppError(
        "hook_failed",
        `hook ${name} in ${path} ended with exit code ${result.exitCode ?? "none (killed)"}; ${said}`,
        data,
      );
}
