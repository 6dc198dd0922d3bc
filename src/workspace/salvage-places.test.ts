import { existsSync, readFileSync } from "node:fs";
import { mkdir } from "node:fs/promises";
import { join } from "node:path";
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from "vitest";
import { gitIn } from "../../test/support/git.ts";
import { makeTemplate, SalvageBench, UNCOMMITTED } from "../../test/support/salvage.ts";
import type { TempDir } from "../../test/support/temp-dir.ts";

let template: TempDir;
let bench: SalvageBench;

beforeAll(async () => {
  template = await makeTemplate();
});
afterAll(() => template.dispose());
beforeEach(async () => {
  bench = await SalvageBench.make(template);
});
afterEach(() => bench[Symbol.asyncDispose]());

describe("committed work", () => {
  it("that is not on a remote is bench.kept, of every branch, of a detached HEAD and of every stash", async () => {
    for (const branch of ["feature", "other"]) {
      bench.git("checkout", "-q", "-b", branch, "main");
      bench.git("commit", "-q", "--allow-empty", "-m", `on ${branch}`);
    }
    bench.git("checkout", "-q", "--detach", "main");
    await bench.put("a.txt", "detached\n");
    bench.git("commit", "-qam", "detached");
    for (const text of ["stash 1\n", "stash 2\n"]) {
      await bench.put("b.txt", text);
      bench.git("stash", "-q");
    }
    const detached = bench.git("rev-parse", "HEAD");
    const stashes = bench.git("rev-list", "-g", "refs/stash").split("\n");
    await bench.save();
    const clone = bench.restored();
    const refs = gitIn(clone, "for-each-ref", "--format=%(refname:lstrip=2) %(subject)", "refs/salvaged").split("\n");
    expect(refs).toEqual([
      "heads/feature on feature",
      "heads/other on other",
      "salvage/head detached",
      expect.stringMatching(/^salvage\/stash-0 WIP on/),
      expect.stringMatching(/^salvage\/stash-1 WIP on/),
    ]);
    expect(gitIn(clone, "rev-parse", "refs/salvaged/salvage/head")).toBe(detached);
    expect(stashes.map((_, index) => gitIn(clone, "rev-parse", `refs/salvaged/salvage/stash-${index}`))).toEqual(
      stashes,
    );
    expect(readFileSync(bench.only(".patch"), "utf8")).toContain("+detached");
  });

  it("is one patch with what is uncommitted, on top of what the remote has", async () => {
    await bench.put("a.txt", "committed\n");
    bench.git("commit", "-qam", "mine");
    await bench.put("b.txt", "uncommitted\n");
    await bench.save();
    const clone = bench.restored();
    gitIn(clone, "apply", bench.only(".patch"));
    expect(["a.txt", "b.txt"].map((name) => readFileSync(join(clone, name), "utf8"))).toEqual([
      "committed\n",
      "uncommitted\n",
    ]);
  });

  it("of a repository without a remote is kept with its history", async () => {
    bench.git("remote", "remove", "origin");
    await bench.save();
    const clone = join(bench.dir, "whole");
    await mkdir(clone);
    gitIn(clone, "init", "-q");
    gitIn(clone, "fetch", "-q", bench.only(".bundle"), "refs/*:refs/salvaged/*");
    expect(gitIn(clone, "show", "refs/salvaged/heads/main:a.txt")).toBe("one");
  });

  it("of a linked bench.work tree stays in its repository, and only what is uncommitted is kept", async () => {
    const tree = join(bench.dir, "tree");
    bench.git("worktree", "add", "-q", "-b", "ENG-7", tree);
    bench.work = tree;
    bench.git("commit", "-q", "--allow-empty", "-m", "on the branch");
    await bench.save();
    expect(bench.files()).toEqual([]);
    await bench.put("a.txt", "loose\n");
    await bench.save();
    gitIn(join(bench.dir, "ENG-7"), "fetch", "-q", bench.only(".bundle"), "refs/*:refs/salvaged/*");
    expect(bench.git("for-each-ref", "--format=%(refname)", "refs/salvaged")).toBe(UNCOMMITTED);
  });
});

describe("a directory that is no repository", () => {
  beforeEach(async () => {
    await bench.empty();
  });

  it("is kept as if all of it were new, without what its .gitignore names", async () => {
    await bench.put("report.md", "found it\n");
    await bench.put(".gitignore", "*.o\n");
    await bench.put("a.o", "object");
    await bench.save();
    expect(gitIn(bench.restored(), "ls-tree", "--name-only", UNCOMMITTED)).toBe(".gitignore\nreport.md");
    expect(readFileSync(bench.only(".patch"), "utf8")).toContain("+found it");
  });

  it("has the repositories in it kept each for itself", async () => {
    await bench.put("notes.txt", "notes\n");
    for (const name of ["one", "two"]) {
      gitIn(bench.work, "clone", "-q", bench.upstream, name);
      await bench.put(`${name}/a.txt`, `in ${name}\n`);
    }
    gitIn(bench.work, "clone", "-q", bench.upstream, "clean");
    await bench.save();
    const names = bench.files().map((name) => name.replace(/-[0-9a-f]{8}(?=\.)/, ""));
    expect(new Set(names)).toEqual(
      new Set(["ENG-7", "ENG-7-one", "ENG-7-two"].flatMap((name) => [`${name}.bundle`, `${name}.patch`])),
    );
  });

  it("is let go where there is no git, with a warning; a repository isn't", async () => {
    await bench.put("report.md", "found it\n");
    await bench.save({ searchPath: join(bench.dir, "nowhere") });
    expect(bench.captured.warnings()[0]).toContain("git was not found");
    bench.git("init", "-q");
    await expect(bench.save({ searchPath: join(bench.dir, "nowhere") })).rejects.toThrow(
      /git was not found; save what you need/,
    );
    expect(bench.files()).toEqual([]);
  });
});

describe("a submodule", () => {
  it("has its own bench.work bench.kept, and runs nothing", async () => {
    gitIn(bench.work, "-c", "protocol.file.allow=always", "submodule", "--quiet", "add", bench.upstream, "sub");
    bench.git("commit", "-qm", "with a submodule");
    await bench.put("sub/a.txt", "inside\n");
    const flag = join(bench.dir, "ran");
    gitIn(join(bench.work, "sub"), "config", "core.fsmonitor", `touch ${flag}; false`);
    await bench.save();
    expect(bench.files().filter((name) => name.startsWith("ENG-7-sub-"))).toHaveLength(2);
    expect(existsSync(flag)).toBe(false);
  });
});
