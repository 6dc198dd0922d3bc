/** Other daemons of this user on this machine: none may have a copy of our ledger, and one that reads the same tickets is told of. */
import { createHash, randomUUID } from "node:crypto";
import { lstatSync, mkdirSync, readdirSync, rmdirSync } from "node:fs";
import { tmpdir, userInfo } from "node:os";
import { isAbsolute, join } from "node:path";
import { errorMessage, isAppError } from "../domain/errors.ts";
import type { Log } from "../lib/log.ts";
import { clearStaleLock, lockFile, release, type LockOwner } from "./lock.ts";

export interface NeighboursDeps {
  readonly env: Readonly<Record<string, string | undefined>>;
  readonly ledgerId: string;
  /** Which tickets are read; equal for equal scopes. */
  readonly scope: string;
  readonly log: Log;
}

/** A file that a neighbour takes for a stale one just then is made anew under another name. */
const MAX_TRIES = 5;

/** Where daemons of this user find each other, whatever their state directories. */
function meetingPlace(env: NeighboursDeps["env"]): string {
  const runtime = env["XDG_RUNTIME_DIR"] ?? "";
  return isAbsolute(runtime) ? join(runtime, "symphony") : join(tmpdir(), `symphony-${userInfo().uid}`);
}

/** Below a folder that everybody may write to, only one of our own will do. */
function makeFolder(path: string): void {
  mkdirSync(path, { recursive: true, mode: 0o700 });
  const { uid } = userInfo();
  const stats = lstatSync(path);
  if (!stats.isDirectory() || (uid >= 0 && stats.uid !== uid)) throw new Error(`${path} is not a folder of our own`);
}

function removeIfEmpty(path: string): void {
  try {
    rmdirSync(path);
  } catch {
    // Another daemon's file is in it.
  }
}

/** A lock that goes away with its file. */
function lockAndRemove(path: string, what: string): Disposable {
  lockFile(path, what);
  return { [Symbol.dispose]: () => release(path, { remove: true }) };
}

/** Shows that we are there; the file's name means nothing. */
function signIn(folder: string): { readonly path: string; readonly lock: Disposable } {
  for (let tries = 1; ; tries += 1) {
    const path = join(folder, `${randomUUID()}.lock`);
    try {
      makeFolder(folder);
      return { path, lock: lockAndRemove(path, "these tickets") };
    } catch (error) {
      if (tries === MAX_TRIES) throw error;
    }
  }
}

/** Everybody signs in before looking around, so that of two who start at once at least one sees the other. */
function findOthers(folder: string, own: string): readonly LockOwner[] {
  return readdirSync(folder)
    .map((name) => join(folder, name))
    .filter((path) => path !== own && path.endsWith(".lock"))
    .map((path) => clearStaleLock(path))
    .filter((owner) => owner !== null);
}

/**
 * Until it is disposed, no other daemon of this user can start on a copy of this ledger, which would end the agents of the first, and
 * one that reads the same tickets is warned of. Throws `already_running` for a copy that is in use. Where the meeting place can't be
 * used, a warning says so and that is all.
 */
export function meetNeighbours({ env, ledgerId, scope, log }: NeighboursDeps): Disposable {
  using met = new DisposableStack();
  const place = meetingPlace(env);
  const folder = join(place, `scope-${createHash("sha256").update(scope).digest("hex").slice(0, 16)}`);
  try {
    makeFolder(place);
    met.defer(() => removeIfEmpty(place));
    met.use(lockAndRemove(join(place, `ledger-${ledgerId}.lock`), `a copy of this ledger (id ${ledgerId})`));
    const own = signIn(folder);
    met.defer(() => removeIfEmpty(folder));
    met.use(own.lock);
    for (const { pid, startedAt } of findOthers(folder, own.path)) {
      log.warn(
        { pid, since: new Date(startedAt).toISOString(), scope },
        "another daemon reads the same tickets; unless labels or assignees keep the two apart, stop one of them",
      );
    }
  } catch (error) {
    if (isAppError(error, "already_running")) throw error;
    log.warn({ folder: place, err: errorMessage(error) }, "other daemons on this machine can't be looked for");
  }
  return met.move();
}
