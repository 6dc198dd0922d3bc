/** Takes secrets out of a hook's output before it reaches an error message, and so the log, the ledger and the status. */
import type { Secret } from "../domain/settings.ts";
import type { Environment } from "./environment.ts";

const MARK = "[redacted]";
/** Names under which people keep secrets that aren't the tracker's. */
const SECRET_NAME = /KEY|TOKEN|SECRET|PASSWORD|PASSWD|CREDENTIAL/i;
/** A shorter value would blot out ordinary words. */
const MIN_SECRET_CHARS = 8;
/** `git clone` prints the address that it was given. */
const URL_CREDENTIALS = /([a-z][a-z0-9+.-]{0,20}:\/\/)[^\s/@]{1,500}@/gi;
const AUTH_HEADER = /(authorization["']?\s{0,3}[:=]\s{0,3}["']?)(?:(bearer|basic|token)\s{1,3})?[^\s"']{1,2000}/gi;

/** The values that must not be shown: the tracker's secrets, and what the environment holds under a secret's name. */
function secretValues(secrets: readonly Secret[], env: Environment): string[] {
  const named = Object.entries(env)
    .filter(([name]) => SECRET_NAME.test(name))
    .map(([, value]) => value ?? "")
    .filter((value) => value.length >= MIN_SECRET_CHARS);
  const known = secrets.map((secret) => secret.value).filter((value) => value !== "");
  // Longest first, so that a secret that is part of another doesn't leave the rest of that one standing.
  return [...new Set([...known, ...named])].toSorted((a, b) => b.length - a.length);
}

/** The text with secrets, credentials in addresses and authorization headers blotted out. */
export function redact(text: string, secrets: readonly Secret[], env: Environment): string {
  let clean = text;
  for (const value of secretValues(secrets, env)) clean = clean.replaceAll(value, MARK);
  return clean.replace(URL_CREDENTIALS, `$1${MARK}@`).replace(AUTH_HEADER, `$1${MARK}`);
}
