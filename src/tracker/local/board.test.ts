import { mkdir, rename, rm, stat, utimes, writeFile } from "node:fs/promises";
import { join } from "node:path";

import { afterEach, beforeEach, describe, expect, it } from "vitest";

import { makeTempDir, type TempDir } from "../../../test/support/temp-dir.ts";
import { systemClock, type Clock } from "../../lib/clock.ts";
import { createBoard, isTicketName, type TicketEntry } from "./board.ts";

/** An hour ahead, so that files written just now count as old. */
const laterClock: Clock = { ...systemClock, now: () => systemClock.now() + 3_600_000 };

describe("the board's folder", () => {
  let dir: TempDir;
  beforeEach(async () => {
    dir = await makeTempDir();
  });
  afterEach(() => dir.dispose());

  const put = (name: string, state: string): Promise<void> =>
    writeFile(join(dir.path, `${name}.md`), `---\ntitle: a\nstate: ${state}\n---\n`);
  const stateOf = (entry: TicketEntry | undefined): string | null =>
    entry?.content.ok === true ? entry.content.ticket.state : null;

  it("does not read a file again that hasn't changed", async () => {
    const board = createBoard(dir.path, laterClock);
    await put("A", "Todo");
    await put("B", "Todo");
    const first = await board.load(["A", "B"]);
    await put("B", "Done");
    const second = await board.load(["A", "B"]);
    expect(second.get("A")).toBe(first.get("A"));
    expect(stateOf(second.get("B"))).toBe("Done");
  });

  it("sees a change that leaves size and time stamp as they were", async () => {
    const board = createBoard(dir.path, systemClock);
    for (let n = 0; n < 100; n += 1) {
      const state = n % 2 === 0 ? "Todo" : "Done";
      await put("A", state);
      expect(stateOf((await board.load(["A"])).get("A"))).toBe(state);
    }
  });

  it("sees a change after which somebody put the old time stamp back", async () => {
    const board = createBoard(dir.path, laterClock);
    await put("A", "Todo");
    await board.load(["A"]);
    const { atime, mtime } = await stat(join(dir.path, "A.md"));
    await put("A", "Done");
    await utimes(join(dir.path, "A.md"), atime, mtime);
    expect(stateOf((await board.load(["A"])).get("A"))).toBe("Done");
  });

  it("sees a file that another one was put in place of", async () => {
    const board = createBoard(dir.path, laterClock);
    await put("A", "Todo");
    await board.load(["A"]);
    await put("B", "Done");
    await rename(join(dir.path, "B.md"), join(dir.path, "A.md"));
    expect(stateOf((await board.load(["A", "B"])).get("A"))).toBe("Done");
  });

  it("leaves out a file that went away between listing and reading", async () => {
    const board = createBoard(dir.path, laterClock);
    await put("A", "Todo");
    await put("B", "Todo");
    const names = await board.list();
    await rm(join(dir.path, "A.md"));
    expect([...(await board.load(names)).keys()]).toEqual(["B"]);
  });

  it("fails for a folder that is gone or is a file", async () => {
    const file = join(dir.path, "file");
    await writeFile(file, "");
    for (const path of [join(dir.path, "gone"), file]) {
      await expect(createBoard(path, systemClock).list()).rejects.toMatchObject({ code: "tracker_request" });
    }
  });

  it("fails for a ticket that can't be looked at, and doesn't call it gone", async () => {
    const file = join(dir.path, "file");
    await writeFile(file, "");
    await expect(createBoard(file, systemClock).load(["A"])).rejects.toMatchObject({ code: "tracker_request" });
  });

  it("calls a file malformed that is no UTF-8 or too large, without reading the large one", async () => {
    await writeFile(join(dir.path, "A.md"), Buffer.from([0x2d, 0x2d, 0x2d, 0xff]));
    await writeFile(join(dir.path, "B.md"), Buffer.alloc(1_048_577, "x"));
    const entries = await createBoard(dir.path, systemClock).load(["A", "B"]);
    expect(entries.get("A")?.content).toMatchObject({ ok: false, problem: { reason: "the file is not UTF-8 text" } });
    expect(entries.get("B")?.content).toMatchObject({
      ok: false,
      problem: { reason: expect.stringMatching(/larger than 1048576 bytes/) },
    });
  });

  it("takes a folder with a ticket's name for no ticket", async () => {
    await mkdir(join(dir.path, "A.md"));
    expect((await createBoard(dir.path, systemClock).load(["A"])).size).toBe(0);
  });
});

describe("names of tickets", () => {
  it.each(["ENG-1", "fix the login", "é", "a.b", "7", "x".repeat(200)])("takes %s", (name) => {
    expect(isTicketName(name)).toBe(true);
  });

  it.each([
    "",
    ".",
    "..",
    ".hidden",
    "a/b",
    "a\\b",
    "../a",
    "a\nb",
    "a\0",
    " a",
    "a ",
    "x".repeat(201),
    "é".repeat(101),
  ])("refuses %j", (name) => {
    expect(isTicketName(name)).toBe(false);
  });
});
