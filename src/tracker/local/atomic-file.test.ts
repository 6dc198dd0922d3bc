import { chmod, readdir, readFile, stat, symlink, writeFile } from "node:fs/promises";
import { writeFileSync } from "node:fs";
import { join } from "node:path";

import { afterEach, beforeEach, describe, expect, it } from "vitest";

import { makeTempDir, type TempDir } from "../../../test/support/temp-dir.ts";
import { createFile, editFile } from "./atomic-file.ts";

describe("replacing a file", () => {
  let dir: TempDir;
  let path: string;
  beforeEach(async () => {
    dir = await makeTempDir();
    path = join(dir.path, "A.md");
    await writeFile(path, "start\n");
  });
  afterEach(() => dir.dispose());

  it("keeps every one of many edits made side by side", async () => {
    const numbers = Array.from({ length: 30 }, (_, n) => n);
    await Promise.all(numbers.map((n) => editFile(path, ({ text }) => `${text}${n}\n`)));
    const lines = (await readFile(path, "utf8")).split("\n").slice(1, -1).map(Number);
    expect(lines.toSorted((a, b) => a - b)).toEqual(numbers);
  });

  it("makes the edit anew on the text that a person saved meanwhile", async () => {
    let saves = 0;
    await editFile(path, ({ text }) => {
      if (saves < 3) writeFileSync(path, `${text}person ${(saves += 1)}\n`);
      return `${text}edit\n`;
    });
    expect(await readFile(path, "utf8")).toBe("start\nperson 1\nperson 2\nperson 3\nedit\n");
  });

  it("gives up, and loses nothing, when the file never stands still", async () => {
    let saves = 0;
    const edit = editFile(path, ({ text }) => {
      writeFileSync(path, `person ${(saves += 1)}\n`);
      return `${text}edit\n`;
    });
    await expect(edit).rejects.toMatchObject({ code: "tracker_request" });
    expect(await readFile(path, "utf8")).toBe(`person ${saves}\n`);
    expect(await readdir(dir.path)).toEqual(["A.md"]);
  });

  it("keeps the file's mode, and leaves no temporary file", async () => {
    await chmod(path, 0o640);
    await editFile(path, () => "new\n");
    expect((await stat(path)).mode & 0o7777).toBe(0o640);
    expect(await readdir(dir.path)).toEqual(["A.md"]);
  });

  it("does not touch a file that the edit leaves as it is", async () => {
    const before = await stat(path, { bigint: true });
    await editFile(path, ({ text }) => text);
    expect((await stat(path, { bigint: true })).ctimeNs).toBe(before.ctimeNs);
  });

  it("passes on what the edit throws, and the next edit goes on", async () => {
    const failing = editFile(path, () => {
      throw new Error("no");
    });
    const next = editFile(path, ({ text }) => `${text}next\n`);
    await expect(failing).rejects.toThrow("no");
    await next;
    expect(await readFile(path, "utf8")).toBe("start\nnext\n");
  });

  it("refuses bytes that are no text rather than spoil them", async () => {
    await writeFile(path, Buffer.from([0xff, 0xfe]));
    await expect(editFile(path, ({ text }) => `${text}x`)).rejects.toThrow(TypeError);
    expect(await readFile(path)).toEqual(Buffer.from([0xff, 0xfe]));
  });

  it("follows no link", async () => {
    await symlink(path, join(dir.path, "B.md"));
    await expect(editFile(join(dir.path, "B.md"), () => "x")).rejects.toMatchObject({ code: "ELOOP" });
  });

  it("creates a file once, whoever tries side by side", async () => {
    const target = join(dir.path, "N.md");
    const made = await Promise.all(["one", "two", "three"].map((text) => createFile(target, text)));
    expect(made.filter(Boolean)).toHaveLength(1);
    expect((await readdir(dir.path)).toSorted()).toEqual(["A.md", "N.md"]);
  });
});
