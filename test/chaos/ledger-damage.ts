/** Ways to ruin a ledger that no daemon has open. */
import { createHash } from "node:crypto";
import { closeSync, existsSync, openSync, readFileSync, rmSync, statSync, truncateSync, writeSync } from "node:fs";
import Database from "better-sqlite3";

/** The files of one ledger. */
export const LEDGER_FILES = ["", "-wal", "-shm"] as const;

/** Brings everything into the one file, so that no newer copy of a damaged page is left beside it. */
function settle(path: string): void {
  const db = new Database(path, { fileMustExist: true });
  try {
    db.pragma("wal_checkpoint(TRUNCATE)");
  } finally {
    db.close();
  }
}

function overwrite(path: string, at: number, bytes: number): void {
  const fd = openSync(path, "r+");
  try {
    writeSync(fd, Buffer.alloc(bytes, 0xa5), 0, bytes, at);
  } finally {
    closeSync(fd);
  }
}

/** Where the first page of a table lies in the file. */
function pageOf(path: string, table: string): { readonly at: number; readonly bytes: number } {
  const db = new Database(path, { readonly: true });
  try {
    const bytes = Number(db.pragma("page_size", { simple: true }));
    const root = Number(db.prepare("SELECT rootpage FROM sqlite_schema WHERE name = ?").pluck().get(table));
    return { at: (root - 1) * bytes, bytes };
  } finally {
    db.close();
  }
}

/** By name; each leaves a ledger that must be refused. */
export const DAMAGES: Readonly<Record<string, (path: string) => void>> = {
  "cut to nothing": (path) => {
    settle(path);
    truncateSync(path, 0);
  },
  "cut in half": (path) => {
    settle(path);
    truncateSync(path, Math.floor(statSync(path).size / 2));
  },
  "a broken header": (path) => {
    settle(path);
    overwrite(path, 0, 100);
  },
  "a broken page of claims": (path) => {
    settle(path);
    const { at, bytes } = pageOf(path, "claims");
    overwrite(path, at, bytes);
  },
  "a broken page of events": (path) => {
    settle(path);
    const { at, bytes } = pageOf(path, "events");
    overwrite(path, at, bytes);
  },
  "gone but for its write-ahead log": (path) => {
    if (!existsSync(`${path}-wal`) || statSync(`${path}-wal`).size === 0) truncateSync(path, 0);
    else rmSync(path);
  },
};

/** Tells whether anybody has touched the ledger since. */
export function digest(path: string): string {
  const hash = createHash("sha256");
  if (existsSync(path)) hash.update(readFileSync(path));
  else hash.update("gone");
  return hash.digest("hex");
}
