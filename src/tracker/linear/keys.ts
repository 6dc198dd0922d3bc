/** Reading single values of `tracker.provider`: texts, addresses and secrets, with errors that name key, value and mend. */
import { AppError } from "../../domain/errors.ts";
import { referencedName } from "../../workflow/references.ts";
import type { ProviderInput } from "../../workflow/tracker-descriptor.ts";

const LOOPBACK_HOSTS: ReadonlySet<string> = new Set(["localhost", "127.0.0.1", "[::1]"]);
/** What an HTTP header can carry; a stray line break would otherwise make fetch quote the whole key in its error. */
const HEADER_SAFE = /^[\x21-\x7e]+$/;

/** Stands in errors where the value is, or may be, secret. */
export const NOT_SHOWN = Symbol("not shown");

/** An invalid_tracker_config that names the key, shows the value (nothing for undefined) and says what to do. */
export function refuse(key: string, value: unknown, problem: string): AppError {
  const name = `tracker.provider.${key}`;
  if (value === undefined || value === null || value === NOT_SHOWN) {
    return new AppError("invalid_tracker_config", `${name}: ${problem}`, { key: name });
  }
  return new AppError("invalid_tracker_config", `${name}: ${JSON.stringify(value)} ${problem}`, { key: name, value });
}

/** A missing_tracker_secret that names the key and says what to do. */
export function missingSecret(key: string, problem: string): AppError {
  const name = `tracker.provider.${key}`;
  return new AppError("missing_tracker_secret", `${name}: ${problem}`, { key: name });
}

/** A trimmed text, or null where the value is absent, blank or an unset reference. */
export function optionalText(input: ProviderInput, key: string, raw: unknown = input.raw[key]): string | null {
  const value = input.resolve(raw);
  if (value === undefined || value === null) return null;
  if (typeof value !== "string") throw refuse(key, value, "is no text; write it as a string");
  return value.trim() === "" ? null : value.trim();
}

/** An https address (http for loopback alone, so that a key never travels in the clear), or `fallback`. */
export function addressOf(input: ProviderInput, key: string, fallback: string, raw: unknown = input.raw[key]): string {
  const text = optionalText(input, key, raw) ?? fallback;
  const url = URL.parse(text);
  if (url === null) throw refuse(key, text, `is no address; write one such as ${fallback}`);
  if (url.username !== "" || url.password !== "") {
    throw refuse(key, NOT_SHOWN, "must not hold a user name or password; use api_key");
  }
  const isPlain = url.protocol === "http:" && LOOPBACK_HOSTS.has(url.hostname);
  if (url.protocol !== "https:" && !isPlain) {
    throw refuse(key, text, "would send the key unencrypted; use https (plain http only for localhost)");
  }
  return url.href;
}

/** Whether a text may be sent as a credential. */
export function isHeaderSafe(value: string): boolean {
  return HEADER_SAFE.test(value);
}

/** The value behind a secret key: literal, or of the variable that it names. Errors show a reference at most. */
export function secretText(input: ProviderInput, key: string, raw: unknown): string {
  const reference = referencedName(raw);
  const shown = reference === null ? NOT_SHOWN : raw;
  const resolved = input.resolve(raw);
  const value = typeof resolved === "string" ? resolved.trim() : resolved;
  if (value === undefined || value === null || value === "") {
    if (reference === null) throw missingSecret(key, "is missing; name a variable that holds it");
    throw missingSecret(key, `$${reference} is not set or empty; export ${reference}, or correct the name`);
  }
  if (typeof value !== "string") {
    throw refuse(key, shown, "is no text; name a variable such as $LINEAR_API_KEY");
  }
  if (!isHeaderSafe(value)) {
    throw refuse(key, shown, "holds spaces, line breaks or other characters that no key has; copy the key again");
  }
  return value;
}
