/** What a killed daemon leaves, found by the ledger whose daemon started it. */
import { join } from "node:path";

import { afterEach, beforeEach, expect, test } from "vitest";

import { captureLog } from "../../test/support/captured-log.ts";
import { isRunning, pidFrom } from "../../test/support/processes.ts";
import { makeTempDir, type TempDir } from "../../test/support/temp-dir.ts";
import { createLocalHost } from "./local.ts";
import type { Host } from "./port.ts";

let dir: TempDir;
const stops: (() => Promise<unknown>)[] = [];

beforeEach(async () => {
  dir = await makeTempDir();
});
afterEach(async () => {
  await Promise.all(stops.splice(0).map((stop) => stop()));
  await dir.dispose();
});

/** A daemon's host. Ledger ids are this test's own, so that nothing of another test is found. */
function hostOf(ledger?: string): Host {
  return createLocalHost({ log: captureLog().log, ...(ledger === undefined ? {} : { owner: join(dir.path, ledger) }) });
}

/** Starts something that stays, in a session of its own; answers its pid. */
async function leave(host: Host, marker: string): Promise<number> {
  const stop = new AbortController();
  const env = { PATH: "/usr/bin:/bin", HOME: dir.path };
  const script = `setsid bash -c 'echo $$ > ${marker}; exec sleep 600' & wait`;
  const ended = host.runScript({ script, cwd: dir.path, env, marker, timeoutMs: 600_000, signal: stop.signal });
  stops.push(() => {
    stop.abort();
    return ended;
  });
  return pidFrom(join(dir.path, marker));
}

test("everything of the same ledger is ended, whatever run or hook it belonged to, and nothing of another ledger", async () => {
  const before = hostOf("one");
  const ours = [await leave(before, "run-7"), await leave(before, "remove-id-7")];
  const others = [await leave(hostOf("two"), "run-8"), await leave(hostOf(), "run-9")];
  expect(await hostOf("one").reapAll()).toBeGreaterThanOrEqual(2);
  expect(await Promise.all(ours.map(isRunning))).toEqual([false, false]);
  expect(await Promise.all(others.map(isRunning))).toEqual([true, true]);
});

test("a host without a ledger has left nothing", async () => {
  const pid = await leave(hostOf(), "run-1");
  expect(await hostOf().reapAll()).toBe(0);
  expect(await isRunning(pid)).toBe(true);
});
