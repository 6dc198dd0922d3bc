import { spawn, type ChildProcess } from "node:child_process";
import { once } from "node:events";
import { readdirSync, statSync, symlinkSync, writeFileSync } from "node:fs";
import { join } from "node:path";

import { afterEach, beforeEach, describe, expect, test } from "vitest";

import { captureLog, type CapturedLog } from "../../test/support/captured-log.ts";
import { makeTempDir, type TempDir } from "../../test/support/temp-dir.ts";
import { meetNeighbours } from "./neighbours.ts";

const NEIGHBOUR = join(import.meta.dirname, "..", "..", "test", "fakes", "neighbour.ts");

let dir: TempDir;
let captured: CapturedLog;
let children: ChildProcess[];
/** Given back at the end of the test. */
let met: DisposableStack;

beforeEach(async () => {
  dir = await makeTempDir();
  captured = captureLog();
  children = [];
  met = new DisposableStack();
});
afterEach(async () => {
  for (const child of children) child.kill("SIGKILL");
  met.dispose();
  await dir.dispose();
});

function meet(ledgerId: string, scope = "board"): Disposable {
  return met.use(meetNeighbours({ env: { XDG_RUNTIME_DIR: dir.path }, ledgerId, scope, log: captured.log }));
}

/** Another process with a ledger on a scope; it is there once this resolves. */
async function neighbour(ledgerId: string, scope = "board"): Promise<ChildProcess> {
  const child = spawn(process.execPath, [NEIGHBOUR, dir.path, ledgerId, scope], {
    stdio: ["pipe", "pipe", "inherit"],
  });
  children.push(child);
  await once(child.stdout, "data");
  return child;
}

function warnings(): readonly unknown[] {
  return captured.warnings().map((line) => JSON.parse(line) as unknown);
}

describe("two daemons on the same tickets", () => {
  test("the later one names the earlier, and may go on", async () => {
    const { pid } = await neighbour("one");
    meet("two");
    expect(warnings()).toEqual([
      expect.objectContaining({
        pid,
        scope: "board",
        since: expect.stringMatching(/^20/),
        msg: expect.stringMatching(/^another daemon reads the same tickets/),
      }),
    ]);
  });

  test("nothing is said of another scope, nor of one that was killed", async () => {
    const child = await neighbour("one");
    meet("two", "another board");
    expect(warnings()).toEqual([]);
    child.kill("SIGKILL");
    await once(child, "exit");
    meet("three");
    expect(warnings()).toEqual([]);
  });

  test("each of several is named, within one process too", () => {
    meet("one");
    meet("two");
    meet("three");
    expect(warnings()).toHaveLength(3);
  });
});

describe("a copy of a ledger", () => {
  test("can't be worked on beside the ledger itself", async () => {
    const { pid } = await neighbour("same", "one board");
    expect(() => meet("same", "another board")).toThrow(
      expect.objectContaining({
        code: "already_running",
        message: expect.stringMatching(new RegExp(`pid ${pid}, .*already works on a copy of this ledger`)),
      }),
    );
  });

  test("can be once the ledger is free", () => {
    meet("same")[Symbol.dispose]();
    meet("same");
    expect(warnings()).toEqual([]);
  });
});

describe("the meeting place", () => {
  test("is for this user alone, and gone with the last daemon", () => {
    const first = meet("one");
    const second = meet("two");
    expect(statSync(join(dir.path, "symphony")).mode & 0o777).toBe(0o700);
    first[Symbol.dispose]();
    expect(readdirSync(join(dir.path, "symphony")).toSorted()).toEqual([
      "ledger-two.lock",
      expect.stringMatching(/^scope-[0-9a-f]{16}$/),
    ]);
    second[Symbol.dispose]();
    expect(readdirSync(dir.path)).toEqual([]);
  });

  test("that is a link, or can't be made, is left alone with a warning", () => {
    symlinkSync(dir.path, join(dir.path, "symphony"));
    meet("one");
    expect(warnings()).toEqual([expect.objectContaining({ msg: "other daemons on this machine can't be looked for" })]);
    expect(readdirSync(dir.path)).toEqual(["symphony"]);
    writeFileSync(join(dir.path, "file"), "");
    met.use(
      meetNeighbours({
        env: { XDG_RUNTIME_DIR: join(dir.path, "file") },
        ledgerId: "two",
        scope: "b",
        log: captured.log,
      }),
    );
    expect(warnings()).toHaveLength(2);
  });
});
