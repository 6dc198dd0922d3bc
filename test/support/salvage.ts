/** A team's repository, a workspace that is a clone of it, and what was kept of the workspace. */
import { existsSync, readdirSync } from "node:fs";
import { cp, mkdir, readFile, rm, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { systemClock } from "../../src/lib/clock.ts";
import { salvageWork } from "../../src/workspace/salvage.ts";
import { captureLog } from "./captured-log.ts";
import { gitIn } from "./git.ts";
import { makeIssue } from "./issues.ts";
import { makeTempDir, type TempDir } from "./temp-dir.ts";

/** Made once for a file of tests, and copied for each. */
export async function makeTemplate(): Promise<TempDir> {
  const template = await makeTempDir();
  const origin = join(template.path, "upstream");
  await mkdir(origin);
  gitIn(origin, "init", "-q", "-b", "main");
  await writeFile(join(origin, "a.txt"), "one\n");
  await writeFile(join(origin, "b.txt"), "two\n");
  await writeFile(join(origin, ".gitignore"), "ignored/\n");
  gitIn(origin, "add", ".");
  gitIn(origin, "commit", "-q", "-m", "first");
  gitIn(template.path, "clone", "-q", origin, "ENG-7");
  return template;
}

export class SalvageBench implements AsyncDisposable {
  readonly dir: string;
  /** The team's repository. */
  readonly upstream: string;
  /** The workspace. */
  work: string;
  readonly captured = captureLog();
  readonly #temp: TempDir;

  private constructor(temp: TempDir) {
    this.#temp = temp;
    this.dir = temp.path;
    this.upstream = join(temp.path, "upstream");
    this.work = join(temp.path, "ENG-7");
  }

  static async make(template: TempDir): Promise<SalvageBench> {
    const temp = await makeTempDir();
    await cp(template.path, temp.path, { recursive: true });
    const bench = new SalvageBench(temp);
    const config = join(bench.work, ".git", "config");
    await writeFile(config, (await readFile(config, "utf8")).replace(template.path, temp.path));
    return bench;
  }

  /** Where work is kept. */
  get kept(): string {
    return join(this.dir, "state", "salvage");
  }

  git(...args: readonly string[]): string {
    return gitIn(this.work, ...args);
  }

  put(name: string, text: string | Buffer): Promise<void> {
    return writeFile(join(this.work, name), text);
  }

  /** An empty folder in the workspace's place. */
  async empty(): Promise<void> {
    await rm(this.work, { recursive: true });
    await mkdir(this.work);
  }

  async save({
    signal = new AbortController().signal,
    searchPath = process.env["PATH"] ?? "",
  }: { readonly signal?: AbortSignal; readonly searchPath?: string } = {}): Promise<void> {
    const request = { path: this.work, issue: makeIssue("ENG-7"), signal };
    await salvageWork(request, { dir: this.kept, clock: systemClock, log: this.captured.log, searchPath });
  }

  /** Files that were kept, sorted. */
  files(): readonly string[] {
    return existsSync(this.kept) ? readdirSync(this.kept).toSorted() : [];
  }

  /** The one file with this ending. */
  only(ending: ".bundle" | ".patch"): string {
    const [name, ...more] = this.files().filter((file) => file.endsWith(ending));
    if (name === undefined || more.length > 0) throw new Error(`not one ${ending}: ${this.files().join(" ")}`);
    return join(this.kept, name);
  }

  /** A fresh clone of the team's repository, with everything that the bundle holds below refs/salvaged. */
  restored(): string {
    const clone = join(this.dir, "restored");
    gitIn(this.dir, "clone", "-q", this.upstream, clone);
    gitIn(clone, "fetch", "-q", this.only(".bundle"), "refs/*:refs/salvaged/*");
    return clone;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#temp.dispose();
  }
}

/** Where the uncommitted work is in a restored clone. */
export const UNCOMMITTED = "refs/salvaged/salvage/uncommitted";
