/** The environment of hooks: the daemon's own without the tracker's secrets, and the issue's data as plain values. */
import type { Issue } from "../domain/issue.ts";
import type { Secret } from "../domain/settings.ts";

/** An environment as a process has it. */
export type Environment = Readonly<Record<string, string | undefined>>;

/** A shorter secret inside a longer value is as likely chance as a leak; an equal one is always taken out. */
const MIN_EMBEDDED_SECRET_CHARS = 8;
/** Far below the kernel's 128 KiB for one variable, so that a long title can't keep a script from starting. */
const MAX_VALUE_CHARS = 8_192;

/** True for a variable that carries a secret, by its name or by its value. */
function carriesSecret(name: string, value: string, secrets: readonly Secret[]): boolean {
  return secrets.some(
    (secret) =>
      secret.envNames.includes(name) ||
      (secret.value !== "" && value === secret.value) ||
      (secret.value.length >= MIN_EMBEDDED_SECRET_CHARS && value.includes(secret.value)),
  );
}

/** The variables that are set and carry no secret. */
export function withoutSecrets(env: Environment, secrets: readonly Secret[]): Record<string, string> {
  const kept: Record<string, string> = {};
  for (const [name, value] of Object.entries(env)) {
    if (value !== undefined && !carriesSecret(name, value, secrets)) kept[name] = value;
  }
  return kept;
}

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
