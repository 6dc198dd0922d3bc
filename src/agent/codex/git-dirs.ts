/** The git directories that a workspace's agent must be able to write, so that it can commit: found by git, then distrusted. */
import { dirname, isAbsolute, join, relative } from "node:path";
import type { Host } from "../../host/port.ts";

/** rev-parse runs no hook; these make sure that no setting of the repository runs a program either. */
const SAFE_GIT = "git -c core.hooksPath=/dev/null -c core.fsmonitor=false";
const TIMEOUT_MS = 10_000;
const TAG = "symphony-git-";

/** Each fact on a line of its own behind a tag, so that what a login profile prints is no answer. */
const SCRIPT = [
  // A profile may have left an unfinished line.
  "echo",
  `say() { printf '${TAG}%s=%s\\n' "$1" "$2"; }`,
  `ask() { ${SAFE_GIT} rev-parse "$@" 2>/dev/null; }`,
  `say workspace "$(pwd -P)"`,
  `say top "$(ask --show-toplevel)"`,
  `dir=$(ask --absolute-git-dir) && say dir "$(cd "$dir" && pwd -P)"`,
  `common=$(ask --git-common-dir) && say common "$(cd "$common" && pwd -P)"`,
  // A linked worktree's entry in its main repository points back at the worktree; a planted .git file has no such entry.
  `[ -n "$dir" ] && [ -f "$dir/gitdir" ] && say back "$(cd "$dir" && cd "$(dirname "$(head -c 4096 gitdir)")" && pwd -P)"`,
  `exit 0`,
].join("\n");

/** What git says about a directory; absolute paths with links resolved, null where it said nothing. */
export interface GitFacts {
  readonly workspace: string | null;
  readonly top: string | null;
  readonly dir: string | null;
  readonly common: string | null;
  /** The directory that a linked worktree's entry says its worktree is. */
  readonly back: string | null;
}

export interface GitDirsRequest {
  readonly host: Host;
  readonly workspacePath: string;
  readonly env: Readonly<Record<string, string>>;
  readonly marker: string;
}

/** Asks git in the workspace. A directory that is no repository, or a machine without git, has no facts. */
export async function readGitFacts({ host, workspacePath, env, marker }: GitDirsRequest): Promise<GitFacts> {
  const { output } = await host.runScript({ script: SCRIPT, cwd: workspacePath, env, marker, timeoutMs: TIMEOUT_MS });
  const fact = (name: string): string | null => {
    const line = output.split("\n").find((text) => text.startsWith(`${TAG}${name}=`));
    const value = line?.slice(TAG.length + name.length + 1) ?? "";
    return value === "" ? null : value;
  };
  return {
    workspace: fact("workspace"),
    top: fact("top"),
    dir: fact("dir"),
    common: fact("common"),
    back: fact("back"),
  };
}

/**
 * The directories that may join the writable roots. Only the workspace's own: a repository that merely surrounds the workspace
 * stays read-only, and so does one that a `.git` file, link or `commondir` points to from here, which an agent could have planted.
 */
export function writableGitDirs({ workspace, top, dir, common, back }: GitFacts): readonly string[] {
  if (workspace === null || dir === null || common === null || top !== workspace) return [];
  if (dir === join(workspace, ".git")) return common === dir ? [dir] : [];
  const isLinkedWorktree = back === workspace && dirname(dirname(dir)) === common && !isInside(workspace, dir);
  return isLinkedWorktree ? [common, dir] : [];
}

function isInside(parent: string, path: string): boolean {
  const way = relative(parent, path);
  return way === "" || (!way.startsWith("..") && !isAbsolute(way));
}
