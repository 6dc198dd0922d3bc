/** Takes secrets out of a hook's output before it reaches an error message, and so the log, the ledger and the status. */
import type { Secret } from "../domain/settings.ts";
import { Redactor } from "../lib/redact.ts";
import type { Environment } from "../host/environment.ts";

/** Names under which people keep secrets that aren't the tracker's: a hook has the daemon's whole environment to print. */
const SECRET_NAME = /KEY|TOKEN|SECRET|PASSWORD|PASSWD|CREDENTIAL/i;
/** A shorter value would blot out ordinary words. */
const MIN_SECRET_CHARS = 8;

/** The text without the tracker's secrets, what the environment holds under a secret's name, and credentials of known shapes. */
export function redact(text: string, secrets: readonly Secret[], env: Environment): string {
  const named = Object.entries(env)
    .filter(([name]) => SECRET_NAME.test(name))
    .map(([, value]) => value ?? "")
    .filter((value) => value.length >= MIN_SECRET_CHARS);
  return new Redactor([...secrets.map((secret) => secret.value), ...named]).text(text);
}
