/** Which commits of a directory are nowhere else: not on a remote, nor, for a linked work tree, on a branch of the repository that stays. */
import type { SalvageGit } from "./salvage-git.ts";

/** What a bundle is made of. */
export interface Unpushed {
  /** Refs of the bundle: name and commit. */
  readonly refs: ReadonlyMap<string, string>;
  /** Commits that are elsewhere, and with them all their ancestors. */
  readonly known: readonly string[];
}

/** `uncommitted`: the snapshot's commit, which is in the bundle as refs/salvage/uncommitted. */
export async function findUnpushed(
  git: SalvageGit,
  { head, uncommitted }: { readonly head: string | null; readonly uncommitted: string | null },
): Promise<Unpushed> {
  const refs = new Map<string, string>();
  if (uncommitted !== null) refs.set("refs/salvage/uncommitted", uncommitted);
  if (!git.isRepository) return { refs, known: [] };
  const all = await listRefs(git);
  const branches = below(all, "refs/heads/");
  const remotes = below(all, "refs/remotes/");
  if (head !== null) refs.set("refs/salvage/head", head);
  if (git.isLinked) return { refs, known: [...remotes.values(), ...branches.values()] };
  for (const [name, commit] of branches) refs.set(name, commit);
  const stashes = all.has("refs/stash") ? await listStashes(git) : [];
  for (const [index, commit] of stashes.entries()) refs.set(`refs/salvage/stash-${index}`, commit);
  return { refs, known: [...remotes.values()] };
}

/** Commits of the bundle; 0 = there is nothing to keep. */
export async function countCommits(git: SalvageGit, { refs, known }: Unpushed): Promise<number> {
  if (refs.size === 0) return 0;
  const input = revisions([...refs.values()], known);
  return Number((await git.ours(["rev-list", "--count", "--stdin"], { input })).trim());
}

/**
 * The newest commit that is elsewhere, going back from `tip` along first parents; null when its history begins here. `tip` itself
 * when that is elsewhere.
 */
export async function findBase(git: SalvageGit, tip: string, known: readonly string[]): Promise<string | null> {
  const input = revisions([tip], known);
  const chain = await git.ours(["rev-list", "--first-parent", "--parents", "--stdin"], { input });
  const oldest = chain.trim().split("\n").at(-1) ?? "";
  if (oldest === "") return tip;
  return oldest.split(" ")[1] ?? null;
}

/** Lines for `--stdin`: in, and not in. */
export function revisions(wanted: readonly string[], known: readonly string[]): string {
  return [...wanted, ...known.map((commit) => `^${commit}`)].map((line) => `${line}\n`).join("");
}

/** Commits by ref name; a ref that leads to no commit is passed over. */
async function listRefs(git: SalvageGit): Promise<ReadonlyMap<string, string>> {
  const format = "--format=%(objecttype) %(objectname) %(refname)";
  const lines = (await git.theirs(["for-each-ref", format, "refs/heads", "refs/remotes", "refs/stash"])).split("\n");
  const refs = new Map<string, string>();
  for (const line of lines) {
    const [type, commit, name] = line.split(" ");
    if (type === "commit" && commit !== undefined && name !== undefined) refs.set(name, commit);
  }
  return refs;
}

function below(refs: ReadonlyMap<string, string>, prefix: string): ReadonlyMap<string, string> {
  return new Map([...refs].filter(([name]) => name.startsWith(prefix)));
}

/** All of them: the ref leads to the newest only. */
async function listStashes(git: SalvageGit): Promise<readonly string[]> {
  const log = await git.theirs(["rev-list", "--walk-reflogs", "--no-walk", "refs/stash"]);
  return log.split("\n").filter((line) => line !== "");
}
