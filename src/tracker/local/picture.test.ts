import { mkdir, symlink, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { makeTempDir, type TempDir } from "../../../test/support/temp-dir.ts";
import { readBoardPicture } from "./picture.ts";

let dir: TempDir;
let board: string;

function read(reference: string, maxBytes = 100): Promise<Uint8Array | null> {
  return readBoardPicture(board, reference, { maxBytes, signal: new AbortController().signal });
}

beforeEach(async () => {
  dir = await makeTempDir();
  board = join(dir.path, "board");
  await mkdir(join(board, "shots"), { recursive: true });
  await writeFile(join(board, "shots", "my shot.png"), "picture");
  await writeFile(join(dir.path, "secret.png"), "secret");
  await writeFile(join(board, "100%.png"), "percent");
});

afterEach(() => dir.dispose());

describe("a picture beside the tickets", () => {
  it.each([
    ["shots/my shot.png", "picture"],
    ["shots/my%20shot.png", "picture"],
    ["./shots/../shots/my%20shot.png", "picture"],
    ["100%.png", "percent"],
  ])("is read by its path: %s", async (reference, content) => {
    expect(Buffer.from((await read(reference)) ?? []).toString()).toBe(content);
  });

  it.each([
    ["https://example.com/x.png"],
    ["//example.com/x.png"],
    ["data:image/png,x"],
    ["/etc/passwd"],
    ["C:/x.png"],
  ])("is not what an address or an absolute path names: %s", async (reference) => {
    expect(await read(reference)).toBeNull();
  });

  it.each([["../secret.png"], ["shots/../../secret.png"], ["%2e%2e/secret.png"], ["."], [".."]])(
    "is nothing outside of the folder: %s",
    async (reference) => {
      await expect(read(reference)).rejects.toThrow("not inside the board's folder");
    },
  );

  it("is nothing that a link leads to outside, and may be a link inside", async () => {
    await symlink(join(dir.path, "secret.png"), join(board, "out.png"));
    await symlink(dir.path, join(board, "up"));
    await symlink("shots/my shot.png", join(board, "in.png"));
    await expect(read("out.png")).rejects.toThrow("not inside the board's folder");
    await expect(read("up/secret.png")).rejects.toThrow("not inside the board's folder");
    expect(Buffer.from((await read("in.png")) ?? []).toString()).toBe("picture");
  });

  it("is refused when it is too large, no file, or not there", async () => {
    await expect(read("shots/my shot.png", 6)).rejects.toThrow("more bytes than codex.images.max_bytes (6) allows");
    await expect(read("shots")).rejects.toThrow("it is not a file");
    await expect(read("none.png")).rejects.toThrow(/ENOENT/);
  });
});
