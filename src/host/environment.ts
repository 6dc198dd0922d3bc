/** What of an environment may be handed to a child process: never a tracker's secret, by name or by value. */
import type { Secret } from "../domain/settings.ts";

/** An environment as a process has it. */
export type Environment = Readonly<Record<string, string | undefined>>;

/** A shorter secret inside a longer value is as likely chance as a leak; an equal one is always taken out. */
const MIN_EMBEDDED_SECRET_CHARS = 8;

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
