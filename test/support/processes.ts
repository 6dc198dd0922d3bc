/** Looking at real processes from a test. */
import { readFileSync } from "node:fs";

import { vi } from "vitest";

import { createProcessTable } from "../../src/host/process-table.ts";

const table = createProcessTable();

/** Generous: a loaded machine may take seconds to start a shell. */
const DEADLINE_MS = 15_000;

/** True while the process runs; a zombie doesn't. */
export async function isRunning(pid: number): Promise<boolean> {
  const row = await table.read(pid);
  return row !== null && !row.zombie;
}

/** Waits until a script has written its pid to a file, and answers it. */
export async function pidFrom(path: string): Promise<number> {
  return vi.waitFor(
    () => {
      const pid = Number.parseInt(readFileSync(path, "utf8"), 10);
      if (!Number.isInteger(pid)) throw new Error(`${path} holds no pid yet`);
      return pid;
    },
    { timeout: DEADLINE_MS, interval: 10 },
  );
}

/** Waits until a process is gone or a zombie. */
export async function untilGone(pid: number): Promise<void> {
  await vi.waitFor(
    async () => {
      if (await isRunning(pid)) throw new Error(`process ${pid} still runs`);
    },
    { timeout: DEADLINE_MS, interval: 10 },
  );
}
