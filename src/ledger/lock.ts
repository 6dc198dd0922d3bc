/** One daemon per state directory and per workflow file: locks that the kernel frees on any death. */
import { closeSync, openSync, readFileSync, realpathSync, rmSync, statSync } from "node:fs";
import { basename, dirname, join } from "node:path";
import Database from "better-sqlite3";
import { AppError, errorMessage } from "../domain/errors.ts";
import { diagnose } from "./failure.ts";
import type { StateFiles } from "./state-files.ts";
import { makeStateDirectory } from "./state-files.ts";

/** Who holds a lock. */
export interface LockOwner {
  readonly pid: number;
  /** Epoch milliseconds, whole seconds. */
  readonly startedAt: number;
}

/**
 * The locks of this process by path. A lock is an SQLite connection that never lets its exclusive file lock go; one that nobody
 * refers to would be closed by the garbage collector, and the lock with it.
 */
const held = new Map<string, Database.Database>();

/** A lock file that is replaced again and again while it is being taken is not going to be ours. */
const MAX_TRIES = 20;

/** Offsets of user_version and application_id in the header of an SQLite file: the owner's pid and start, in one page. */
const PID_OFFSET = 60;
const START_OFFSET = 68;

/** Who holds the lock at `path`, null when that can't be told. */
export function readLockOwner(path: string): LockOwner | null {
  // Closing any descriptor of a file drops this process's own locks on it, so a file that we hold is not opened.
  if (held.has(path)) return self();
  try {
    const header = readFileSync(path);
    return { pid: header.readInt32BE(PID_OFFSET), startedAt: header.readInt32BE(START_OFFSET) * 1000 };
  } catch {
    // Gone or not written yet: the message then names no owner.
    return null;
  }
}

function self(): LockOwner {
  return { pid: process.pid, startedAt: Math.floor(performance.timeOrigin / 1000) * 1000 };
}

/** Two daemons of one state directory are mostly one daemon started twice, else two workflows that were given one. */
function mendOf(path: string): string {
  return basename(path) === "daemon.lock"
    ? "stop it first, or give this one a state directory of its own (state.dir, --state-dir)"
    : "stop it first";
}

function ownedByAnother(path: string, what: string): AppError {
  const owner = readLockOwner(path);
  const who =
    owner === null
      ? "another daemon"
      : `the daemon with pid ${owner.pid}, running since ${new Date(owner.startedAt).toISOString()},`;
  return new AppError("already_running", `${who} already works on ${what}; ${mendOf(path)}`, {
    path,
    pid: owner?.pid ?? null,
    startedAt: owner?.startedAt ?? null,
  });
}

/** Takes the file lock, or throws SQLITE_BUSY at once. The owner is written into the header in the same step. */
function takeFileLock(path: string): Database.Database {
  const db = new Database(path, { timeout: 0 });
  try {
    db.pragma("locking_mode = EXCLUSIVE");
    // One page is written, in one piece; a journal would only be a second file beside the workflow.
    db.pragma("journal_mode = MEMORY");
    db.exec("BEGIN EXCLUSIVE");
    db.pragma(`user_version = ${self().pid}`);
    db.pragma(`application_id = ${self().startedAt / 1000}`);
    db.exec("COMMIT");
    return db;
  } catch (error) {
    db.close();
    throw error;
  }
}

function isBusy(error: unknown): boolean {
  return error instanceof Database.SqliteError && error.code.startsWith("SQLITE_BUSY");
}

/** Who holds the lock at `path`; null when nobody does, and then the file goes, or when its owner has only just come. */
export function clearStaleLock(path: string): LockOwner | null {
  if (held.has(path)) return self();
  try {
    const db = takeFileLock(path);
    rmSync(path, { force: true });
    db.close();
    return null;
  } catch (error) {
    if (isBusy(error)) return readLockOwner(path);
    throw error;
  }
}

function inode(path: string): bigint | null {
  return statSync(path, { throwIfNoEntry: false, bigint: true })?.ino ?? null;
}

/**
 * Takes the lock at `path`, or throws AppError `already_running`, which says that its owner works on `what`. A lock on a file that
 * somebody removed meanwhile guards nothing: it is given back and tried again.
 */
export function lockFile(path: string, what: string): Database.Database {
  if (held.has(path)) throw ownedByAnother(path, what);
  for (let tries = 0; tries < MAX_TRIES; tries += 1) {
    closeSync(openSync(path, "a", 0o600));
    const before = inode(path);
    let db: Database.Database;
    try {
      db = takeFileLock(path);
    } catch (error) {
      throw isBusy(error) ? ownedByAnother(path, what) : error;
    }
    if (before !== null && before === inode(path)) {
      held.set(path, db);
      return db;
    }
    db.close();
  }
  throw new Error(`${path} is replaced all the time`);
}

/** Gives back what {@link lockFile} has taken. */
export function release(path: string, options: { readonly remove: boolean }): void {
  const db = held.get(path);
  if (db === undefined) return;
  // While it is still locked: whoever waits for it then notices that its file is gone.
  if (options.remove) rmSync(path, { force: true });
  held.delete(path);
  db.close();
}

function lockStateDirectory(files: StateFiles): Disposable {
  makeStateDirectory(files.dir);
  // One name for one file, whatever links lead there: `held` is keyed by it.
  const path = join(realpathSync(files.dir), basename(files.lock));
  try {
    lockFile(path, `the state directory ${files.dir}`);
  } catch (error) {
    if (error instanceof AppError) throw error;
    // What isn't a database can't have been a lock of ours.
    const isForeign = error instanceof Database.SqliteError && error.code === "SQLITE_NOTADB";
    const mend = isForeign ? "remove that file if it isn't a lock" : (diagnose(error)?.mend ?? "remove what is there");
    throw new AppError(
      "state_dir_unusable",
      `locking ${path} failed: ${errorMessage(error)}; ${mend}, or choose another --state-dir`,
      { path },
      { cause: error },
    );
  }
  return { [Symbol.dispose]: () => release(path, { remove: false }) };
}

/**
 * Beside the workflow, so that it also guards against another user or another state directory. Null when nothing can be written
 * there (a read-only mount): then the state directory's own lock has to do.
 */
function lockWorkflow(workflowPath: string): Disposable | null {
  const real = realpathSync(workflowPath);
  const path = join(dirname(real), `.${basename(real)}.lock`);
  try {
    lockFile(path, `the workflow ${workflowPath}`);
  } catch (error) {
    if (error instanceof AppError) throw error;
    return null;
  }
  return { [Symbol.dispose]: () => release(path, { remove: true }) };
}

/**
 * Makes the state directory and takes both locks until it is disposed. Throws `already_running` with the owner's pid and start, or
 * `state_dir_unusable`.
 */
export function lockDaemon(files: StateFiles, workflowPath: string): Disposable {
  using taken = new DisposableStack();
  taken.use(lockStateDirectory(files));
  taken.use(lockWorkflow(workflowPath));
  return taken.move();
}
