/** `symphony ledger`, on a real ledger that a daemon has open meanwhile. */
import { existsSync, readdirSync, readFileSync, statSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";

import Database from "better-sqlite3";
import { afterEach, beforeEach, describe, expect, test } from "vitest";

import { changeOf, ended, makeLedgerPlace, started, type LedgerPlace } from "../../test/support/ledger.ts";
import { runProgram, type Said } from "../../test/support/program.ts";
import { runId } from "../domain/ids.ts";
import { openLedgerReader } from "../ledger/queries.ts";
import type { Ledger } from "../ledger/port.ts";
import { parseDuration } from "./duration.ts";

const DAY_MS = 24 * 60 * 60 * 1000;

let place: LedgerPlace;
/** The daemon's, open all the while. */
let ledger: Ledger;

beforeEach(async () => {
  place = await makeLedgerPlace();
  ledger = place.open();
});
afterEach(() => place[Symbol.asyncDispose]());

function run(...args: readonly string[]): Promise<Said> {
  const user = { dir: place.dir, home: place.dir, tmp: place.dir };
  return runProgram(user, ["ledger", ...args, "--state-dir", dirname(place.path)]);
}

/** A run with one turn and one event. */
function workOn(name: string, at: number): void {
  ledger.commit(changeOf({ facts: [started(name, at)] }));
  ledger.turnIntended({ runId: runId(name), turn: 1, intentId: name, at });
  ledger.commit(changeOf({ facts: [ended(name, at + 1)] }));
}

/** Swaps the ledger's file for one with these pages overwritten. */
function damage(firstPage: number, pages: number): void {
  ledger.close();
  const bytes = readFileSync(place.path);
  bytes.fill(0xee, 4096 * firstPage, 4096 * (firstPage + pages));
  writeFileSync(place.path, bytes);
}

describe("symphony ledger backup", () => {
  test("copies the ledger beside the daemon that goes on writing, and says where to", async () => {
    workOn("run-1", 1);
    const { code, stdout, stderr } = await run("backup", "copy.db");
    expect({ code, stderr }).toEqual({ code: 0, stderr: "" });
    const copy = join(place.dir, "copy.db");
    expect(stdout).toMatch(new RegExp(`^Copied \\S+ to ${copy} \\([\\d,]+ bytes\\)\\.\\n$`));
    workOn("run-2", 3);
    const reader = openLedgerReader(copy);
    expect(reader.runs().map((row) => row.run_id)).toEqual(["run-1"]);
    reader.close();
    expect(statSync(copy).mode & 0o777).toBe(0o600);
  });

  test("answers as JSON", async () => {
    const { code, stdout } = await run("backup", "copy.db", "--json");
    const backup = join(place.dir, "copy.db");
    expect(code).toBe(0);
    expect(JSON.parse(stdout)).toEqual({ ledger: place.path, backup, bytes: statSync(backup).size });
  });

  test("overwrites nothing, not even the ledger", async () => {
    writeFileSync(join(place.dir, "precious"), "mine");
    for (const target of ["precious", place.path]) {
      const { code, stdout, stderr } = await run("backup", target);
      expect({ code, stdout }).toEqual({ code: 1, stdout: "" });
      expect(stderr).toMatch(/^symphony: \S+ exists already; choose another file\n$/);
    }
    expect(readFileSync(join(place.dir, "precious"), "utf8")).toBe("mine");
  });

  test("names a folder that isn't there", async () => {
    const { code, stderr } = await run("backup", "nowhere/copy.db");
    expect(code).toBe(1);
    expect(stderr).toMatch(/^symphony: \S+nowhere\/copy\.db can't be written: ENOENT[^\n]*; choose another file\n$/);
  });

  test("leaves no half copy of a damaged ledger", async () => {
    ledger.commit(changeOf({ facts: Array.from({ length: 400 }, (_, number) => started(`run-${number}`, number)) }));
    damage(24, 4);
    const before = readdirSync(place.dir);
    const { code, stderr } = await run("backup", "copy.db");
    expect(code).toBe(1);
    expect(stderr).toMatch(/^symphony: copying: the ledger \S+ failed with SQLITE_CORRUPT/);
    expect(readdirSync(place.dir)).toEqual(before);
  });
});

describe("symphony ledger check", () => {
  test("finds nothing wrong with a ledger in use", async () => {
    workOn("run-1", 1);
    expect(await run("check")).toEqual({ code: 0, stdout: `Nothing is wrong with ${place.path}.\n`, stderr: "" });
    expect(JSON.parse((await run("check", "--json")).stdout)).toEqual({ ledger: place.path, ok: true, problems: [] });
  });

  test("lists what is wrong and exits with 1", async () => {
    const hand = new Database(place.path);
    hand.pragma("foreign_keys = OFF");
    hand.exec("INSERT INTO turns (run_id, turn, intent_id, intended_at) VALUES ('nobody', 1, 'x', 1)");
    hand.close();
    const problems = ["1 rows refer to rows that are gone"];
    expect(await run("check")).toEqual({
      code: 1,
      stdout: `${place.path} is damaged:\n  ${problems[0]}\n`,
      stderr: "",
    });
    const { code, stdout } = await run("check", "--json");
    expect({ code, said: JSON.parse(stdout) as unknown }).toEqual({
      code: 1,
      said: { ledger: place.path, ok: false, problems },
    });
  });

  test("says that there is no ledger, and makes none", async () => {
    ledger.close();
    const { code, stdout, stderr } = await runProgram({ dir: place.dir, home: place.dir, tmp: place.dir }, [
      "ledger",
      "check",
      "--state-dir",
      "nowhere",
    ]);
    expect({ code, stdout }).toEqual({ code: 1, stdout: "" });
    expect(stderr).toMatch(/^symphony: the ledger \S+nowhere\/ledger\.db does not exist[^\n]*\n$/);
    expect(existsSync(join(place.dir, "nowhere"))).toBe(false);
  });
});

describe("symphony ledger prune", () => {
  test("lets details of old runs go beside the daemon, keeps the runs, and counts what went", async () => {
    workOn("old", Date.now() - 3 * DAY_MS);
    workOn("new", Date.now());
    expect((await run("prune", "--older-than", "4d")).stdout).toBe("Nothing is that old.\n");
    const { code, stdout } = await run("prune", "--older-than", "2d");
    expect({ code, stdout }).toEqual({ code: 0, stdout: "Deleted 1 turns. Runs and token counts stay.\n" });
    expect(place.reader().runs()).toHaveLength(2);
    workOn("newer", Date.now());
  });

  test("keeps 90 days unless told otherwise, and answers as JSON", async () => {
    workOn("older", Date.now() - 91 * DAY_MS);
    workOn("old", Date.now() - 89 * DAY_MS);
    const { code, stdout } = await run("prune", "--json");
    expect(code).toBe(0);
    expect(JSON.parse(stdout)).toMatchObject({
      ledger: place.path,
      older_than_ms: 90 * DAY_MS,
      deleted: { turns: 1, events: 0 },
    });
  });

  test.each(["soon", "0d", "-1d", "1.5d", "30"])("refuses --older-than %s as a usage error", async (span) => {
    const { code, stdout, stderr } = await run("prune", `--older-than=${span}`);
    expect({ code, stdout }).toEqual({ code: 2, stdout: "" });
    expect(stderr).toMatch(/^symphony: [^\n]*--older-than[^\n]*30d[^\n]*\n$/);
  });
});

test("spans are whole hours, days or weeks", () => {
  expect(["12h", "30d", "2w", " 1d "].map(parseDuration)).toEqual([DAY_MS / 2, 30 * DAY_MS, 14 * DAY_MS, DAY_MS]);
});

test("ledger alone is a usage error that names its commands", async () => {
  const { code, stderr } = await runProgram({ dir: place.dir, home: place.dir, tmp: place.dir }, ["ledger"]);
  expect(code).toBe(2);
  expect(stderr).toContain("backup");
});
