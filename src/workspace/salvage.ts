/** Keeps the work of a workspace that is about to be removed: what is uncommitted or unpushed, as a git bundle and a patch. */
import { createHash, randomUUID } from "node:crypto";
import { mkdir, open, readdir, realpath, rename, rm, stat, writeFile } from "node:fs/promises";
import { basename, join } from "node:path";
import { errorMessage, isAppError } from "../domain/errors.ts";
import type { Issue } from "../domain/issue.ts";
import type { Clock } from "../lib/clock.ts";
import type { Log } from "../lib/log.ts";
import { lookAt, PRIVATE_DIRECTORY } from "./containment.ts";
import { issueFields } from "./log-fields.ts";
import { SalvageGit, salvageFailure } from "./salvage-git.ts";
import { countCommits, findBase, findUnpushed, revisions, type Unpushed } from "./salvage-refs.ts";
import { takeSnapshot, type LeftOut, type Snapshot } from "./salvage-snapshot.ts";

export interface SalvageDeps {
  /** `<state-dir>/salvage`; made when it is first needed. */
  readonly dir: string;
  readonly clock: Clock;
  readonly log: Log;
  /** PATH, to find git by. */
  readonly searchPath: string;
}

export interface SalvageRequest {
  /** The workspace. */
  readonly path: string;
  readonly issue: Issue;
  readonly signal: AbortSignal;
}

/** For a whole workspace; a removal waits for it, and nothing else does. */
const TIME_LIMIT_MS = 120_000;
/** Of one workspace, the nested ones with it. */
const MAX_REPOSITORIES = 50;
const PRIVATE_FILE = 0o600;
/** A workspace's key may fill a file name alone. */
const MAX_NAME_CHARS = 180;
/** Temporary directories begin with it (salvage-retention.ts). */
export const SCRATCH_PREFIX = ".tmp-";

/**
 * Saves the directory's work, and that of the repositories in it; nothing is written where there is none. Throws AppError
 * workspace_salvage_failed, or the signal's reason; the workspace must stay then.
 */
export async function salvageWork(request: SalvageRequest, deps: SalvageDeps): Promise<void> {
  const late = new AbortController();
  const timer = deps.clock.setTimer(TIME_LIMIT_MS, () => {
    late.abort(salvageFailure(request.path, `it took longer than ${TIME_LIMIT_MS / 1000} s`));
  });
  const signal = AbortSignal.any([request.signal, late.signal]);
  try {
    await new Salvage({ ...request, signal }, deps).run();
  } catch (error) {
    signal.throwIfAborted();
    throw isAppError(error) ? error : salvageFailure(request.path, errorMessage(error));
  } finally {
    timer.cancel();
  }
}

/** What is left of one directory's work, in a temporary folder. */
interface Rescue {
  readonly git: SalvageGit;
  readonly snapshot: Snapshot;
  readonly unpushed: Unpushed;
  readonly scratch: string;
  /** Of the files, without their endings. */
  readonly name: string;
}

class Salvage {
  readonly #request: SalvageRequest;
  readonly #deps: SalvageDeps;

  constructor(request: SalvageRequest, deps: SalvageDeps) {
    this.#request = request;
    this.#deps = deps;
  }

  async run(): Promise<void> {
    const { path } = this.#request;
    const top = await realpath(path);
    // Half a dozen processes saved for every ticket that leaves nothing behind.
    if (await holdsNoFile(top, this.#request.signal)) return;
    const places = [""];
    for (let done = 0; done < places.length; done += 1) {
      if (done >= MAX_REPOSITORIES) throw salvageFailure(path, `it holds more than ${MAX_REPOSITORIES} repositories`);
      const place = places[done] ?? "";
      const nested = await this.#saveOne(join(top, place), place);
      places.push(...nested.map((name) => join(place, name)));
    }
  }

  /** Saves one directory; answers the repositories in it. */
  async #saveOne(workTree: string, place: string): Promise<readonly string[]> {
    const { signal } = this.#request;
    const scratch = join(this.#deps.dir, `${SCRATCH_PREFIX}${randomUUID()}`);
    await mkdir(scratch, { recursive: true, mode: PRIVATE_DIRECTORY });
    try {
      const git = await SalvageGit.open({ workTree, scratch, searchPath: this.#deps.searchPath, signal });
      const snapshot = await takeSnapshot(git, workTree, (leftOut) => this.#message(workTree, leftOut));
      const unpushed = await findUnpushed(git, snapshot);
      const commits = await countCommits(git, unpushed);
      if (commits > 0) {
        const name = this.#nameOf(place, snapshot, unpushed);
        const files = await this.#publish({ git, snapshot, unpushed, scratch, name });
        this.#tell(place, { ...files, commits, snapshot });
      }
      return await this.#repositories(workTree, snapshot.nested);
    } catch (error) {
      if (await this.#isNeedless(error)) return [];
      throw error;
    } finally {
      await rm(scratch, { recursive: true, force: true });
    }
  }

  /** Submodules that were never checked out, or are gone, have nothing to save. */
  async #repositories(workTree: string, names: readonly string[]): Promise<readonly string[]> {
    const found = await Promise.all(
      names.map(async (name) => ((await lookAt(join(workTree, name, ".git"))) === null ? [] : [name])),
    );
    return found.flat();
  }

  /** Without git nobody has committed anything, and a plain directory alone must not stay for ever. */
  async #isNeedless(error: unknown): Promise<boolean> {
    if (!isAppError(error, "workspace_salvage_failed") || error.data["missing"] !== true) return false;
    if ((await lookAt(join(this.#request.path, ".git"))) !== null) return false;
    this.#deps.log.warn(this.#fields(), "git was not found, so nothing is kept of a workspace that is no repository");
    return true;
  }

  /** The same work gets the same name, so that a removal that is tried again keeps one copy. */
  #nameOf(place: string, { tree }: Snapshot, { refs }: Unpushed): string {
    const hash = createHash("sha256").update(tree);
    for (const [name, commit] of refs) if (name !== "refs/salvage/uncommitted") hash.update(`\0${name} ${commit}`);
    const readable = [basename(this.#request.path), ...place.split("/").filter((part) => part !== "")].join("-");
    return `${readable.slice(0, MAX_NAME_CHARS)}-${hash.digest("hex").slice(0, 8)}`;
  }

  async #publish(
    rescue: Rescue,
  ): Promise<{ readonly bundle: string; readonly patch: string | null; readonly bytes: number }> {
    const { scratch, name } = rescue;
    const drafts = { bundle: join(scratch, "work.bundle"), patch: join(scratch, "work.patch") };
    await bundle(rescue, drafts.bundle);
    const hasPatch = await writePatch(rescue, drafts.patch);
    const target = join(this.#deps.dir, name);
    const bytes = await keep(drafts.bundle, `${target}.bundle`);
    if (!hasPatch) return { bundle: `${target}.bundle`, patch: null, bytes };
    return {
      bundle: `${target}.bundle`,
      patch: `${target}.patch`,
      bytes: bytes + (await keep(drafts.patch, `${target}.patch`)),
    };
  }

  #message(workTree: string, { files, bytes, names }: LeftOut): string {
    const { issue } = this.#request;
    const lines = [
      `Uncommitted work of ${issue.identifier}, kept when its workspace was removed`,
      "",
      `It was in ${workTree}.`,
    ];
    if (files > 0) {
      lines.push("", `Left out as too large or too many: ${files} untracked files, ${bytes} bytes:`);
      lines.push(...names.map((name) => `- ${name}`), ...(names.length < files ? ["- ..."] : []));
    }
    return `${lines.join("\n")}\n`;
  }

  #tell(
    place: string,
    { snapshot, ...kept }: { readonly bundle: string; readonly commits: number; readonly snapshot: Snapshot },
  ): void {
    const { leftOut, uncommitted } = snapshot;
    const fields = {
      ...this.#fields(),
      ...(place === "" ? {} : { in: place }),
      ...kept,
      uncommitted: uncommitted !== null,
    };
    if (leftOut.files === 0) return this.#deps.log.info(fields, "work of a workspace kept");
    const left = { left_out: leftOut.files, left_out_bytes: leftOut.bytes, left_out_names: leftOut.names.slice(0, 10) };
    this.#deps.log.warn(
      { ...fields, ...left },
      "work of a workspace kept, without untracked files that are too large or too many",
    );
  }

  #fields(): Readonly<Record<string, string>> {
    const { issue, path } = this.#request;
    return { ...issueFields(issue), path };
  }
}

/** Empty directories are no work: git doesn't keep them either. One that can't be read is left to git, which passes it over. */
async function holdsNoFile(directory: string, signal: AbortSignal): Promise<boolean> {
  signal.throwIfAborted();
  const entries = await readdir(directory, { withFileTypes: true }).catch(() => null);
  if (entries === null) return false;
  if (entries.some((entry) => !entry.isDirectory())) return false;
  for (const { name } of entries) if (!(await holdsNoFile(join(directory, name), signal))) return false;
  return true;
}

/** Refs that are all elsewhere are no part of it; git says so and goes on. */
async function bundle({ git, unpushed }: Rescue, path: string): Promise<void> {
  const { refs, known } = unpushed;
  const updates = [...refs].map(([name, commit]) => `create ${name} ${commit}\n`);
  await git.ours(["update-ref", "--stdin"], { input: updates.join("") });
  await git.ours(["bundle", "create", "--quiet", path, "--stdin"], { input: revisions([...refs.keys()], known) });
}

/** Everything from what is elsewhere to the work as it lies there; false when the difference is empty. */
async function writePatch({ git, snapshot, unpushed }: Rescue, path: string): Promise<boolean> {
  const tip = snapshot.uncommitted ?? snapshot.head;
  if (tip === null) return false;
  const base = await findBase(git, tip, unpushed.known);
  if (base === tip) return false;
  const from = base ?? git.emptyTree;
  const options = ["-p", "--binary", "--full-index", "--no-ext-diff", "--no-textconv", "--no-renames"];
  await writeFile(path, "", { mode: PRIVATE_FILE });
  await git.ours(["diff-tree", ...options, from, tip], { toFile: path });
  return (await stat(path)).size > 0;
}

/** On the disk, under its own name, before the work itself goes; answers its size. */
async function keep(draft: string, target: string): Promise<number> {
  await using file = await open(draft, "r+");
  await file.chmod(PRIVATE_FILE);
  await file.sync();
  const { size } = await file.stat();
  await rename(draft, target);
  return size;
}
