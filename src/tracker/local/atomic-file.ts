/** Replaces and creates ticket files whole: a reader sees the old text or the new, and nobody's change is lost. */
import { randomUUID } from "node:crypto";
import { constants } from "node:fs";
import { link, lstat, open, rename, unlink, type FileHandle } from "node:fs/promises";
import { basename, dirname, join } from "node:path";

import { AppError, errorMessage } from "../../domain/errors.ts";

/** What an edit gets to see. */
export interface FileSight {
  readonly text: string;
  /** Epoch ms; the change time where the file system keeps no birth time. */
  readonly bornAt: number;
}

/** Somebody who saves every few milliseconds beats us; that is no editor, and we say so. */
const MAX_TRIES = 20;
/** New tickets can be read by whom the folder's owner lets in; the umask narrows it. */
const NEW_FILE_MODE = 0o666;
const PERMISSION_BITS = 0o7777;

/** One chain of edits per path in this process, whichever adapter instance they come from. */
const queues = new Map<string, Promise<unknown>>();

async function inTurn<T>(path: string, task: () => Promise<T>): Promise<T> {
  const before = queues.get(path) ?? Promise.resolve();
  const mine = before.then(task, task);
  queues.set(path, mine);
  try {
    return await mine;
  } finally {
    if (queues.get(path) === mine) queues.delete(path);
  }
}

/** Decodes UTF-8 strictly; throws a TypeError for bytes that are none. */
export function decodeText(bytes: Uint8Array): string {
  return new TextDecoder("utf-8", { fatal: true, ignoreBOM: true }).decode(bytes);
}

/** Opens a plain file for reading; a link or anything that would block is an error (ELOOP, or EINVAL for a non-file). */
export async function openPlainFile(path: string): Promise<FileHandle> {
  return open(path, constants.O_RDONLY | constants.O_NOFOLLOW | constants.O_NONBLOCK);
}

async function readBytes(path: string): Promise<Buffer> {
  await using file = await openPlainFile(path);
  return await file.readFile();
}

async function syncFolder(path: string): Promise<void> {
  await using folder = await open(path, constants.O_RDONLY);
  await folder.sync();
}

/** Hidden from every board reader by its leading dot. */
function temporaryPath(path: string): string {
  return join(dirname(path), `.${basename(path)}.${randomUUID()}.tmp`);
}

async function writeTemporary(path: string, text: string, like: string | null): Promise<string> {
  const temporary = temporaryPath(path);
  await using file = await open(temporary, "wx", NEW_FILE_MODE);
  try {
    if (like !== null) {
      const { mode, uid, gid } = await lstat(like);
      // Only root may give a file away; anybody else keeps it under their own name, as every editor does.
      await file.chown(uid, gid).catch(() => undefined);
      await file.chmod(mode & PERMISSION_BITS);
    }
    await file.writeFile(text);
    await file.sync();
  } catch (error) {
    await unlink(temporary).catch(() => undefined);
    throw error;
  }
  return temporary;
}

async function tryEdit(path: string, edit: (sight: FileSight) => string): Promise<boolean> {
  const before = await readBytes(path);
  const { birthtimeMs, mtimeMs } = await lstat(path);
  const text = decodeText(before);
  const result = edit({ text, bornAt: birthtimeMs > 0 ? birthtimeMs : mtimeMs });
  if (result === text) return true;
  const temporary = await writeTemporary(path, result, path);
  try {
    if (!before.equals(await readBytes(path))) {
      await unlink(temporary);
      return false;
    }
    await rename(temporary, path);
  } catch (error) {
    await unlink(temporary).catch(() => undefined);
    throw error;
  }
  await syncFolder(dirname(path));
  return true;
}

/**
 * Applies `edit` to the file's present text and puts the result in its place, keeping mode and owner. When somebody changes the
 * file meanwhile, the edit is made anew on their text. Edits of one path wait for each other. Throws what `edit` throws, the file
 * system's own errors, and AppError tracker_request when the file never stands still.
 */
export async function editFile(path: string, edit: (sight: FileSight) => string): Promise<void> {
  await inTurn(path, async () => {
    for (let tries = 0; tries < MAX_TRIES; tries += 1) {
      if (await tryEdit(path, edit)) return;
    }
    throw new AppError("tracker_request", `${path} changed during each of ${MAX_TRIES} tries to edit it`, { path });
  });
}

/** Creates the file with its whole text at once. False when there already is something by that name. */
export async function createFile(path: string, text: string): Promise<boolean> {
  const temporary = await writeTemporary(path, text, null);
  try {
    await link(temporary, path);
  } catch (error) {
    if (error instanceof Error && "code" in error && error.code === "EEXIST") return false;
    throw new AppError("tracker_request", `making ${path} failed: ${errorMessage(error)}`, { path }, { cause: error });
  } finally {
    await unlink(temporary);
  }
  await syncFolder(dirname(path));
  return true;
}
