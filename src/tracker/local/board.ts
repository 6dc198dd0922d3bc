/** A folder of ticket files, read anew only where a file has changed since it was last read. */
import { createHash } from "node:crypto";
import type { BigIntStats } from "node:fs";
import { lstat, readdir } from "node:fs/promises";
import { join } from "node:path";

import { AppError, errorMessage } from "../../domain/errors.ts";
import type { Clock } from "../../lib/clock.ts";
import { decodeText, openPlainFile } from "./atomic-file.ts";
import { MAX_TICKET_BYTES, parseTicket, type Ticket, type TicketProblem } from "./ticket-file.ts";

/** One ticket file as it stands. */
export interface TicketEntry {
  /** The file's stem: both id and identifier of the issue. */
  readonly name: string;
  readonly path: string;
  readonly content:
    | { readonly ok: true; readonly ticket: Ticket }
    | {
        readonly ok: false;
        readonly problem: TicketProblem;
        /** Tells one broken text from the next. */ readonly digest: string;
      };
  /** RFC 3339. */
  readonly bornAt: string;
  readonly changedAt: string;
}

/** Reads throw AppError tracker_request when the folder or a file in it can't be read; a file that is gone is left out. */
export interface Board {
  readonly path: string;
  /** The names of all tickets, malformed ones included. */
  list(signal?: AbortSignal): Promise<readonly string[]>;
  /** The tickets of `names` that are there. */
  load(names: Iterable<string>, signal?: AbortSignal): Promise<ReadonlyMap<string, TicketEntry>>;
  /** The path that a ticket of that name has; null for a name that no ticket can have. */
  pathOf(name: string): string | null;
}

interface CacheEntry {
  readonly stamp: string;
  /** False while the file is so young that another write could leave the same stamp. */
  readonly settled: boolean;
  readonly entry: TicketEntry;
}

const EXTENSION = ".md";
/** No folder separator, no control character, no leading dot (hidden files, `..`), no blank at either end. */
const NAME = /^(?![.\s])[^/\\\p{Cc}\p{Cs}]+(?<!\s)$/u;
/** Longest file name that common file systems take, less the extension and the frame of a temporary name. */
const MAX_NAME_BYTES = 200;
/** Files that are looked at side by side: enough to hide latency, few enough to leave threads for others. */
const PARALLEL_READS = 32;
/** The coarsest time stamps that file systems keep. */
const STAMP_GRANULARITY_MS = 2_000;

/** True for a name that a ticket may have. */
export function isTicketName(name: string): boolean {
  return NAME.test(name) && Buffer.byteLength(name) <= MAX_NAME_BYTES;
}

function isGone(error: unknown): boolean {
  return error instanceof Error && "code" in error && error.code === "ENOENT";
}

function readFailure(path: string, error: unknown): AppError {
  return new AppError("tracker_request", `reading ${path} failed: ${errorMessage(error)}`, { path }, { cause: error });
}

function stampOf(stats: BigIntStats): string {
  return [stats.ino, stats.size, stats.mtimeNs, stats.ctimeNs].join(":");
}

/** A link is refused rather than followed: it could put any file of the daemon's into a prompt, and an edit would replace it. */
function linkEntry(name: string, path: string, stats: BigIntStats): TicketEntry {
  const at = new Date(Number(stats.mtimeMs)).toISOString();
  const problem = { line: 1, reason: "the file is a link; put the ticket itself into the folder" };
  return { name, path, content: { ok: false, problem, digest: "link" }, bornAt: at, changedAt: at };
}

function parseContent(bytes: Buffer | null): TicketEntry["content"] {
  if (bytes === null) {
    return {
      ok: false,
      problem: { line: 1, reason: `the file is larger than ${MAX_TICKET_BYTES} bytes` },
      digest: "large",
    };
  }
  const digest = createHash("sha256").update(bytes).digest("hex");
  let text: string;
  try {
    text = decodeText(bytes);
  } catch {
    return { ok: false, problem: { line: 1, reason: "the file is not UTF-8 text" }, digest };
  }
  const parsed = parseTicket(text);
  return parsed.ok ? parsed : { ...parsed, digest };
}

async function readEntry(name: string, path: string, clock: Clock): Promise<CacheEntry | null> {
  await using file = await openPlainFile(path);
  const stats = await file.stat({ bigint: true });
  if (!stats.isFile()) return null;
  const startedAt = clock.now();
  const bytes = stats.size > MAX_TICKET_BYTES ? null : await file.readFile();
  const bornMs = Number(stats.birthtimeMs > 0n ? stats.birthtimeMs : stats.mtimeMs);
  return {
    stamp: stampOf(stats),
    settled: startedAt - Number(stats.ctimeMs) > STAMP_GRANULARITY_MS,
    entry: {
      name,
      path,
      content: parseContent(bytes),
      bornAt: new Date(bornMs).toISOString(),
      changedAt: new Date(Number(stats.mtimeMs)).toISOString(),
    },
  };
}

async function requireFolder(path: string): Promise<void> {
  try {
    await lstat(path);
  } catch (error) {
    throw readFailure(path, error);
  }
}

/** A board on the folder at `path`. Nothing is read before the first call. */
export function createBoard(path: string, clock: Clock): Board {
  const cache = new Map<string, CacheEntry>();
  const pathOf = (name: string): string | null => (isTicketName(name) ? join(path, name + EXTENSION) : null);

  async function look(name: string): Promise<TicketEntry | null> {
    const file = pathOf(name);
    if (file === null) return null;
    try {
      const stats = await lstat(file, { bigint: true });
      if (stats.isSymbolicLink()) return linkEntry(name, file, stats);
      const known = cache.get(name);
      if (known?.settled === true && known.stamp === stampOf(stats)) return known.entry;
      const fresh = stats.isFile() ? await readEntry(name, file, clock) : null;
      if (fresh === null) cache.delete(name);
      else cache.set(name, fresh);
      return fresh?.entry ?? null;
    } catch (error) {
      cache.delete(name);
      if (isGone(error)) return null;
      throw readFailure(file, error);
    }
  }

  return {
    path,
    pathOf,
    async list(signal) {
      signal?.throwIfAborted();
      const found = await readdir(path).catch((error: unknown) => {
        throw readFailure(path, error);
      });
      signal?.throwIfAborted();
      const names = found.filter((file) => file.endsWith(EXTENSION)).map((file) => file.slice(0, -EXTENSION.length));
      const tickets = new Set(names.filter(isTicketName));
      for (const name of cache.keys()) if (!tickets.has(name)) cache.delete(name);
      return [...tickets].toSorted();
    },
    async load(names, signal) {
      const entries = new Map<string, TicketEntry>();
      const wanted = [...new Set(names)];
      for (let start = 0; start < wanted.length; start += PARALLEL_READS) {
        signal?.throwIfAborted();
        const found = await Promise.all(wanted.slice(start, start + PARALLEL_READS).map(look));
        for (const entry of found) if (entry !== null) entries.set(entry.name, entry);
      }
      // A file that is missing is a ticket that is gone only while the folder itself is there.
      if (entries.size < wanted.length) await requireFolder(path);
      return entries;
    },
  };
}
