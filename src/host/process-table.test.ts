import { spawn } from "node:child_process";
import { once } from "node:events";

import { describe, expect, test } from "vitest";

import { createProcessTable } from "./process-table.ts";

const proc = createProcessTable("proc");
const ps = createProcessTable("ps");

/** A child whose command name looks like a part of /proc/<pid>/stat. */
async function oddlyNamed(): Promise<{ readonly pid: number; end(): Promise<void> }> {
  const script =
    "require('node:fs').writeFileSync('/proc/self/comm', ') R 1 1 (x'); console.log(1); setInterval(() => {}, 1e6)";
  const child = spawn(process.execPath, ["-e", script], { detached: true, env: { SYMPHONY_RUN_MARKER: "m" } });
  await once(child.stdout, "data");
  return {
    pid: child.pid ?? 0,
    async end() {
      child.kill("SIGKILL");
      await once(child, "exit");
    },
  };
}

describe.each([
  ["/proc", proc],
  ["ps", ps],
])("processes as %s shows them", (_name, table) => {
  test("are listed with parent, group and a start time that stays the same", async () => {
    const child = await oddlyNamed();
    const row = await table.read(child.pid);
    expect(row).toMatchObject({ pid: child.pid, parent: process.pid, group: child.pid, zombie: false, kernel: false });
    expect((await table.list()).rows).toContainEqual(row);
    expect(row?.startTime).not.toBe("");
    await child.end();
    expect(await table.read(child.pid)).toBeNull();
  });

  test("include zombies, marked as such", async () => {
    // Ends only once its parent has become a program that reaps nobody.
    const child = "until grep -q sleep /proc/$PPID/comm; do :; done";
    const parent = spawn("bash", ["-c", `bash -c '${child}' & echo $!; exec sleep 60`]);
    const [pid] = (await once(parent.stdout, "data")) as [Buffer];
    await expect.poll(async () => (await table.read(Number(pid)))?.zombie, { timeout: 15_000 }).toBe(true);
    parent.kill("SIGKILL");
    await once(parent, "exit");
  });
});

describe("/proc", () => {
  test("is read once for all who ask at the same moment, and after they have asked", async () => {
    const lists = [proc.list(), proc.list()];
    const child = await oddlyNamed();
    const later = proc.list();
    const [first, second] = await Promise.all(lists);
    expect(second).toBe(first);
    expect(await later).not.toBe(first);
    expect((await later).rows.map((row) => row.pid)).toContain(child.pid);
    await child.end();
  });

  test("tells who carries an assignment, from its beginning to its end", async () => {
    const child = await oddlyNamed();
    const list = await proc.list();
    expect(list.carries(child.pid, "SYMPHONY_RUN_MARKER=m")).toBe(true);
    expect(list.carries(child.pid, "SYMPHONY_RUN_MARKER=")).toBe(false);
    expect(list.carries(child.pid, "RUN_MARKER=m")).toBe(false);
    await child.end();
    expect((await proc.list()).carries(child.pid, "SYMPHONY_RUN_MARKER=m")).toBe(false);
  });

  test("tells an earlier start from a later one, and nothing of another boot", async () => {
    const self = await proc.read(process.pid);
    if (self === null) throw new Error("this process isn't listed");
    const [ticks, boot] = self.startTime.split("@");
    expect(proc.startedSince(self, self.startTime)).toBe(true);
    expect(proc.startedSince(self, `${Number(ticks) + 1}@${boot}`)).toBe(false);
    expect(proc.startedSince(self, `${Number(ticks) + 1}@another`)).toBe(true);
  });
});
