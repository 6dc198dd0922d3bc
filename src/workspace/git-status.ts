/** Asks git what has changed in a workspace, without running anything that the repository names. */
import { dirname, join } from "node:path";
import { execa } from "execa";

import { lookAt } from "./containment.ts";

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

/** Tens of thousands of untracked files; more is a failure, and the caller looks at the directory itself. */
const MAX_OUTPUT_CHARS = 50_000_000;

export interface GitQuery {
  /** Absolute path of the directory that has to be the work tree's top. */
  readonly workTree: string;
  /** PATH, to find git by. */
  readonly searchPath: string;
  readonly signal: AbortSignal;
}

/** Fields before the path in `--porcelain=v2`, by the line's first character. */
const FIELDS_BEFORE_PATH: Readonly<Record<string, number>> = { "1": 8, u: 10, "?": 1 };

/**
 * Nothing but the path to git is inherited. The repository is the agent's to write, and much of its configuration names programs:
 * no hook, no file system monitor, no transport and no configuration from outside.
 */
function gitEnvironment(query: GitQuery, overrides: readonly (readonly [string, string])[]): Record<string, string> {
  const settings = [
    ["core.hooksPath", "/dev/null"],
    ["core.fsmonitor", "false"],
    ["core.untrackedCache", "false"],
    ...overrides,
  ] as const;
  const env: Record<string, string> = {
    PATH: query.searchPath,
    LC_ALL: "C",
    GIT_CONFIG_NOSYSTEM: "1",
    GIT_CONFIG_GLOBAL: "/dev/null",
    GIT_ATTR_NOSYSTEM: "1",
    GIT_OPTIONAL_LOCKS: "0",
    GIT_TERMINAL_PROMPT: "0",
    GIT_ALLOW_PROTOCOL: "none",
    GIT_NO_LAZY_FETCH: "1",
    // A repository around the workspace is not the workspace's, and a work tree elsewhere isn't either.
    GIT_CEILING_DIRECTORIES: dirname(query.workTree),
    GIT_WORK_TREE: query.workTree,
    GIT_CONFIG_COUNT: String(settings.length),
  };
  for (const [index, [key, value]] of settings.entries()) {
    env[`GIT_CONFIG_KEY_${index}`] = key;
    env[`GIT_CONFIG_VALUE_${index}`] = value;
  }
  return env;
}

async function git(
  args: readonly string[],
  query: GitQuery,
  overrides: readonly (readonly [string, string])[] = [],
): Promise<string | null> {
  const { workTree, signal } = query;
  const result = await execa("git", args, {
    cwd: workTree,
    env: gitEnvironment(query, overrides),
    extendEnv: false,
    stdin: "ignore",
    stderr: "ignore",
    reject: false,
    stripFinalNewline: false,
    maxBuffer: MAX_OUTPUT_CHARS,
    cancelSignal: signal,
  });
  signal.throwIfAborted();
  return result.exitCode === 0 && !result.isMaxBuffer ? result.stdout : null;
}

/** Clean and process filters run for each changed file; all that the repository defines are switched off by name. */
function filterOverrides(configNames: string): (readonly [string, string])[] {
  const drivers = new Set<string>();
  for (const name of configNames.split("\0")) {
    const driver = /^filter\.(.*)\.[^.]*$/s.exec(name)?.[1];
    if (driver !== undefined) drivers.add(driver);
  }
  return [...drivers].flatMap((driver) => [
    [`filter.${driver}.clean`, ""] as const,
    [`filter.${driver}.smudge`, ""] as const,
    [`filter.${driver}.process`, ""] as const,
    [`filter.${driver}.required`, "false"] as const,
  ]);
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
  const output = await git(args, query, filterOverrides(names));
  return output === null ? null : parseStatus(output);
}
