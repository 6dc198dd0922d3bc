import { createHash } from "node:crypto";
import { readdirSync, readFileSync, statSync } from "node:fs";
import { chmod, mkdir, rm, symlink, truncate, utimes, writeFile } from "node:fs/promises";
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

/** Every file of a folder with what it holds. */
function contents(folder: string): string {
  const hash = createHash("sha256");
  for (const entry of readdirSync(folder, { recursive: true, withFileTypes: true })
    .map((found) => ({ path: join(found.parentPath, found.name), isFile: found.isFile() }))
    .toSorted((a, b) => (a.path < b.path ? -1 : 1))) {
    hash.update(`${entry.path}\0`);
    if (entry.isFile) hash.update(readFileSync(entry.path));
  }
  return hash.digest("hex");
}

describe("uncommitted work", () => {
  it("is kept whole: changed, staged, new, executable, linked and removed files, and not what is ignored", async () => {
    await bench.put("a.txt", "changed\n");
    await bench.put("staged.txt", "staged\n");
    bench.git("add", "staged.txt");
    await mkdir(join(bench.work, "deep", "er"), { recursive: true });
    await bench.put("deep/er/new file\n.bin", Buffer.from([0, 1, 255]));
    await bench.put("tool", "#!/bin/sh\n");
    await chmod(join(bench.work, "tool"), 0o755);
    await symlink("a.txt", join(bench.work, "link"));
    await rm(join(bench.work, "b.txt"));
    await mkdir(join(bench.work, "ignored"));
    await bench.put("ignored/big.o", "object");
    await bench.save();
    const clone = bench.restored();
    const tree = gitIn(clone, "ls-tree", "-r", "-z", UNCOMMITTED).split("\0");
    expect(tree.map((entry) => entry.replace(/^(\d+) .*\t/, "$1 "))).toEqual([
      "100644 .gitignore",
      "100644 a.txt",
      "100644 deep/er/new file\n.bin",
      "120000 link",
      "100644 staged.txt",
      "100755 tool",
      "",
    ]);
    expect(gitIn(clone, "show", `${UNCOMMITTED}:a.txt`)).toBe("changed");
    expect(gitIn(clone, "log", "-1", "--format=%P %an %s", UNCOMMITTED)).toBe(
      `${bench.git("rev-parse", "HEAD")} symphony Uncommitted work of ENG-7, kept when its workspace was removed`,
    );
    gitIn(clone, "apply", "--index", bench.only(".patch"));
    expect(gitIn(clone, "write-tree")).toBe(gitIn(clone, "rev-parse", `${UNCOMMITTED}^{tree}`));
    expect(bench.files().map((name) => statSync(join(bench.kept, name)).mode & 0o777)).toEqual([0o600, 0o600]);
    expect(bench.captured.warnings()).toEqual([]);
    expect(bench.captured.lines().at(-1)).toContain('"issue_identifier":"ENG-7"');
  });

  it("of a conflict, of a sparse checkout, and of files that were marked as unchanging is kept as it lies there", async () => {
    bench.git("checkout", "-q", "-b", "side");
    await bench.put("a.txt", "side\n");
    bench.git("commit", "-qam", "side");
    bench.git("checkout", "-q", "main");
    await bench.put("a.txt", "main\n");
    bench.git("commit", "-qam", "main");
    expect(() => bench.git("merge", "side")).toThrow(/CONFLICT|Command failed/);
    bench.git("update-index", "--assume-unchanged", "b.txt");
    await bench.put("b.txt", "quiet\n");
    bench.git("update-index", "--skip-worktree", ".gitignore");
    await rm(join(bench.work, ".gitignore"));
    await bench.save();
    const clone = bench.restored();
    const show = (name: string): string => gitIn(clone, "show", `${UNCOMMITTED}:${name}`);
    expect(show("a.txt")).toMatch(/^<<<<<<< HEAD\nmain\n=======\nside\n>>>>>>> side$/);
    expect([show("b.txt"), show(".gitignore")]).toEqual(["quiet", "ignored/"]);
  });

  it("that was done within the same moment as the last commit is kept", async () => {
    await bench.put("a.txt", "ONE\n");
    bench.git("commit", "-qam", "loud");
    // As large as it was, and by its times no younger than the index.
    await bench.put("a.txt", "two\n");
    const { mtime } = statSync(join(bench.work, ".git", "index"));
    await utimes(join(bench.work, "a.txt"), mtime, mtime);
    await bench.save();
    expect(gitIn(bench.restored(), "show", `${UNCOMMITTED}:a.txt`)).toBe("two");
  });

  it("before the first commit is kept", async () => {
    await bench.empty();
    bench.git("init", "-q");
    await bench.put("draft.txt", "draft\n");
    await bench.save();
    expect(gitIn(bench.restored(), "show", `${UNCOMMITTED}:draft.txt`)).toBe("draft");
    expect(readFileSync(bench.only(".patch"), "utf8")).toContain("+draft");
  });

  it("whose names are no text is kept", async () => {
    const name = Buffer.concat([Buffer.from(`${bench.work}/`), Buffer.from([0x61, 0xff, 0xfe])]);
    await writeFile(name, "odd\n");
    await bench.save();
    const listed = gitIn(bench.restored(), "ls-tree", "--name-only", UNCOMMITTED);
    expect(listed.split("\n")).toContain(String.raw`"a\377\376"`);
  });

  it("leaves out what is too large, and says so in the log and in the commit", async () => {
    await bench.put("core.dump", "");
    await truncate(join(bench.work, "core.dump"), 21 * 1024 * 1024);
    await bench.put("small.txt", "small\n");
    await bench.save();
    expect(bench.captured.warnings()).toHaveLength(1);
    expect(JSON.parse(bench.captured.warnings()[0] ?? "")).toMatchObject({
      left_out: 1,
      left_out_names: ["core.dump"],
    });
    const clone = bench.restored();
    expect(gitIn(clone, "log", "-1", "--format=%b", UNCOMMITTED)).toContain("- core.dump");
    expect(gitIn(clone, "ls-tree", "--name-only", UNCOMMITTED)).toContain("small.txt");
  });
});

describe("nothing is written", () => {
  it("where all is on the remote", async () => {
    bench.git("checkout", "-q", "-b", "feature");
    bench.git("commit", "-q", "--allow-empty", "-m", "pushed");
    bench.git("push", "-q", "origin", "feature");
    await mkdir(join(bench.work, "ignored"));
    await bench.put("ignored/a.o", "object");
    await bench.save();
    expect(bench.files()).toEqual([]);
  });

  it("where there is nothing at all", async () => {
    await bench.empty();
    await bench.save();
    bench.git("init", "-q");
    await bench.save();
    expect(bench.files()).toEqual([]);
  });

  it("where there are only empty directories, for which git isn't even looked for", async () => {
    await bench.empty();
    await mkdir(join(bench.work, "a", "b"), { recursive: true });
    await bench.save({ searchPath: join(bench.dir, "nowhere") });
    expect(bench.captured.warnings()).toEqual([]);
    expect(bench.files()).toEqual([]);
  });

  it("into the workspace's own repository", async () => {
    bench.git("commit", "-q", "--allow-empty", "-m", "mine");
    await bench.put("new.txt", "new\n");
    const before = contents(bench.work);
    await bench.save();
    expect(contents(bench.work)).toBe(before);
    expect(bench.files()).toHaveLength(2);
  });

  it("twice: the same bench.work has the same name, other bench.work another", async () => {
    await bench.put("a.txt", "changed\n");
    await bench.save();
    const first = bench.files();
    await bench.save();
    expect(bench.files()).toEqual(first);
    await bench.put("a.txt", "changed again\n");
    await bench.save();
    expect(bench.files()).toHaveLength(4);
  });
});

it("a workspace that is reached through a link is the same", async () => {
  await bench.put("a.txt", "changed\n");
  await symlink(bench.dir, join(bench.dir, "link"));
  bench.work = join(bench.dir, "link", "ENG-7");
  await bench.save();
  expect(bench.files()).toHaveLength(2);
});
