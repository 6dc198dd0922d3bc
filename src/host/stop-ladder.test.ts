import { spawn as spawnRaw, type ChildProcess } from "node:child_process";
import { writeFile } from "node:fs/promises";
import { join } from "node:path";

import { describe, test } from "vitest";

import { captureLog } from "../../test/support/captured-log.ts";
import { isRunning, pidFrom, untilGone } from "../../test/support/processes.ts";
import { makeTempDir } from "../../test/support/temp-dir.ts";
import { createLocalHost } from "./local.ts";
import type { AgentProcess, Host, ProcessIdentity } from "./port.ts";
import { systemClock } from "../lib/clock.ts";
import { createProcessTable, type ProcessTable } from "./process-table.ts";
import { createRunTree } from "./process-tree.ts";
import { endTree } from "./stop-ladder.ts";

/** A test's own directory, host and processes, so that tests can wait side by side. */
interface Place extends AsyncDisposable {
  readonly path: string;
  readonly host: Host;
  spawn(command: string, marker: string): Promise<AgentProcess>;
  /** A process outside any host, as a crashed daemon leaves it. */
  stray(marker: string, command: string): ChildProcess;
  pidFile(name: string): Promise<number>;
}

async function makePlace(): Promise<Place> {
  const dir = await makeTempDir();
  const host = createLocalHost({ log: captureLog().log });
  const env = { HOME: dir.path, PATH: "/usr/bin:/bin", D: dir.path };
  const strays: ChildProcess[] = [];
  return {
    path: dir.path,
    host,
    spawn: (command, marker) => host.spawn({ command, cwd: dir.path, env, marker }),
    stray(marker, command) {
      const options = { detached: true, env: { ...env, SYMPHONY_RUN_MARKER: marker }, stdio: "ignore" } as const;
      const child = spawnRaw("bash", ["-c", command], options);
      strays.push(child);
      return child;
    },
    pidFile: (name) => pidFrom(join(dir.path, name)),
    async [Symbol.asyncDispose]() {
      for (const stray of strays) stray.kill("SIGKILL");
      await dir.dispose();
    },
  };
}

/** A shell that notes its pid in the file `name` and survives HUP, INT and TERM. */
function stubborn(name: string): string {
  return `bash -c 'trap "" HUP INT TERM; echo $$ > "$D/${name}"; while :; do sleep 1; done'`;
}

async function identityOf(pid: number, marker: string): Promise<ProcessIdentity> {
  const row = await createProcessTable().read(pid);
  return { pid, processGroup: pid, startTime: row?.startTime ?? "", marker };
}

describe.concurrent("stop", () => {
  test("ends a child by closing its stdin, so that it can say goodbye", async ({ expect }) => {
    await using place = await makePlace();
    const child = await place.spawn(
      'trap "echo term > $D/how" TERM; cat > /dev/null; echo eof > "$D/how"; echo $$ > "$D/pid"',
      "m1",
    );
    await child.stop();
    expect(await child.exited).toEqual({ code: 0, signal: null });
    expect(await place.pidFile("pid")).toBe(child.identity.pid);
  });

  test("asks with TERM when stdin isn't listened to", async ({ expect }) => {
    await using place = await makePlace();
    const child = await place.spawn('trap "exit 7" TERM; echo $$ > "$D/pid"; while :; do sleep 0.05; done', "m2");
    await place.pidFile("pid");
    await child.stop();
    expect(await child.exited).toEqual({ code: 7, signal: null });
  });

  test("kills a leader and a child that ignore TERM", async ({ expect }) => {
    await using place = await makePlace();
    const child = await place.spawn(
      `trap "" TERM; ${stubborn("inner")} & echo $$ > "$D/outer"; while :; do sleep 1; done`,
      "m3",
    );
    const pids = [await place.pidFile("outer"), await place.pidFile("inner")];
    await child.stop();
    expect(await Promise.all(pids.map(isRunning))).toEqual([false, false]);
    expect(await child.exited).toEqual({ code: null, signal: "SIGKILL" });
  });

  test("finds descendants in sessions of their own", async ({ expect }) => {
    await using place = await makePlace();
    const child = await place.spawn(`setsid ${stubborn("own")} & cat >/dev/null`, "m4");
    const pid = await place.pidFile("own");
    await child.stop();
    expect(await isRunning(pid)).toBe(false);
  });

  test("finds a detached orphan by the run's marker, and only its own run's", async ({ expect }) => {
    await using place = await makePlace();
    const orphan = (name: string): string => `(setsid ${stubborn(name)} >/dev/null 2>&1 &); cat > /dev/null`;
    const [one, two] = [await place.spawn(orphan("one"), "run-1"), await place.spawn(orphan("two"), "run-2")];
    const [pidOne, pidTwo] = [await place.pidFile("one"), await place.pidFile("two")];
    await one.stop();
    expect(await Promise.all([isRunning(pidOne), isRunning(pidTwo)])).toEqual([false, true]);
    await two.stop();
    expect(await isRunning(pidTwo)).toBe(false);
  });

  test("finds what a cleaned environment hides, as long as its parent lives", async ({ expect }) => {
    await using place = await makePlace();
    const child = await place.spawn(`env -i D="$D" PATH="$PATH" setsid ${stubborn("bare")} & cat >/dev/null`, "m5");
    const pid = await place.pidFile("bare");
    await child.stop();
    expect(await isRunning(pid)).toBe(false);
  });

  test("wins against a pair of watchdogs that start each other anew", async ({ expect }) => {
    await using place = await makePlace();
    const script = join(place.path, "watchdog.sh");
    await writeFile(
      script,
      'trap "" TERM HUP\necho $$ > "$D/dog-$1"\nwhile :; do kill -0 "$2" 2>/dev/null || { setsid bash "$0" "$1" $$ & set -- "$1" $!; }; sleep 0.01; done\n',
    );
    const child = await place.spawn(`setsid bash ${script} a 999999 >/dev/null 2>&1 & cat > /dev/null`, "m6");
    await place.pidFile("dog-a");
    await child.stop();
    await untilGone(await place.pidFile("dog-a"));
    expect(await place.host.reap({ ...child.identity, startTime: "0@none" })).toBe(0);
  });

  test("ends what a crashed leader left behind", async ({ expect }) => {
    await using place = await makePlace();
    const child = await place.spawn(`${stubborn("left")} & setsid ${stubborn("far")} & read -r _; kill -9 $$`, "m7");
    const pids = [await place.pidFile("left"), await place.pidFile("far")];
    child.stdin.write("\n");
    expect(await child.exited).toEqual({ code: null, signal: "SIGKILL" });
    expect(await Promise.all(pids.map(isRunning))).toEqual([true, true]);
    await child.stop();
    expect(await Promise.all(pids.map(isRunning))).toEqual([false, false]);
  });

  test("ends a stopped (SIGSTOP) tree", async ({ expect }) => {
    await using place = await makePlace();
    const child = await place.spawn('echo $$ > "$D/frozen"; cat', "m8");
    const pid = await place.pidFile("frozen");
    process.kill(pid, "SIGSTOP");
    await child.stop();
    expect(await isRunning(pid)).toBe(false);
  });

  test("is one and the same however often it is called", async ({ expect }) => {
    await using place = await makePlace();
    const child = await place.spawn("cat", "m9");
    const stops = [child.stop(), child.stop()];
    expect(stops[0]).toBe(stops[1]);
    await Promise.all(stops);
    await child.stop();
  });

  test("doesn't wait for zombies", async ({ expect }) => {
    await using place = await makePlace();
    // A parent that never waits keeps a dead child as a zombie, and itself ends only with KILL.
    const child = await place.spawn('trap "" TERM; sleep 0 & echo $! > "$D/zombie"; exec sleep 600', "m10");
    await untilGone(await place.pidFile("zombie"));
    await child.stop();
    expect(await isRunning(child.identity.pid)).toBe(false);
  });
});

describe.concurrent("reap", () => {
  test("ends a tree that an earlier daemon left, and counts it", async ({ expect }) => {
    await using place = await makePlace();
    const left = place.stray("reap-1", `setsid ${stubborn("deep")} & echo $$ > "$D/top"; wait`);
    const [top, deep] = [await place.pidFile("top"), await place.pidFile("deep")];
    expect(left.pid).toBe(top);
    expect(await place.host.reap(await identityOf(top, "reap-1"))).toBeGreaterThanOrEqual(2);
    expect(await Promise.all([isRunning(top), isRunning(deep)])).toEqual([false, false]);
  });

  test("never touches a decoy: the same pid and group, another start time", async ({ expect }) => {
    await using place = await makePlace();
    place.stray("somebody-else", stubborn("decoy"));
    const pid = await place.pidFile("decoy");
    const identity = await identityOf(pid, "reap-2");
    const [ticks, boot] = identity.startTime.split("@");
    const recycled = [`${Number(ticks) - 100}@${boot}`, `${ticks}@another-boot`, ""];
    for (const startTime of recycled) expect(await place.host.reap({ ...identity, startTime })).toBe(0);
    expect(await isRunning(pid)).toBe(true);
  });

  test("finds the marked rest of a tree whose leader is gone, beside a decoy with the leader's pid", async ({
    expect,
  }) => {
    await using place = await makePlace();
    place.stray("other", stubborn("decoy"));
    place.stray("reap-3", stubborn("rest"));
    const [decoy, rest] = [await place.pidFile("decoy"), await place.pidFile("rest")];
    const gone = { ...(await identityOf(decoy, "reap-3")), startTime: "1@this-boot-is-over" };
    expect(await place.host.reap(gone)).toBeGreaterThanOrEqual(1);
    expect(await Promise.all([isRunning(decoy), isRunning(rest)])).toEqual([true, false]);
  });

  test("answers 0 when nothing is left", async ({ expect }) => {
    await using place = await makePlace();
    expect(
      await place.host.reap({ pid: 2 ** 22 + 1, processGroup: 2 ** 22 + 1, startTime: "1@x", marker: "none" }),
    ).toBe(0);
  });

  test("doesn't take a marker that only begins like its own", async ({ expect }) => {
    await using place = await makePlace();
    place.stray("reap-40", stubborn("longer"));
    const pid = await place.pidFile("longer");
    expect(await place.host.reap({ pid: 1, processGroup: 1, startTime: "1@x", marker: "reap-4" })).toBe(0);
    expect(await isRunning(pid)).toBe(true);
  });
});

describe("a look that fails", () => {
  test("isn't taken for an empty one: the tree is ended once it can be seen again", async ({ expect }) => {
    await using place = await makePlace();
    const child = place.stray("unseen", stubborn("unseen"));
    const identity = await identityOf(await place.pidFile("unseen"), "unseen");
    const real = createProcessTable();
    let failures = 3;
    const failing: ProcessTable = {
      ...real,
      list: () => ((failures -= 1) >= 0 ? Promise.reject(new Error("EMFILE: too many open files")) : real.list()),
    };
    const captured = captureLog();
    const deps = { table: failing, clock: systemClock, log: captured.log };
    await endTree(createRunTree(identity, deps), deps);
    expect(await isRunning(child.pid ?? 0)).toBe(false);
    expect(captured.warnings()).toHaveLength(3);
  });
});

describe("where there is no /proc", () => {
  test("ps finds the tree: a group, and a session of its own under a living parent", async ({ expect }) => {
    await using place = await makePlace();
    const top = place.stray("by-ps", `${stubborn("mate")} & setsid ${stubborn("apart")} & echo $$ > "$D/top"; wait`);
    const pids = [await place.pidFile("top"), await place.pidFile("mate"), await place.pidFile("apart")];
    const table = createProcessTable("ps");
    const row = await table.read(top.pid ?? 0);
    const identity = { pid: top.pid ?? 0, startTime: row?.startTime ?? "", marker: "by-ps" };
    const deps = { table, clock: systemClock, log: captureLog().log };
    await endTree(createRunTree({ ...identity, processGroup: identity.pid }, deps), deps);
    expect(await Promise.all(pids.map(isRunning))).toEqual([false, false, false]);
  });
});
