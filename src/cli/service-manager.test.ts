/** What systemd is told, with an executable of the test's own in the place of systemd-notify. */
import { chmod, readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { afterEach, beforeEach, expect, test } from "vitest";
import { captureLog } from "../../test/support/captured-log.ts";
import { ManualClock } from "../../test/support/manual-clock.ts";
import { makeTempDir, type TempDir } from "../../test/support/temp-dir.ts";
import { ServiceManager } from "./service-manager.ts";

let dir: TempDir;
let path: string;

beforeEach(async () => {
  dir = await makeTempDir();
  path = `${dir.path}:${process.env["PATH"] ?? ""}`;
});
afterEach(() => dir.dispose());

/** Keeps a line for each call: its arguments, the socket, and whether anything else of the daemon's environment came along. */
async function standIn(): Promise<void> {
  const file = join(dir.path, "systemd-notify");
  await writeFile(file, `#!/bin/sh\necho "$* to $NOTIFY_SOCKET\${SECRET:+ with the secret}" >> ${dir.path}/calls\n`);
  await chmod(file, 0o755);
}

async function calls(): Promise<readonly string[]> {
  return (await readFile(join(dir.path, "calls"), "utf8").catch(() => "")).split("\n").filter((line) => line !== "");
}

test("a service that systemd waits for says that it is ready, alive and stopping, in this order", async () => {
  await standIn();
  const clock = new ManualClock();
  const env = { PATH: path, NOTIFY_SOCKET: "/run/notify", WATCHDOG_USEC: "4000000", SECRET: "x" };
  const manager = new ServiceManager({ env, clock, log: captureLog().log });
  expect(env).toEqual({ PATH: path, SECRET: "x" });
  manager.ready();
  await clock.advance(2_000);
  await clock.advance(2_000);
  manager.stopping();
  await manager.close();
  await clock.advance(10_000);
  const said = ["READY=1", "WATCHDOG=1", "WATCHDOG=1", "STOPPING=1"];
  expect(await calls()).toEqual(said.map((message) => `--no-block ${message} to /run/notify`));
});

test("no sign of life is sent where none is waited for, or where another process was meant", async () => {
  await standIn();
  const clock = new ManualClock();
  const log = captureLog();
  const asked = { PATH: path, NOTIFY_SOCKET: "/run/notify" };
  for (const env of [asked, { ...asked, WATCHDOG_USEC: "4000000", WATCHDOG_PID: "1" }]) {
    const manager = new ServiceManager({ env, clock, log: log.log });
    manager.ready();
    await clock.advance(10_000);
    await manager.close();
  }
  expect(await calls()).toEqual(Array(2).fill("--no-block READY=1 to /run/notify"));
});

test("without a service manager nothing is started", async () => {
  await standIn();
  const manager = new ServiceManager({ env: { PATH: path }, clock: new ManualClock(), log: captureLog().log });
  manager.ready();
  manager.stopping();
  await manager.close();
  expect(await calls()).toEqual([]);
});

test("a systemd-notify that is missing is a warning, and nothing more", async () => {
  const log = captureLog();
  const env = { PATH: dir.path, NOTIFY_SOCKET: "/run/notify" };
  const manager = new ServiceManager({ env, clock: new ManualClock(), log: log.log });
  manager.ready();
  await manager.close();
  expect(log.warnings()).toHaveLength(1);
});
