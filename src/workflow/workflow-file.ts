/** Reads WORKFLOW.md itself: its bytes, what says that they changed, and one clear error when they can't be had. */
import { createHash } from "node:crypto";
import { readFileSync, statSync, type BigIntStats } from "node:fs";
import { readFile, stat } from "node:fs/promises";

import { AppError, errorMessage } from "../domain/errors.ts";

/** A workflow is a few pages of text. Anything larger is another file, given by mistake. */
const MAX_BYTES = 1_048_576;

/** Hex digits of the revision: enough to tell any two edits of one file apart. */
const REVISION_DIGITS = 12;

/** What section 5.5 calls `missing_workflow_file`. */
function missing(path: string, reason: string, cause?: unknown): AppError {
  const mend = "write one (WORKFLOW.example.md is a start), or name another file";
  return new AppError("missing_workflow_file", `${path}: ${reason}; ${mend}`, { path }, { cause });
}

function unreadable(path: string, error: unknown): AppError {
  const code = error instanceof Error && "code" in error ? error.code : undefined;
  if (code === "ENOENT") return missing(path, "there is no such file", error);
  const mend = "see that the daemon's user may read it, and enter its folders";
  const message = `${path}: the file can't be read: ${errorMessage(error)}; ${mend}`;
  return new AppError("missing_workflow_file", message, { path }, { cause: error });
}

/** Before the file is opened: a pipe or a device would never end. */
function refuseOther(path: string, stats: { isFile(): boolean; isDirectory(): boolean; readonly size: bigint }): void {
  if (stats.isDirectory()) throw missing(path, "this is a folder, not a file");
  if (!stats.isFile()) throw missing(path, "this is no regular file");
  if (stats.size > MAX_BYTES) {
    const message = `${path}:1: the file has ${stats.size} bytes, and a workflow has at most ${MAX_BYTES}; is it the right file?`;
    throw new AppError("workflow_parse_error", message, { path, line: 1 });
  }
}

/** Reads the file. Throws `missing_workflow_file` for one that is absent, a folder, or can't be read. */
export function readWorkflowFile(path: string): Uint8Array {
  let stats: BigIntStats;
  try {
    stats = statSync(path, { bigint: true });
  } catch (error) {
    throw unreadable(path, error);
  }
  refuseOther(path, stats);
  try {
    return readFileSync(path);
  } catch (error) {
    throw unreadable(path, error);
  }
}

/** What the file was like at one moment. `stamp` differs after any change that the file system tells apart. */
export interface WorkflowSight {
  readonly stamp: string;
  readonly bytes: Uint8Array;
}

/** The device, inode, size and times of the file, or why there is none. Never rejects. */
export async function stampOf(path: string): Promise<string> {
  try {
    const { dev, ino, size, mtimeNs, ctimeNs } = await stat(path, { bigint: true });
    return [dev, ino, size, mtimeNs, ctimeNs].join(":");
  } catch (error) {
    return `unreadable: ${errorMessage(error)}`;
  }
}

/** As {@link readWorkflowFile}, without holding up the rest of the daemon. */
export async function sightWorkflowFile(path: string): Promise<WorkflowSight> {
  const stamp = await stampOf(path);
  try {
    refuseOther(path, await stat(path, { bigint: true }));
    return { stamp, bytes: await readFile(path) };
  } catch (error) {
    throw error instanceof AppError ? error : unreadable(path, error);
  }
}

/** Names the content: SHA-256, first 12 hex digits. */
export function revisionOf(bytes: Uint8Array): string {
  return createHash("sha256").update(bytes).digest("hex").slice(0, REVISION_DIGITS);
}

/** Throws `workflow_parse_error` for bytes that are no UTF-8. */
export function decodeWorkflow(path: string, bytes: Uint8Array): string {
  try {
    return new TextDecoder("utf-8", { fatal: true, ignoreBOM: true }).decode(bytes);
  } catch (error) {
    const message = `${path}:1: the file is no UTF-8 text; save it as UTF-8`;
    throw new AppError("workflow_parse_error", message, { path, line: 1 }, { cause: error });
  }
}
