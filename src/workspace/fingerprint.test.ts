import { execFileSync } from "node:child_process";
import { existsSync } from "node:fs";
import { chmod, cp, mkdir, rm, symlink, utimes, writeFile } from "node:fs/promises";
import { join } from "node:path";

import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from "vitest";

import { ManualClock } from "../../test/support/manual-clock.ts";
import { makeTempDir, type TempDir } from "../../test/support/temp-dir.ts";
import { until } from "../../test/support/until.ts";
import type { Fingerprint } from "../domain/outcome.ts";
import { systemClock } from "../lib/clock.ts";
import { readFingerprint } from "./fingerprint.ts";

const searchPath = process.env["PATH"] ?? "/usr/bin:/bin";
const GIT_ENV = {
  PATH: searchPath,
  GIT_CONFIG_NOSYSTEM: "1",
  GIT_CONFIG_GLOBAL: "/dev/null",
  GIT_AUTHOR_NAME: "t",
  GIT_AUTHOR_EMAIL: "t@example.test",
  GIT_COMMITTER_NAME: "t",
  GIT_COMMITTER_EMAIL: "t@example.test",
};

let dir: TempDir;
let tree: string;

beforeEach(async () => {
  dir = await makeTempDir();
  tree = join(dir.path, "tree");
  await mkdir(tree);
});
afterEach(async () => {
  await dir.dispose();
});

function git(...args: string[]): string {
  return execFileSync("git", args, {
    cwd: tree,
    env: GIT_ENV,
    encoding: "utf8",
    stdio: ["ignore", "pipe", "pipe"],
  }).trim();
}
const put = (name: string, text: string): Promise<void> => writeFile(join(tree, name), text);
const look = (): Promise<Fingerprint> => readFingerprint(tree, { clock: systemClock, searchPath });

describe("the fingerprint of a repository", () => {
  let template: TempDir;

  // Made once, and copied for each test.
  beforeAll(async () => {
    template = await makeTempDir();
    tree = template.path;
    git("init", "-q", "--template=");
    await put("a.txt", "one\n");
    await put(".gitignore", "ignored\n");
    git("add", ".");
    git("commit", "-q", "-m", "first");
  });
  afterAll(() => template.dispose());
  beforeEach(async () => {
    await cp(template.path, tree, { recursive: true });
    // So that the index knows the copies as it knew the files: an edit has to be found although git believes what it knows.
    git("update-index", "-q", "--refresh");
  });

  it("holds HEAD, and stays the same while nothing changes", async () => {
    const first = await look();
    expect(first.head).toBe(git("rev-parse", "HEAD"));
    git("status");
    expect(await look()).toEqual(first);
  });

  it("moves its head with a commit", async () => {
    const first = await look();
    git("commit", "-q", "--allow-empty", "-m", "second");
    const second = await look();
    expect(second.head).not.toBe(first.head);
    expect(second.diff).toBe(first.diff);
  });

  it.each<[string, () => Promise<void> | void]>([
    ["an edit", () => put("a.txt", "two\n")],
    ["an edit that keeps the size", () => put("a.txt", "eno\n")],
    ["a new file", () => put("b.txt", "new\n")],
    ["a new file with a strange name", () => put('b c\n"é', "new\n")],
    ["a deletion", () => rm(join(tree, "a.txt"))],
    ["a mode", () => chmod(join(tree, "a.txt"), 0o755)],
    ["a link", () => symlink("a.txt", join(tree, "link"))],
    ["something staged", () => put("a.txt", "two\n").then(() => void git("add", "."))],
  ])("changes its diff with %s", async (_what, change) => {
    const first = await look();
    await change();
    const second = await look();
    expect(second.diff).not.toBe(first.diff);
    expect(second.head).toBe(first.head);
    expect(await look()).toEqual(second);
  });

  it("tells one uncommitted edit from the next, tracked or not", async () => {
    const seen = new Set<string | null>();
    for (const text of ["x\n", "y\n"]) {
      await put("a.txt", text);
      await put("new.txt", "n");
      seen.add((await look()).diff);
      await put("new.txt", "m");
      seen.add((await look()).diff);
    }
    expect(seen.size).toBe(4);
  });

  it("takes neither a touched file nor an ignored one for a change", async () => {
    const first = await look();
    await utimes(join(tree, "a.txt"), 1, 1);
    await put("ignored", "x");
    expect(await look()).toEqual(first);
  });

  it("runs no program that the repository names", async () => {
    const ran = join(dir.path, "ran");
    const program = `touch ${ran}; cat`;
    await put(".gitattributes", "*.txt filter=evil diff=evil\n* filter=ev=il\n");
    git("config", "filter.evil.clean", program);
    git("config", "filter.evil.process", program);
    git("config", "filter.evil.required", "true");
    git("config", "filter.ev=il.clean", program);
    git("config", "diff.evil.textconv", program);
    git("config", "diff.external", program);
    git("config", "core.fsmonitor", program);
    git("config", "core.hooksPath", join(tree, "hooks"));
    await mkdir(join(tree, "hooks"));
    await writeFile(join(tree, "hooks", "post-index-change"), `#!/bin/sh\ntouch ${ran}\n`, { mode: 0o755 });
    await put("a.txt", "two\n");
    await rm(ran, { force: true });
    const { head, diff } = await look();
    expect([head, diff]).not.toContain(null);
    expect(existsSync(ran)).toBe(false);
    execFileSync("git", ["status"], { cwd: tree, env: GIT_ENV, stdio: "ignore" });
    expect(existsSync(ran)).toBe(true); // So an ordinary look would have run it.
  });

  it("looks at the workspace, wherever the repository says its work tree is", async () => {
    const first = await look();
    git("config", "core.worktree", dir.path);
    expect(await look()).toEqual(first);
  });

  it("knows a repository without a commit", async () => {
    await rm(join(tree, ".git"), { recursive: true });
    git("init", "-q");
    const first = await look();
    expect(first.head).toBeNull();
    await put("a.txt", "two\n");
    expect((await look()).diff).not.toBe(first.diff);
  });
});

describe("the fingerprint of a plain directory", () => {
  it("is empty for an empty one", async () => {
    expect(await look()).toEqual({ head: null, diff: null });
  });

  it("changes with any file in it, and only then", async () => {
    await mkdir(join(tree, "sub"));
    await put("sub/a", "one");
    const first = await look();
    expect(first.head).toBeNull();
    expect(await look()).toEqual(first);
    await put("sub/a", "two");
    const second = await look();
    expect(second.diff).not.toBe(first.diff);
    await put("sub/b", "");
    expect((await look()).diff).not.toBe(second.diff);
  });

  it("is not that of a repository around it", async () => {
    execFileSync("git", ["init", "-q"], { cwd: dir.path, env: GIT_ENV });
    await put("a", "one");
    const { head, diff } = await look();
    expect(head).toBeNull();
    expect(diff).not.toBeNull();
    execFileSync("git", ["-C", dir.path, "commit", "-q", "--allow-empty", "-m", "x"], { env: GIT_ENV });
    expect(await look()).toEqual({ head, diff });
  });

  it("sees a commit in a repository inside it, and no mere look at that", async () => {
    await mkdir(join(tree, "repo"));
    await put("repo/a", "one");
    git("init", "-q", "repo");
    git("-C", "repo", "add", ".");
    git("-C", "repo", "commit", "-q", "-m", "first");
    const first = await look();
    await utimes(join(tree, "repo", "a"), 1, 1);
    git("-C", "repo", "status");
    expect(await look()).toEqual(first);
    git("-C", "repo", "commit", "-q", "--allow-empty", "-m", "second");
    expect((await look()).diff).not.toBe(first.diff);
  });

  it("needs no git", async () => {
    await put("a", "one");
    const without = await readFingerprint(tree, { clock: systemClock, searchPath: dir.path });
    expect(without.diff).not.toBeNull();
  });
});

it("ends a look that takes too long, with a clear error", async () => {
  const clock = new ManualClock();
  const fake = join(dir.path, "git");
  await writeFile(fake, `#!/bin/sh\ntouch ${join(dir.path, "asked")}\nexec sleep 600\n`, { mode: 0o755 });
  await mkdir(join(tree, ".git"));
  const looking = readFingerprint(tree, { clock, searchPath: `${dir.path}:${searchPath}` });
  const advanced = until("git was asked", () => existsSync(join(dir.path, "asked"))).then(() => clock.advance(10_000));
  await Promise.all([expect(looking).rejects.toThrow(/took longer than 10000 ms/), advanced]);
});

it("fails for a directory that isn't there", async () => {
  await rm(tree, { recursive: true });
  await expect(look()).rejects.toMatchObject({ code: "ENOENT" });
});
