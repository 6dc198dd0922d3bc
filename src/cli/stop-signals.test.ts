/** First, second and echoed signals, on the process's real signal listeners. */
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { ManualClock } from "../../test/support/manual-clock.ts";
import { listenForStop, signalExitCode } from "./stop-signals.ts";

const clock = new ManualClock(0);
let asked: string[];
let listening: Disposable | null = null;

function listen(terminal: boolean): void {
  listening = listenForStop(
    {
      drain: (signal) => asked.push(`drain ${signal}`),
      kill: (signal) => asked.push(`kill ${signal}`),
      hangup: () => asked.push("hangup"),
    },
    { clock, terminal },
  );
}

beforeEach(() => {
  asked = [];
});

afterEach(() => {
  listening?.[Symbol.dispose]();
  listening = null;
});

describe("a stop request", () => {
  test("drains the first time and kills the second", async () => {
    listen(true);
    process.emit("SIGTERM", "SIGTERM");
    await clock.advance(500);
    process.emit("SIGTERM", "SIGTERM");
    await clock.advance(500);
    process.emit("SIGTERM", "SIGTERM");
    expect(asked).toEqual(["drain SIGTERM", "kill SIGTERM"]);
  });

  test("that is echoed within half a second counts once", async () => {
    listen(true);
    process.emit("SIGINT", "SIGINT");
    await clock.advance(499);
    process.emit("SIGINT", "SIGINT");
    expect(asked).toEqual(["drain SIGINT"]);
  });

  test("by another signal is no echo", () => {
    listen(true);
    process.emit("SIGINT", "SIGINT");
    process.emit("SIGTERM", "SIGTERM");
    expect(asked).toEqual(["drain SIGINT", "kill SIGTERM"]);
  });
});

test("SIGHUP is a stop request on a terminal, and none without", () => {
  listen(true);
  process.emit("SIGHUP", "SIGHUP");
  expect(asked).toEqual(["drain SIGHUP"]);
  listening?.[Symbol.dispose]();
  listen(false);
  process.emit("SIGHUP", "SIGHUP");
  process.emit("SIGTERM", "SIGTERM");
  expect(asked).toEqual(["drain SIGHUP", "hangup", "drain SIGTERM"]);
});

test("nothing listens any more once it is disposed", () => {
  const before = process.listenerCount("SIGTERM");
  listen(true);
  expect(process.listenerCount("SIGTERM")).toBe(before + 1);
  listening?.[Symbol.dispose]();
  expect(process.listenerCount("SIGTERM")).toBe(before);
});

test("exit codes are those of a shell", () => {
  expect([signalExitCode("SIGINT"), signalExitCode("SIGTERM"), signalExitCode("SIGHUP")]).toEqual([130, 143, 129]);
});
