/** Whether a root is fit to hold workspaces, and whether a path really is a workspace in it: links resolved, each refusal with its reason. */
import type { Stats } from "node:fs";
import { lstat, mkdir, realpath, stat } from "node:fs/promises";
import { basename, dirname, isAbsolute, join, relative, resolve, sep } from "node:path";

import { AppError, errorMessage } from "../domain/errors.ts";

/** Why a path is not accepted; `data.reason` of invalid_workspace_cwd. */
export type ContainmentReason =
  "is_root" | "outside_root" | "link_outside_root" | "link_inside_root" | "dangling_link" | "missing" | "root_missing";

/** Directories that we make are ours alone. */
export const PRIVATE_DIRECTORY = 0o700;
const STICKY = 0o1000;
const WRITABLE_BY_OTHERS = 0o002;

/** True when the file system says that there is no such thing. */
export function isMissing(error: unknown): boolean {
  return error instanceof Error && "code" in error && (error.code === "ENOENT" || error.code === "ENOTDIR");
}

/** What stands at `path`, a link as the link itself; null when nothing does. */
export async function lookAt(path: string): Promise<Stats | null> {
  try {
    return await lstat(path);
  } catch (error) {
    if (isMissing(error)) return null;
    throw error;
  }
}

function invalidRoot(root: string, problem: string, cause?: unknown): AppError {
  return new AppError(
    "workspace_root_invalid",
    `workspace.root: ${JSON.stringify(root)} ${problem}`,
    { root },
    { cause },
  );
}

/**
 * Makes the root (0700) if it isn't there, and answers its path with links resolved. Throws AppError workspace_root_invalid when
 * it is no directory, belongs to somebody else, or can be changed by everybody.
 */
export async function ensureRoot(root: string): Promise<string> {
  if (!isAbsolute(root)) throw invalidRoot(root, "is not an absolute path");
  let resolved: string;
  let stats: Stats;
  try {
    await mkdir(root, { recursive: true, mode: PRIVATE_DIRECTORY });
    resolved = await realpath(root);
    stats = await stat(resolved);
  } catch (error) {
    if (error instanceof Error && "code" in error && (error.code === "EEXIST" || error.code === "ENOTDIR")) {
      throw invalidRoot(root, "is not a directory; move the file away, or choose another root", error);
    }
    throw invalidRoot(
      root,
      `can't be made or read (${errorMessage(error)}); mend its permissions, or choose another root`,
      error,
    );
  }
  refuseUnsafeOwner(root, stats);
  return resolved;
}

/** The superuser can do anything anyway; anybody else's directory could be changed under us. */
function refuseUnsafeOwner(root: string, stats: Stats): void {
  const us = process.getuid?.();
  if (us !== undefined && stats.uid !== us && stats.uid !== 0) {
    throw invalidRoot(root, `belongs to user ${stats.uid}, not to ${us}; choose a directory of your own`);
  }
  if ((stats.mode & WRITABLE_BY_OTHERS) !== 0 && (stats.mode & STICKY) === 0) {
    throw invalidRoot(root, "can be written by everybody; run `chmod o-w` on it, or choose another root");
  }
}

function refused(path: string, root: string, reason: ContainmentReason, problem: string): AppError {
  return new AppError("invalid_workspace_cwd", `workspace ${path} ${problem} (root ${root})`, { path, root, reason });
}

/** The path of `key` in `resolvedRoot`. Throws AppError invalid_workspace_cwd unless it is directly inside. */
export function pathInRoot(resolvedRoot: string, key: string): string {
  const path = resolve(resolvedRoot, key);
  if (path === resolvedRoot) throw refused(path, resolvedRoot, "is_root", "is the root itself");
  if (dirname(path) !== resolvedRoot) {
    throw refused(path, resolvedRoot, "outside_root", "is not directly inside the root");
  }
  return path;
}

function isInside(parent: string, path: string): boolean {
  const way = relative(parent, path);
  return way !== ".." && !way.startsWith(`..${sep}`) && !isAbsolute(way);
}

/** Throws AppError invalid_workspace_cwd when deleting `path` would take the root with it. */
export function refuseRoot(path: string, root: string): void {
  if (isInside(path, resolve(root))) throw refused(path, root, "is_root", "holds the root itself");
}

async function refuseLink(path: string, root: string): Promise<never> {
  let target: string;
  try {
    target = await realpath(path);
  } catch (error) {
    if (!isMissing(error)) throw error;
    throw refused(path, root, "dangling_link", "is a link to nothing");
  }
  if (target === root) throw refused(path, root, "is_root", "is a link to the root itself");
  throw isInside(root, target)
    ? refused(path, root, "link_inside_root", `is a link to ${target}, another place in the root`)
    : refused(path, root, "link_outside_root", `is a link to ${target}, outside the root`);
}

/**
 * What stands at a workspace's path: a real directory directly inside the root, or nothing yet. Throws AppError
 * invalid_workspace_cwd with its reason for the root itself, a path outside, and any link; workspace_not_a_directory for a file.
 */
export async function inspectWorkspace(path: string, root: string): Promise<"directory" | "nothing"> {
  const resolvedRoot = await realpath(root).catch((error: unknown) => {
    if (isMissing(error)) throw refused(path, root, "root_missing", "has lost its root");
    throw error;
  });
  if (path === root || path === resolvedRoot) throw refused(path, root, "is_root", "is the root itself");
  const parent = await realpath(dirname(path)).catch(() => null);
  if (parent !== resolvedRoot) throw refused(path, root, "outside_root", "is not directly inside the root");
  const stats = await lookAt(path);
  if (stats === null) return "nothing";
  if (stats.isSymbolicLink()) return refuseLink(path, resolvedRoot);
  if (stats.isDirectory()) {
    const real = await realpath(path);
    if (real === join(resolvedRoot, basename(path))) return "directory";
    throw refused(path, root, "outside_root", `resolves to ${real}`);
  }
  throw new AppError(
    "workspace_not_a_directory",
    `${path} is in a workspace's place and is not a directory; move it away`,
    {
      path,
    },
  );
}

/** Like {@link inspectWorkspace}, and refuses a directory that isn't there. */
export async function requireWorkspace(path: string, root: string): Promise<void> {
  if ((await inspectWorkspace(path, root)) === "nothing") throw refused(path, root, "missing", "is gone");
}
