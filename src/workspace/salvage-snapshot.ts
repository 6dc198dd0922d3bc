/** The uncommitted work of a directory as a commit in the temporary repository: changed, staged and untracked files, not ignored ones. */
import type { Stats } from "node:fs";
import { lstat } from "node:fs/promises";
import { isMissing } from "./containment.ts";
import type { SalvageGit } from "./salvage-git.ts";

/** A larger untracked file is a product of the work, not the work. */
const MAX_FILE_BYTES = 20 * 1024 * 1024;
/** Of all untracked files together. */
const MAX_TOTAL_BYTES = 200 * 1024 * 1024;
const MAX_FILES = 20_000;
/** Names of files that were left out, for whoever looks for them. */
const NAMED_LEFT_OUT = 100;

export interface Snapshot {
  /** The commit that was checked out; null before the first. */
  readonly head: string | null;
  /** A commit on top of `head`; null when there is nothing uncommitted. */
  readonly uncommitted: string | null;
  /** Tells one state of the directory from another. */
  readonly tree: string;
  /** Relative paths of repositories in the directory, which git doesn't look into. */
  readonly nested: readonly string[];
  readonly leftOut: LeftOut;
}

/** Untracked files that are too large or too many. */
export interface LeftOut {
  readonly files: number;
  readonly bytes: number;
  /** The first of them. */
  readonly names: readonly string[];
}

/** What a path of git's is in the file system. Names are git's own bytes, a character each. */
interface Found {
  readonly name: string;
  readonly stats: Stats | null;
}

const GITLINK_MODE = "160000";

/** Makes the commit. `describe` gives its message. Throws AppError workspace_salvage_failed. */
export async function takeSnapshot(
  git: SalvageGit,
  workTree: string,
  describe: (leftOut: LeftOut) => string,
): Promise<Snapshot> {
  const head = await headOf(git);
  const changed = await listChanged(git);
  const untracked = await listed(git, ["ls-files", "--others", "--exclude-standard", "-z"]);
  const submodules = git.isRepository ? await listSubmodules(git) : [];
  const { kept, leftOut } = await choose(
    workTree,
    untracked.filter((name) => !name.endsWith("/")),
  );
  await stage(git, [...(await stageable(workTree, changed)), ...kept]);
  const tree = (await git.theirs(["write-tree", "--missing-ok"])).trim();
  const before = head?.tree ?? git.emptyTree;
  const uncommitted =
    tree === before ? null : await commit(git, { tree, head: head?.commit ?? null, message: describe(leftOut) });
  const nested = [...untracked.filter((name) => name.endsWith("/")), ...submodules].map(asText);
  return { head: head?.commit ?? null, uncommitted, tree, nested, leftOut };
}

/** Null before the first commit. */
async function headOf(git: SalvageGit): Promise<{ readonly commit: string; readonly tree: string } | null> {
  if (!git.isRepository) return null;
  const { exitCode, stdout } = await git.tryTheirs(["rev-parse", "--quiet", "HEAD^{commit}", "HEAD^{tree}"]);
  const [head, tree] = (stdout ?? "").split("\n");
  return exitCode !== 0 || head === undefined || tree === undefined ? null : { commit: head, tree };
}

async function listed(git: SalvageGit, args: readonly string[]): Promise<readonly string[]> {
  return (await git.theirs(args, { bytes: true })).split("\0").filter((name) => name !== "");
}

/** Tracked paths that aren't as they were staged. */
async function listChanged(git: SalvageGit): Promise<readonly string[]> {
  if (!git.isRepository) return [];
  // Also what was marked as never changing; the exit code only says whether there is news.
  await git.tryTheirs(["update-index", "-q", "--really-refresh"]);
  return listed(git, ["diff-files", "--name-only", "-z", "--ignore-submodules=all"]);
}

/** Checked-out submodules: git records which commit they are at, and nothing of the work in them. */
async function listSubmodules(git: SalvageGit): Promise<readonly string[]> {
  const entries = await listed(git, ["ls-files", "--stage", "-z"]);
  return entries.flatMap((entry) => {
    const [fields = "", name = ""] = entry.split("\t", 2);
    return fields.startsWith(GITLINK_MODE) ? [name] : [];
  });
}

/** File names need not be UTF-8; git's come as one character for each byte. */
function bytesOf(name: string): Buffer {
  return Buffer.from(name, "latin1");
}

function asText(name: string): string {
  return bytesOf(name).toString("utf8");
}

async function find(workTree: string, name: string): Promise<Found> {
  try {
    return { name, stats: await lstat(Buffer.concat([Buffer.from(`${workTree}/`), bytesOf(name)])) };
  } catch (error) {
    if (isMissing(error)) return { name, stats: null };
    throw error;
  }
}

/** Tracked paths that changed. Git can't hold sockets and the like; the entry that one replaced is left as it was. */
async function stageable(workTree: string, names: readonly string[]): Promise<readonly string[]> {
  const found = await Promise.all(names.map((name) => find(workTree, name)));
  return found
    .filter(({ stats }) => stats === null || stats.isFile() || stats.isSymbolicLink() || stats.isDirectory())
    .map(({ name }) => name);
}

async function choose(
  workTree: string,
  names: readonly string[],
): Promise<{ readonly kept: readonly string[]; readonly leftOut: LeftOut }> {
  const kept: string[] = [];
  const left: { name: string; size: number }[] = [];
  let total = 0;
  for (const name of names) {
    const { stats } = await find(workTree, name);
    if (stats === null) continue;
    const size = stats.isFile() ? stats.size : 0;
    if (size > MAX_FILE_BYTES || total + size > MAX_TOTAL_BYTES || kept.length >= MAX_FILES) {
      left.push({ name, size });
      continue;
    }
    total += size;
    kept.push(name);
  }
  const bytes = left.reduce((sum, { size }) => sum + size, 0);
  const first = left.slice(0, NAMED_LEFT_OUT).map(({ name }) => asText(name));
  return { kept, leftOut: { files: left.length, bytes, names: first } };
}

/** Into our index: what is there as it is, what is gone as removed. */
async function stage(git: SalvageGit, names: readonly string[]): Promise<void> {
  if (names.length === 0) return;
  const input = bytesOf(names.map((name) => `${name}\0`).join(""));
  await git.theirs(["update-index", "--add", "--remove", "--replace", "-z", "--stdin"], { input });
}

const COMMITTER = {
  GIT_AUTHOR_NAME: "symphony",
  GIT_AUTHOR_EMAIL: "symphony@localhost",
  GIT_COMMITTER_NAME: "symphony",
  GIT_COMMITTER_EMAIL: "symphony@localhost",
};

async function commit(
  git: SalvageGit,
  { tree, head, message }: { readonly tree: string; readonly head: string | null; readonly message: string },
): Promise<string> {
  const parents = head === null ? [] : ["-p", head];
  return (await git.ours(["commit-tree", tree, ...parents], { input: message, env: COMMITTER })).trim();
}
