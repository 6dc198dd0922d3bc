/** What a workspace looks like, in two short strings: whether a run has moved anything is told by comparing them. */
import { createHash, type Hash } from "node:crypto";
import type { Dirent, Stats } from "node:fs";
import { readdir, readFile, readlink } from "node:fs/promises";
import { join } from "node:path";

import type { Fingerprint } from "../domain/outcome.ts";
import type { Clock } from "../lib/clock.ts";
import { isMissing, lookAt } from "./containment.ts";
import { readGitStatus, type GitStatus } from "./git-status.ts";

/** A look at a workspace stands between a run and the next; a larger tree counts as unknown. */
const TIME_LIMIT_MS = 10_000;
/** A larger file counts by size and time. */
const MAX_FILE_BYTES = 1_048_576;
/** Of all files together; those beyond count by size and time. */
const MAX_TOTAL_BYTES = 64 * 1_048_576;
/** Files and folders; those beyond don't count. */
const MAX_ENTRIES = 50_000;
/** Of a repository inside a plain directory, only what a commit moves: the rest changes when somebody looks at it. */
const GIT_MARKS = ["HEAD", "packed-refs", "refs"];

export interface FingerprintDeps {
  readonly clock: Clock;
  /** PATH, to find git by. */
  readonly searchPath: string;
}

/** One look, with what it may still cost. */
interface Look {
  readonly hash: Hash;
  readonly signal: AbortSignal;
  bytesLeft: number;
  entriesLeft: number;
}

/** Every field ends with a NUL, so that no two trees write the same bytes. */
function note(look: Look, ...fields: readonly (string | number)[]): void {
  for (const field of fields) look.hash.update(`${field}\0`);
}

async function digestFile(path: string, stats: Stats, look: Look): Promise<void> {
  note(look, "file", stats.mode & 0o111, stats.size);
  if (stats.size > MAX_FILE_BYTES || stats.size > look.bytesLeft) {
    note(look, stats.mtimeMs);
    return;
  }
  look.bytesLeft -= stats.size;
  look.hash.update(await readFile(path));
}

async function digestEntry(path: string, name: string, look: Look): Promise<void> {
  look.signal.throwIfAborted();
  if (look.entriesLeft <= 0) return;
  look.entriesLeft -= 1;
  note(look, name);
  try {
    const stats = await lookAt(path);
    if (stats === null) note(look, "gone");
    else if (stats.isSymbolicLink()) note(look, "link", await readlink(path));
    else if (stats.isFile()) await digestFile(path, stats, look);
    else if (stats.isDirectory()) await digestFolder(path, look);
    else note(look, "other");
  } catch (error) {
    if (look.signal.aborted) throw error;
    // Gone since it was listed, or not ours to read: that is a state like any other.
    note(look, isMissing(error) ? "gone" : "unreadable");
  }
}

/** In a fixed order, so that two looks at the same tree agree. */
async function digestFolder(path: string, look: Look): Promise<number> {
  const found = await readdir(path, { withFileTypes: true });
  const names = found.map((entry: Dirent) => entry.name).toSorted((a, b) => (a < b ? -1 : 1));
  note(look, "folder", names.length);
  for (const name of names) {
    if (name === ".git") await digestGitMarks(join(path, name), look);
    else await digestEntry(join(path, name), name, look);
  }
  return names.length;
}

async function digestGitMarks(path: string, look: Look): Promise<void> {
  for (const name of GIT_MARKS) await digestEntry(join(path, name), name, look);
}

async function digestChanges(path: string, status: GitStatus, look: Look): Promise<string> {
  for (const entry of status.entries) {
    note(look, entry.line);
    await digestEntry(join(path, entry.path), entry.path, look);
  }
  return look.hash.digest("hex");
}

async function lookAround(path: string, searchPath: string, signal: AbortSignal): Promise<Fingerprint> {
  const look: Look = { hash: createHash("sha256"), signal, bytesLeft: MAX_TOTAL_BYTES, entriesLeft: MAX_ENTRIES };
  const status = await readGitStatus({ workTree: path, searchPath, signal });
  if (status !== null) return { head: status.head, diff: await digestChanges(path, status, look) };
  const count = await digestFolder(path, look);
  return { head: null, diff: count === 0 ? null : look.hash.digest("hex") };
}

/**
 * HEAD and a hash of everything uncommitted, untracked files included; of a directory that is no repository, a hash of its tree.
 * Both null for an empty plain directory. Rejects when the look takes longer than 10 s or the directory can't be read.
 */
export async function readFingerprint(path: string, deps: FingerprintDeps): Promise<Fingerprint> {
  const controller = new AbortController();
  const timer = deps.clock.setTimer(TIME_LIMIT_MS, () => {
    controller.abort(new Error(`looking at the state of ${path} took longer than ${TIME_LIMIT_MS} ms`));
  });
  try {
    return await lookAround(path, deps.searchPath, controller.signal);
  } finally {
    timer.cancel();
  }
}
