/** Asks git what has changed in a workspace, without running anything that the repository names. */
import { dirname, join } from "node:path";

import { lookAt } from "./containment.ts";
import { runGit, withoutFilters, type GitConfig } from "./git-command.ts";

/** What `git status` says of a work tree. */
export interface GitStatus {
  /** Commit id, null before the first commit. */
  readonly head: string | null;
  /** One line per changed, conflicted or untracked path, in git's order. */
  readonly entries: readonly GitEntry[];
}

export interface GitEntry {
  /** Git's own line, with modes and the ids of what is committed and staged. */
  readonly line: string;
  /** Relative to the work tree. */
  readonly path: string;
}

export interface GitQuery {
  /** Absolute path of the directory that has to be the work tree's top. */
  readonly workTree: string;
  /** PATH, to find git by. */
  readonly searchPath: string;
  readonly signal: AbortSignal;
}

/** Fields before the path in `--porcelain=v2`, by the line's first character. */
const FIELDS_BEFORE_PATH: Readonly<Record<string, number>> = { "1": 8, u: 10, "?": 1 };

/** Answers the output; null when git isn't there or fails. */
async function git(args: readonly string[], query: GitQuery, config: GitConfig = []): Promise<string | null> {
  const { workTree, searchPath, signal } = query;
  // A repository around the workspace is not the workspace's, and a work tree elsewhere isn't either.
  const env = { GIT_CEILING_DIRECTORIES: dirname(workTree), GIT_WORK_TREE: workTree };
  const { exitCode, stdout } = await runGit(args, { cwd: workTree, searchPath, signal, config, env });
  return exitCode === 0 ? stdout : null;
}

function parseStatus(output: string): GitStatus {
  let head: string | null = null;
  const entries: GitEntry[] = [];
  for (const line of output.split("\0")) {
    const oid = /^# branch\.oid ([0-9a-f]+)$/.exec(line)?.[1];
    if (oid !== undefined) head = oid;
    const skipped = FIELDS_BEFORE_PATH[line[0] ?? ""];
    if (skipped !== undefined) entries.push({ line, path: line.split(" ").slice(skipped).join(" ") });
  }
  return { head, entries };
}

/**
 * The state of the repository whose work tree is exactly `workTree`; null when there is none, git isn't there, or it fails.
 * Rejects with the signal's reason.
 */
export async function readGitStatus(query: GitQuery): Promise<GitStatus | null> {
  // Two processes saved for every ticket that isn't a repository.
  if ((await lookAt(join(query.workTree, ".git"))) === null) return null;
  const names = await git(["config", "--list", "--name-only", "-z"], query);
  if (names === null) return null;
  const args = [
    "status",
    "--porcelain=v2",
    "--branch",
    "-z",
    "--untracked-files=all",
    "--ignore-submodules=all",
    "--no-renames",
  ];
  const output = await git(args, query, withoutFilters(names));
  return output === null ? null : parseStatus(output);
}
