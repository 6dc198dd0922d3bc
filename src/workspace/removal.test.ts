import { chmod, mkdir, readdir, readFile, stat, symlink, writeFile } from "node:fs/promises";
import { join } from "node:path";

import { afterEach, beforeEach, describe, expect, it } from "vitest";

import { makeTempDir, type TempDir } from "../../test/support/temp-dir.ts";
import { removeTree, unlockTree } from "./removal.ts";

describe("removing a tree", () => {
  let dir: TempDir;
  let tree: string;
  beforeEach(async () => {
    dir = await makeTempDir();
    tree = join(dir.path, "tree");
    await mkdir(join(tree, "cache", "inner"), { recursive: true });
    await writeFile(join(tree, "cache", "inner", "file"), "x");
    await mkdir(join(dir.path, "outside"));
    await writeFile(join(dir.path, "outside", "precious"), "x");
    await symlink(join(dir.path, "outside"), join(tree, "link"));
    await symlink("nowhere", join(tree, "dangling"));
  });
  afterEach(async () => {
    await dir.dispose();
  });

  it("deletes links, not what they lead to", async () => {
    await removeTree(tree);
    expect(await readdir(dir.path)).toEqual(["outside"]);
    expect(await readFile(join(dir.path, "outside", "precious"), "utf8")).toBe("x");
  });

  it("deletes read-only directories", async () => {
    await chmod(join(tree, "cache", "inner"), 0o500);
    await chmod(join(tree, "cache"), 0o500);
    await removeTree(tree);
    expect(await readdir(dir.path)).toEqual(["outside"]);
  });

  it("unlocks directories of the tree and nothing behind a link", async () => {
    await chmod(join(tree, "cache", "inner"), 0o100);
    await chmod(join(tree, "cache"), 0o500);
    await chmod(join(dir.path, "outside"), 0o500);
    await unlockTree(tree);
    expect((await stat(join(tree, "cache"))).mode & 0o700).toBe(0o700);
    expect((await stat(join(tree, "cache", "inner"))).mode & 0o700).toBe(0o700);
    expect((await stat(join(dir.path, "outside"))).mode & 0o700).toBe(0o500);
    await chmod(join(dir.path, "outside"), 0o700);
  });

  it("is content when there is nothing", async () => {
    await removeTree(join(dir.path, "nothing"));
    expect(await readdir(dir.path)).toEqual(["outside", "tree"]);
  });
});
