/** Deletes a directory tree without following links. */
import { chmod, lstat, readdir, rm } from "node:fs/promises";
import { join } from "node:path";

/** Owner's read, write and search bits: what deleting from a directory needs. */
const OWNER_RWX = 0o700;

function isDenied(error: unknown): boolean {
  return error instanceof Error && "code" in error && (error.code === "EACCES" || error.code === "EPERM");
}

/** Gives us the right to delete from every directory of the tree; package caches are often read-only. Links are left alone. */
export async function unlockTree(path: string): Promise<void> {
  const stats = await lstat(path);
  if (!stats.isDirectory()) return;
  await chmod(path, stats.mode | OWNER_RWX);
  for (const entry of await readdir(path, { withFileTypes: true })) {
    if (entry.isDirectory()) await unlockTree(join(path, entry.name));
  }
}

/** Resolves when nothing stands at `path`. Never blocks the event loop; a link in the tree is deleted, not its target. */
export async function removeTree(path: string): Promise<void> {
  const options = { recursive: true, force: true, maxRetries: 3 } as const;
  try {
    await rm(path, options);
  } catch (error) {
    if (!isDenied(error)) throw error;
    await unlockTree(path);
    await rm(path, options);
  }
}
