/** The directory name of an issue's workspace (section 4.2). */
import { createHash } from "node:crypto";

import { AppError } from "../domain/errors.ts";

/** File systems take 255 bytes; the rest is room for what is put around a key. */
const MAX_KEY_BYTES = 200;
const HASH_DIGITS = 16;

/** Names in the root that mean something to us or to git; an issue so named gets a hash like a changed one. */
const RESERVED = new Set([".symphony", ".git"]);

/**
 * Every character outside `[A-Za-z0-9._-]` becomes `_`; if that, or the length limit, changed anything, 16 hex digits of the
 * identifier's SHA-256 follow. Throws AppError workspace_key_invalid for `.`, `..` and the empty name.
 *
 * Two identifiers can still meet in one key: by letter case on some file systems, or when one is written like the other's hashed
 * key. Who takes a directory therefore also checks whose it is.
 */
export function workspaceKey(identifier: string): string {
  if (identifier === "" || identifier === "." || identifier === "..") {
    throw new AppError(
      "workspace_key_invalid",
      `the issue identifier ${JSON.stringify(identifier)} can't name a workspace; rename the issue`,
      { identifier },
    );
  }
  const safe = identifier.replace(/[^A-Za-z0-9._-]/gu, "_");
  if (safe === identifier && safe.length <= MAX_KEY_BYTES && !RESERVED.has(safe.toLowerCase())) return safe;
  const hash = createHash("sha256").update(identifier).digest("hex").slice(0, HASH_DIGITS);
  return `${safe.slice(0, MAX_KEY_BYTES - HASH_DIGITS - 1)}-${hash}`;
}
