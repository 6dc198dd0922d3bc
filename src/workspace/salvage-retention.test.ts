import { mkdir, readdir, utimes, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { afterEach, beforeEach, expect, it } from "vitest";
import { captureLog, type CapturedLog } from "../../test/support/captured-log.ts";
import { ManualClock } from "../../test/support/manual-clock.ts";
import { makeTempDir, type TempDir } from "../../test/support/temp-dir.ts";
import { until } from "../../test/support/until.ts";
import { SalvageRetention } from "./salvage-retention.ts";

const DAY = 24 * 3_600_000;

let temp: TempDir;
let dir: string;
let clock: ManualClock;
let captured: CapturedLog;
let retention: SalvageRetention;

async function file(name: string, ageMs: number): Promise<void> {
  const at = (clock.now() - ageMs) / 1000;
  await writeFile(join(dir, name), "work");
  await utimes(join(dir, name), at, at);
}

beforeEach(async () => {
  temp = await makeTempDir();
  dir = join(temp.path, "salvage");
  clock = new ManualClock();
  captured = captureLog();
  retention = new SalvageRetention({ dir, clock, log: captured.log });
});
afterEach(async () => {
  await retention.stop();
  expect(clock.armedCount()).toBe(0);
  await temp.dispose();
});

it("kept work goes after 14 days: at the start, and once a day while the daemon runs", async () => {
  await mkdir(dir);
  await file("old.bundle", 14 * DAY + 1);
  await file("old.patch", 14 * DAY + 1);
  await file("younger.bundle", 13.5 * DAY);
  await file("new.bundle", 0);
  await file("notes.txt", 99 * DAY);
  await retention.start();
  expect((await readdir(dir)).toSorted()).toEqual(["new.bundle", "notes.txt", "younger.bundle"]);
  await clock.advance(DAY);
  await until("the next day's look is over", async () => !(await readdir(dir)).includes("younger.bundle"));
  expect((await readdir(dir)).toSorted()).toEqual(["new.bundle", "notes.txt"]);
});

it("what a killed daemon left half done goes, and what is being made stays", async () => {
  await mkdir(join(dir, ".tmp-dead"), { recursive: true });
  await mkdir(join(dir, ".tmp-live"));
  const hourAgo = clock.now() / 1000 - 3601;
  await utimes(join(dir, ".tmp-dead"), hourAgo, hourAgo);
  await utimes(join(dir, ".tmp-live"), clock.now() / 1000, clock.now() / 1000);
  await retention.start();
  expect(await readdir(dir)).toEqual([".tmp-live"]);
});

it("there need not be a folder", async () => {
  await retention.start();
  await retention.start();
  expect(captured.lines()).toEqual([]);
});
