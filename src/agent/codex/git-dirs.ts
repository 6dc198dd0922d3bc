/** The git directories that a workspace's agent must be able to write, so that it can commit: read from the files, and distrusted. */
import { lstat, open, realpath } from "node:fs/promises";
import { dirname, isAbsolute, join, relative, resolve } from "node:path";

/** git writes one path into each of these files. */
const MAX_FILE_BYTES = 4096;

/**
 * The directories that may join the writable roots. Only the workspace's own: a repository that merely surrounds the workspace
 * stays read-only, and so does one that a `.git` file, link or `commondir` points to from here, which an agent could have planted.
 * Read without git, because no process is needed for two small files, and git would first run what the repository configures.
 */
export async function writableGitDirs(workspacePath: string): Promise<readonly string[]> {
  try {
    const workspace = await realpath(workspacePath);
    const dotGit = join(workspace, ".git");
    const stats = await lstat(dotGit);
    if (stats.isDirectory()) return (await isOwnRepository(dotGit)) ? [dotGit] : [];
    return stats.isFile() ? await linkedWorktree(workspace, dotGit) : [];
  } catch {
    // No repository, or one that can't be read: an agent there has nothing to commit to.
    return [];
  }
}

/** A `commondir` would make another repository the place of this one's objects and refs. */
async function isOwnRepository(gitDir: string): Promise<boolean> {
  await lstat(join(gitDir, "HEAD"));
  return (await readPath(join(gitDir, "commondir"))) === null;
}

/** A linked worktree's entry in its main repository points back at the worktree; a planted .git file has no such entry. */
async function linkedWorktree(workspace: string, dotGit: string): Promise<readonly string[]> {
  const target = /^gitdir: (.+)$/.exec((await readPath(dotGit)) ?? "")?.[1];
  if (target === undefined) return [];
  const dir = await realpath(resolve(workspace, target));
  const [commonPath, backPath] = [await readPath(join(dir, "commondir")), await readPath(join(dir, "gitdir"))];
  if (commonPath === null || backPath === null) return [];
  const common = await realpath(resolve(dir, commonPath));
  const back = await realpath(dirname(resolve(dir, backPath)));
  const isOurs = back === workspace && dirname(dirname(dir)) === common && !isInside(workspace, dir);
  return isOurs ? [common, dir] : [];
}

/** The path in a small file of git's; null when there is no such file, or no path in it. */
async function readPath(file: string): Promise<string | null> {
  try {
    await using handle = await open(file);
    const { buffer, bytesRead } = await handle.read(Buffer.alloc(MAX_FILE_BYTES), 0, MAX_FILE_BYTES, 0);
    const path = buffer.toString("utf8", 0, bytesRead).replace(/\r?\n$/, "");
    return path === "" || path.includes("\n") ? null : path;
  } catch {
    return null;
  }
}

function isInside(parent: string, path: string): boolean {
  const way = relative(parent, path);
  return way === "" || (!way.startsWith("..") && !isAbsolute(way));
}
