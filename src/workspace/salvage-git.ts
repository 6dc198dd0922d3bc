/** Git for salvaging: a repository or plain directory, read through a temporary repository of ours, so that nothing of theirs is written. */
import { createHash } from "node:crypto";
import { copyFile, mkdir, stat, utimes, writeFile } from "node:fs/promises";
import { dirname, join, relative } from "node:path";
import { AppError } from "../domain/errors.ts";
import { isMissing, lookAt } from "./containment.ts";
import { runGit, withoutFilters, type GitCall, type GitConfig, type GitResult } from "./git-command.ts";

export interface SalvageGitDeps {
  /** The directory that is to be saved; links in its path are resolved. */
  readonly workTree: string;
  /** An empty directory of ours, for everything temporary. */
  readonly scratch: string;
  /** PATH, to find git by. */
  readonly searchPath: string;
  readonly signal: AbortSignal;
}

/** The directory's own repository. */
interface TheirRepository {
  readonly gitDir: string;
  /** Where branches and objects are: another one than `gitDir` for a linked work tree. */
  readonly commonDir: string;
  readonly objects: string;
  /** Name of the hash. */
  readonly format: string;
  /** What its own configuration names is switched off. */
  readonly config: GitConfig;
}

export type GitOptions = Partial<Pick<GitCall, "input" | "bytes" | "toFile" | "env">>;

const COMMON_CONFIG: GitConfig = [
  // The directory may belong to another user of the machine, and nothing in it is run.
  ["safe.directory", "*"],
  ["core.safecrlf", "false"],
  // What is made here is packed at once, and then thrown away.
  ["core.looseCompression", "0"],
  ["gc.auto", "0"],
];

export class SalvageGit {
  readonly #deps: SalvageGitDeps;
  readonly #theirs: TheirRepository | null;
  readonly #ours: string;
  readonly #index: string;

  private constructor(deps: SalvageGitDeps, theirs: TheirRepository | null) {
    this.#deps = deps;
    this.#theirs = theirs;
    this.#ours = join(deps.scratch, "repository");
    this.#index = join(deps.scratch, "index");
  }

  /** Looks at the directory and makes the temporary repository. Throws AppError workspace_salvage_failed. */
  static async open(deps: SalvageGitDeps): Promise<SalvageGit> {
    const isRepository = (await lookAt(join(deps.workTree, ".git"))) !== null;
    const git = new SalvageGit(deps, isRepository ? await findRepository(deps) : null);
    await git.#makeOurs();
    return git;
  }

  /** The directory has a repository of its own. */
  get isRepository(): boolean {
    return this.#theirs !== null;
  }

  /** Id of the tree without entries, which git has everywhere without keeping it. */
  get emptyTree(): string {
    return createHash(this.#format).update("tree 0\0").digest("hex");
  }

  /** Its branches are kept elsewhere: the directory is a linked work tree. */
  get isLinked(): boolean {
    return this.#theirs !== null && relative(this.#deps.workTree, this.#theirs.commonDir).startsWith("..");
  }

  /** Runs git on their work tree and repository, with an index and objects of ours. Throws when it fails. */
  async theirs(args: readonly string[], options: GitOptions = {}): Promise<string> {
    return outputOf(args, await this.tryTheirs(args, options), this.#deps);
  }

  /** As {@link theirs}, where the exit code says something. */
  tryTheirs(args: readonly string[], options: GitOptions = {}): Promise<GitResult> {
    const env = {
      ...workTreeEnvironment(this.#deps),
      ...(this.#theirs === null ? { GIT_DIR: this.#ours } : {}),
      GIT_INDEX_FILE: this.#index,
      GIT_OBJECT_DIRECTORY: join(this.#ours, "objects"),
    };
    return run(args, this.#deps, { ...options, env, config: this.#theirs?.config ?? [] });
  }

  /** Runs git on the temporary repository, which sees their objects and nothing of their configuration. Throws when it fails. */
  async ours(args: readonly string[], options: GitOptions = {}): Promise<string> {
    const env = { ...options.env, GIT_DIR: this.#ours };
    return outputOf(args, await run(args, this.#deps, { ...options, env }), this.#deps);
  }

  /** Of a plain directory, git's own. */
  get #format(): string {
    return this.#theirs?.format ?? "sha1";
  }

  async #makeOurs(): Promise<void> {
    const theirs = this.#theirs;
    await makeRepository(this.#ours, this.#format);
    if (theirs === null) return;
    // Quoted as git reads it, for the sake of a line break in the path.
    const alternates = join(this.#ours, "objects", "info", "alternates");
    await writeFile(alternates, `${JSON.stringify(theirs.objects)}\n`);
    await copyIfThere(join(theirs.commonDir, "shallow"), join(this.#ours, "shallow"));
    // With its flags: what a sparse checkout leaves out isn't deleted.
    await copyIfThere(join(theirs.gitDir, "index"), this.#index);
  }
}

/** A repository around the directory is not its own. */
function workTreeEnvironment({ workTree }: SalvageGitDeps): Record<string, string> {
  return { GIT_WORK_TREE: workTree, GIT_CEILING_DIRECTORIES: dirname(workTree) };
}

async function findRepository(deps: SalvageGitDeps): Promise<TheirRepository> {
  const env = workTreeEnvironment(deps);
  const ask = async (args: readonly string[]): Promise<string> => outputOf(args, await run(args, deps, { env }), deps);
  const wanted = ["--git-dir", "--git-common-dir", "--git-path", "objects", "--show-object-format"];
  const answer = await ask(["rev-parse", "--path-format=absolute", ...wanted]);
  const [gitDir, commonDir, objects, format] = answer.split("\n");
  if (gitDir === undefined || commonDir === undefined || objects === undefined || format === undefined) {
    throw salvageFailure(deps.workTree, `git rev-parse answered ${JSON.stringify(answer)}`);
  }
  const config = withoutFilters(await ask(["config", "--list", "--name-only", "-z"]));
  return { gitDir, commonDir, objects, format, config };
}

function run(
  args: readonly string[],
  { workTree, searchPath, signal }: SalvageGitDeps,
  { config = [], ...options }: GitOptions & { readonly config?: GitConfig },
): Promise<GitResult> {
  return runGit(args, { ...options, cwd: workTree, searchPath, signal, config: [...COMMON_CONFIG, ...config] });
}

function outputOf(args: readonly string[], result: GitResult, { workTree }: SalvageGitDeps): string {
  const { exitCode, stdout, complaint, missing } = result;
  if (exitCode === 0 && stdout !== null) return stdout;
  const reason = missing ? "git was not found" : complaint || `exit code ${exitCode ?? "none"}`;
  throw salvageFailure(workTree, `git ${args[0] ?? ""}: ${reason}`, { missing });
}

/** What `git init --bare` makes, in as little as git needs. */
async function makeRepository(path: string, format: string): Promise<void> {
  await mkdir(join(path, "objects", "info"), { recursive: true });
  await mkdir(join(path, "refs"));
  await writeFile(join(path, "HEAD"), "ref: refs/heads/main\n");
  const extensions = format === "sha1" ? "" : `[extensions]\n\tobjectFormat = ${format}\n`;
  const version = format === "sha1" ? 0 : 1;
  await writeFile(join(path, "config"), `[core]\n\trepositoryFormatVersion = ${version}\n\tbare = true\n${extensions}`);
}

/**
 * With its time, rounded down: what was written to the work tree within the same moment as the index must be read to know that it
 * changed, and git tells that by the index's own time.
 */
async function copyIfThere(from: string, to: string): Promise<void> {
  try {
    const { atimeMs, mtimeMs } = await stat(from);
    await copyFile(from, to);
    await utimes(to, Math.floor(atimeMs / 1000), Math.floor(mtimeMs / 1000));
  } catch (error) {
    if (!isMissing(error)) throw error;
  }
}

/** What is in the directory can't be saved, so that it must stay. `data.missing`: there is no git. */
export function salvageFailure(path: string, reason: string, data: { readonly missing?: boolean } = {}): AppError {
  return new AppError(
    "workspace_salvage_failed",
    `the work in ${path} can't be saved, so it stays: ${reason}; save what you need and remove the directory`,
    { path, ...data },
  );
}
