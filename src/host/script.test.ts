import { writeFile } from "node:fs/promises";
import { join } from "node:path";

import { afterEach, beforeEach, describe, expect, test } from "vitest";

import { captureLog } from "../../test/support/captured-log.ts";
import { isRunning, pidFrom } from "../../test/support/processes.ts";
import { makeTempDir, type TempDir } from "../../test/support/temp-dir.ts";
import { systemClock, type Clock } from "../lib/clock.ts";
import { createLocalHost } from "./local.ts";
import type { ScriptRequest, ScriptResult } from "./port.ts";
import { OUTPUT_LIMIT_BYTES } from "./script.ts";

let dir: TempDir;

beforeEach(async () => {
  dir = await makeTempDir();
});

afterEach(async () => {
  await dir.dispose();
});

function runScript(
  script: string,
  more: Partial<ScriptRequest> = {},
  clock: Clock = systemClock,
): Promise<ScriptResult> {
  const host = createLocalHost({ log: captureLog().log, clock });
  const env = { HOME: dir.path, PATH: "/usr/bin:/bin", D: dir.path };
  return host.runScript({ script, cwd: dir.path, env, timeoutMs: 60_000, marker: "script-test", ...more });
}

/** Long enough for the script to begin on a busy machine; the test fires it by hand. */
const TIMEOUT_MS = 59_999;

const BACKGROUND = 'bash -c \'trap "" TERM HUP; echo $$ > "$D/pid"; while :; do sleep 1; done\'';

describe("a script", () => {
  test("answers its exit code and both outputs in their order", async () => {
    expect(await runScript("echo one; echo two >&2; echo three; exit 4")).toEqual({
      exitCode: 4,
      timedOut: false,
      aborted: false,
      output: "one\ntwo\nthree\n",
    });
  });

  test("may open /dev/stdout and /dev/stderr", async () => {
    const { exitCode, output } = await runScript("echo a > /dev/stderr; echo b | tee /dev/stderr > /dev/stdout");
    expect([exitCode, output]).toEqual([0, "a\nb\nb\n"]);
  });

  test("has no stdin to read", async () => {
    expect((await runScript("cat; echo end")).output).toBe("end\n");
  });

  test("keeps the end of a long output and never blocks on it", async () => {
    const { output, exitCode } = await runScript("head -c 5000000 /dev/zero | tr '\\0' y; echo; echo last");
    expect(exitCode).toBe(0);
    expect(Buffer.byteLength(output)).toBe(OUTPUT_LIMIT_BYTES);
    expect(output.endsWith("yyy\nlast\n")).toBe(true);
  });

  test("that bash can't find anything in fails with 127", async () => {
    expect((await runScript("nothing-like-that")).exitCode).toBe(127);
  });

  test("doesn't wait for a background process that holds its output, and takes it along", async () => {
    const { exitCode, output } = await runScript(
      `setsid ${BACKGROUND} & while [ ! -s "$D/pid" ]; do sleep 0.01; done; echo done`,
    );
    expect([exitCode, output]).toEqual([0, "done\n"]);
    expect(await isRunning(await pidFrom(join(dir.path, "pid")))).toBe(false);
  });

  test("is ended with its whole tree when its time is up", async () => {
    const timeUp = Promise.withResolvers<() => void>();
    const clock: Clock = {
      ...systemClock,
      setTimer: (delayMs, fire) => {
        if (delayMs === TIMEOUT_MS) timeUp.resolve(fire);
        return systemClock.setTimer(delayMs, fire);
      },
    };
    const script = `trap "" TERM; echo begun; ${BACKGROUND} & wait`;
    const running = runScript(script, { timeoutMs: TIMEOUT_MS }, clock);
    const pid = await pidFrom(join(dir.path, "pid"));
    (await timeUp.promise)();
    expect(await running).toEqual({ exitCode: null, timedOut: true, aborted: false, output: "begun\n" });
    expect(await isRunning(pid)).toBe(false);
  });

  test("is ended with its whole tree when the caller gives up", async () => {
    const giveUp = new AbortController();
    const running = runScript(`setsid ${BACKGROUND} & wait`, { signal: giveUp.signal });
    const pid = await pidFrom(join(dir.path, "pid"));
    giveUp.abort();
    expect(await running).toMatchObject({ exitCode: null, timedOut: false, aborted: true });
    expect(await isRunning(pid)).toBe(false);
  });

  test("doesn't begin its work when the caller gave up before", async () => {
    const result = await runScript("sleep 600", { signal: AbortSignal.abort() });
    expect(result).toMatchObject({ exitCode: null, aborted: true });
  });

  test("leaves an agent of the same run alone", async () => {
    const host = createLocalHost({ log: captureLog().log });
    const env = { HOME: dir.path, PATH: "/usr/bin:/bin" };
    const agent = await host.spawn({ command: "cat", cwd: dir.path, env, marker: "script-test" });
    await runScript("true", { marker: "script-test" });
    expect(await isRunning(agent.identity.pid)).toBe(true);
    await agent.stop();
  });

  test("that was cut off by a crash is found by its run's marker", async () => {
    const host = createLocalHost({ log: captureLog().log });
    const running = runScript(`setsid ${BACKGROUND} & wait`, { marker: "cut-off" });
    const pid = await pidFrom(join(dir.path, "pid"));
    expect(await host.reap({ pid: 0, processGroup: 0, startTime: "", marker: "cut-off" })).toBeGreaterThanOrEqual(2);
    expect(await isRunning(pid)).toBe(false);
    await running;
  });

  test("runs with the profile's PATH and without its secrets", async () => {
    await writeFile(join(dir.path, ".bash_profile"), "export TOKEN=t0ken; PATH=$PATH:/opt/tools\n");
    const { output } = await runScript('env | grep -c TOKEN; case ":$PATH:" in *:/opt/tools:*) echo yes;; esac');
    expect(output).toBe("0\nyes\n");
  });
});
