/** The environment of hooks: the daemon's own without the tracker's secrets, and the issue's data as plain values. */
import type { Issue } from "../domain/issue.ts";
import type { Secret } from "../domain/settings.ts";
import { withoutSecrets, type Environment } from "../host/environment.ts";

/** Far below the kernel's 128 KiB for one variable, so that a long title can't keep a script from starting. */
const MAX_VALUE_CHARS = 8_192;

/** A NUL ends a value early, or keeps the process from starting. */
function plainValue(text: string | null): string {
  return (text ?? "").replaceAll("\0", "").slice(0, MAX_VALUE_CHARS);
}

export interface HookEnvironmentInput {
  readonly baseEnv: Environment;
  readonly secrets: readonly Secret[];
  readonly issue: Issue;
  readonly workspacePath: string;
  /** Null on the first run: SYMPHONY_ATTEMPT is then empty. */
  readonly attempt: number | null;
}

/** The whole environment of a hook. Ticket text is only ever a value: nothing of it is spliced into a script. */
export function hookEnvironment(input: HookEnvironmentInput): Record<string, string> {
  const { baseEnv, secrets, issue, workspacePath, attempt } = input;
  return {
    ...withoutSecrets(baseEnv, secrets),
    SYMPHONY_ISSUE_ID: plainValue(issue.id),
    SYMPHONY_ISSUE_IDENTIFIER: plainValue(issue.identifier),
    SYMPHONY_ISSUE_TITLE: plainValue(issue.title),
    SYMPHONY_ISSUE_STATE: plainValue(issue.state),
    SYMPHONY_ISSUE_URL: plainValue(issue.url),
    SYMPHONY_WORKSPACE: workspacePath,
    SYMPHONY_ATTEMPT: attempt === null ? "" : String(attempt),
  };
}
