/** Opening the ledger's file: created whole, checked, upgraded with a backup, and never silently made anew. */
import { chmodSync, closeSync, existsSync, fsyncSync, openSync, renameSync, rmSync, statSync } from "node:fs";
import { dirname } from "node:path";
import Database from "better-sqlite3";
import { AppError, errorMessage } from "../domain/errors.ts";
import type { Log } from "../lib/log.ts";
import { guarded } from "./failure.ts";
import { migrate, readVersion, schemaVersion } from "./migrate.ts";
import { makeStateDirectory } from "./state-files.ts";

/** "Symp" in the file's header: tells a ledger from any other database. */
const APPLICATION_ID = 0x53_79_6d_70;
/** How long a statement waits for a reader that is in the way, such as a backup. */
const BUSY_TIMEOUT_MS = 5000;
/** What a burst of writes leaves of the write-ahead log on disk. */
const WAL_LIMIT_BYTES = 16 * 1024 * 1024;
/**
 * Pages in the log before they are moved to the file, with two syncs: four times SQLite's own figure, because a page that many batches
 * change is moved once.
 */
const CHECKPOINT_PAGES = 4000;

/** An open database that the caller closes. */
export type Connection = Database.Database;

function unusable(path: string, problem: string, mend: string): AppError {
  return new AppError("ledger_unusable", `the ledger ${path} ${problem}; ${mend}`, { path });
}

/** An empty file, or a log without its database, is what is left of a ledger: starting anew would forget every claim. */
function checkRemains(path: string): "missing" | "present" {
  const file = statSync(path, { throwIfNoEntry: false });
  const mend = "restore a backup, or move it and its -wal and -shm away to start with an empty ledger";
  if (file !== undefined) {
    if (!file.isFile()) throw unusable(path, "is not a file", "move it away");
    if (file.size === 0) throw unusable(path, "is empty: it has been truncated", mend);
    return "present";
  }
  const wal = statSync(`${path}-wal`, { throwIfNoEntry: false });
  if (wal !== undefined && wal.size > 0) throw unusable(path, "is gone, but its -wal is still there", mend);
  return "missing";
}

/** Builds the file beside its place and moves it there, so that no crash leaves half a ledger. */
function create(path: string): void {
  const draft = `${path}.new`;
  rmSync(draft, { force: true });
  rmSync(`${draft}-journal`, { force: true });
  closeSync(openSync(draft, "wx", 0o600));
  const db = new Database(draft);
  try {
    // Lets prune give space back; it can be chosen only before there are tables.
    db.pragma("auto_vacuum = INCREMENTAL");
    db.pragma(`application_id = ${APPLICATION_ID}`);
    migrate(db, 0);
  } finally {
    db.close();
  }
  renameSync(draft, path);
}

/** Sets what is set per connection. */
function configure(db: Connection): void {
  db.pragma("journal_mode = WAL");
  db.pragma("foreign_keys = ON");
  db.pragma("trusted_schema = OFF");
  db.pragma(`journal_size_limit = ${WAL_LIMIT_BYTES}`);
  db.pragma(`wal_autocheckpoint = ${CHECKPOINT_PAGES}`);
}

function checkIsLedger(db: Connection, path: string): void {
  if (db.pragma("application_id", { simple: true }) !== APPLICATION_ID) {
    throw unusable(path, "is a database of something else", "choose another state directory");
  }
}

/** Takes the name for our own file (0600), so that nothing of anybody's is overwritten. */
function claimTarget(target: string): void {
  try {
    closeSync(openSync(target, "wx", 0o600));
  } catch (error) {
    const isThere = error instanceof Error && "code" in error && error.code === "EEXIST";
    const problem = isThere ? "exists already" : `can't be written: ${errorMessage(error)}`;
    throw new AppError("ledger_unusable", `${target} ${problem}; choose another file`, { target }, { cause: error });
  }
}

/** SQLite leaves that to the system for a copy. */
function syncToDisk(path: string): void {
  const fd = openSync(path, "r+");
  try {
    fsyncSync(fd);
  } finally {
    closeSync(fd);
  }
}

/**
 * Copies the ledger to a new file (0600) as of now; works beside a running daemon. The copy is on the disk, or there is none. Throws
 * AppError `ledger_unusable` for a target that is there or can't be made.
 */
export function copyDatabase(db: Connection, target: string): void {
  claimTarget(target);
  try {
    db.prepare("VACUUM INTO ?").run(target);
    syncToDisk(target);
  } catch (error) {
    rmSync(target, { force: true });
    rmSync(`${target}-journal`, { force: true });
    throw error;
  }
}

function upgrade(db: Connection, path: string, log: Log): void {
  const version = readVersion(db, path);
  if (version === schemaVersion()) return;
  const backup = `${path}.v${version}.backup`;
  rmSync(backup, { force: true });
  copyDatabase(db, backup);
  migrate(db, version);
  log.info({ path, backup, from: version, to: schemaVersion() }, "ledger upgraded");
}

function problems(db: Connection, check: "quick_check" | "integrity_check"): readonly string[] {
  const rows = db.prepare(`PRAGMA ${check}(5)`).pluck().all().map(String);
  return rows.length === 1 && rows[0] === "ok" ? [] : rows;
}

/** SQLite's quick check: the first problems in words, empty when there are none. */
export function findDamage(db: Connection): readonly string[] {
  return problems(db, "quick_check");
}

/** The thorough check: indexes and references too. */
export function findAllDamage(db: Connection): readonly string[] {
  const damage = problems(db, "integrity_check");
  const dangling = db.prepare<[], { table: string }>("PRAGMA foreign_key_check").all();
  return dangling.length === 0 ? damage : [...damage, `${dangling.length} rows refer to rows that are gone`];
}

/** After a daemon that didn't close it, the file is read whole once. */
function checkAfterCrash(db: Connection, path: string): void {
  const running = db.prepare("SELECT 1 FROM daemon WHERE stopped_at IS NULL").get();
  if (running === undefined) return;
  const damage = findDamage(db);
  if (damage.length === 0) return;
  throw unusable(
    path,
    `is damaged (${damage.join("; ")})`,
    "restore a backup, or move it away to start with an empty one",
  );
}

/**
 * Opens the ledger for the one daemon that may write it, creating or upgrading it first. Throws `ledger_unusable`, `ledger_newer`
 * or `state_dir_unusable`, each with the mend.
 */
export function openForWriting(path: string, log: Log): Connection {
  makeStateDirectory(dirname(path));
  return guarded(path, "opening", () => {
    if (checkRemains(path) === "missing") create(path);
    // It holds ticket texts, and the daemon before this one may have run with another umask.
    if ((statSync(path).mode & 0o077) !== 0) chmodSync(path, 0o600);
    const db = new Database(path, { fileMustExist: true, timeout: BUSY_TIMEOUT_MS });
    try {
      checkIsLedger(db, path);
      configure(db);
      upgrade(db, path, log);
      checkAfterCrash(db, path);
      return db;
    } catch (error) {
      db.close();
      throw error;
    }
  });
}

/**
 * Opens a ledger that is there and has this program's schema, beside a running daemon or not. Throws `ledger_unusable` or
 * `ledger_newer`.
 */
export function openExisting(path: string, options: { readonly readonly: boolean }): Connection {
  if (!existsSync(path)) {
    const mend = "start the daemon once, or name the workflow (-w) or state directory (--state-dir)";
    throw unusable(path, "does not exist", mend);
  }
  return guarded(path, "opening", () => {
    const db = new Database(path, { ...options, fileMustExist: true, timeout: BUSY_TIMEOUT_MS });
    try {
      checkIsLedger(db, path);
      const version = readVersion(db, path);
      if (version < schemaVersion()) {
        throw unusable(path, `has the older schema ${version}`, "start the daemon once to upgrade it");
      }
      return db;
    } catch (error) {
      db.close();
      throw error;
    }
  });
}
