import { beforeEach, describe, expect, it } from "vitest";
import { captureLog } from "../../test/support/captured-log.ts";
import { makeIssue, makeSettings } from "../../test/support/issues.ts";
import { ManualClock } from "../../test/support/manual-clock.ts";
import { DurableStore } from "../../test/simulation/durable-store.ts";
import type { RunningClaim } from "../domain/claim.ts";
import { failed } from "../domain/outcome.ts";
import type { Effect } from "../scheduler/effects.ts";
import { Loop } from "./loop.ts";
import { operate } from "./operate.ts";

const issue = makeIssue("ENG-1");
const MINUTE = 60_000;
const settings = makeSettings();

let clock: ManualClock;
let store: DurableStore;
let effects: Effect[];
let isDown: boolean;
let loop: Loop;

beforeEach(async () => {
  clock = new ManualClock();
  store = new DurableStore();
  effects = [];
  isDown = false;
  loop = new Loop({
    clock,
    log: captureLog().log,
    settings: () => settings,
    commit: (change) => {
      if (isDown) throw new Error("disk full");
      store.commit(change);
    },
    perform: (effect) => effects.push(effect),
    beforeTimer: () => undefined,
    changed: () => undefined,
    seed: () => 1,
  });
  loop.post({ kind: "boot", durable: store.load() });
  loop.flush();
  const poll = of("poll")[0]?.poll ?? 0;
  loop.post({ kind: "polled", poll, candidates: [issue], tracked: [], trackedIds: [] });
  loop.flush();
  loop.post({ kind: "refreshed", check: of("refresh")[0]?.check ?? 0, ids: [issue.id], issues: [issue] });
  loop.flush();
  loop.post({ kind: "run_phase", runId: running().runId, phase: "turn", turn: 1 });
  loop.flush();
  effects = [];
});

function of<K extends Effect["kind"]>(kind: K): readonly Extract<Effect, { kind: K }>[] {
  return effects.filter((effect): effect is Extract<Effect, { kind: K }> => effect.kind === kind);
}

function running(): RunningClaim {
  const claim = loop.state.claims.get(issue.id);
  if (claim?.kind !== "running") throw new Error(`the ticket is ${claim?.kind ?? "free"}`);
  return claim;
}

/** A decision that can't be kept. */
function breakLedger(): void {
  isDown = true;
  loop.post({ kind: "run_thread", runId: running().runId, threadId: "thread-1" });
  loop.flush();
}

function say(): void {
  loop.post({ kind: "run_activity", runId: running().runId, at: clock.now(), open: 0 });
  loop.flush();
}

describe("while the ledger can't be written", () => {
  it("nothing new is asked of tracker or agents, and what waited is decided when it can", async () => {
    breakLedger();
    await clock.advance(2 * MINUTE);
    expect(effects).toEqual([]);
    expect(loop.ledgerError?.message).toBe("disk full");
    isDown = false;
    await clock.advance(1000);
    expect(loop.ledgerError).toBeNull();
    expect(running().threadId).toBe("thread-1");
    expect(of("poll")).toHaveLength(1);
  });

  it("a silent run is stopped as stalled all the same", async () => {
    breakLedger();
    await clock.advance(settings.codex.stallTimeoutMs);
    expect(of("stop_run")[0]).toMatchObject({ why: "stalled" });
  });

  it("a run that gives signs of life isn't", async () => {
    breakLedger();
    for (let beat = 0; beat < 10; beat += 1) {
      await clock.advance(MINUTE);
      say();
    }
    expect(of("stop_run")).toEqual([]);
  });

  it("a shutdown's grace runs from the shutdown on, however often the commit is tried", async () => {
    isDown = true;
    loop.post({ kind: "shutdown" });
    loop.flush();
    expect(of("finish_run")).not.toEqual([]);
    await clock.advance(settings.shutdown.drainMs - 1);
    expect(of("stop_run")).toEqual([]);
    await clock.advance(1000);
    expect(of("stop_run")[0]).toMatchObject({ why: "shutdown" });
  });

  it("an operator's stop is carried out, and kept as soon as it can be; other commands are refused", async () => {
    breakLedger();
    expect(operate(loop, { kind: "pause" })).toMatchObject({ accepted: false, code: "ledger_unavailable" });
    expect(operate(loop, { kind: "stop", issueId: issue.id })).toMatchObject({ accepted: true });
    expect(of("stop_run")[0]).toMatchObject({ why: "operator_stop" });
    isDown = false;
    await clock.advance(1000);
    expect([...store.load().claims.values()]).toMatchObject([{ stopping: { why: "operator_stop" } }]);
  });

  it("deadlines have their timer again when an event, not the next try, was what could be written", async () => {
    breakLedger();
    isDown = false;
    say();
    expect(loop.ledgerError).toBeNull();
    await clock.advance(settings.codex.stallTimeoutMs + 2000);
    expect(of("stop_run")[0]).toMatchObject({ why: "stalled" });
  });

  it("a run that ended of it costs no attempt, and is taken up after ten seconds", async () => {
    const { runId } = running();
    const outcome = failed("ledger", "disk full");
    const result = { outcome, issue, turns: 1, threadId: "thread-1", changed: null };
    loop.post({ kind: "run_ended", runId, result });
    loop.flush();
    expect(loop.state.claims.get(issue.id)).toMatchObject({ kind: "waiting", attempt: null, threadId: "thread-1" });
    await clock.advance(10_000);
    expect(of("refresh").at(-1)?.ids).toEqual([issue.id]);
  });
});

describe("after a standstill of the machine", () => {
  /** As a suspended machine does it: time has passed, and no timer has fired. */
  function standStill(ms: number): void {
    clock.jump(ms);
  }

  it("no run counts as stalled for a silence that nobody could break", async () => {
    standStill(8 * 60 * MINUTE);
    await clock.advance(settings.codex.stallTimeoutMs - 1);
    expect(of("stop_run")).toEqual([]);
    await clock.advance(BEAT);
    expect(of("stop_run")[0]).toMatchObject({ why: "stalled" });
  });

  it("also when the first thing that is heard is an agent, and when it ended just before the deadline", async () => {
    standStill(settings.codex.stallTimeoutMs - 1000);
    loop.post({ kind: "tracker_changed" });
    loop.flush();
    await clock.advance(MINUTE);
    expect(of("stop_run")).toEqual([]);
  });

  it("an ordinary delay is none: silence goes on being counted", async () => {
    standStill(9000);
    await clock.advance(settings.codex.stallTimeoutMs - 9000);
    expect(of("stop_run")[0]).toMatchObject({ why: "stalled" });
  });
});

describe("after the clock was put back", () => {
  const HOUR = 60 * MINUTE;

  it("an agent that falls silent is stopped as soon as it would have been", async () => {
    clock.putBack(HOUR);
    await clock.advance(settings.codex.stallTimeoutMs + BEAT);
    expect(of("stop_run")[0]).toMatchObject({ why: "stalled" });
  });

  it("a retry and the next poll come after as long as they had left", async () => {
    const result = { outcome: failed("agent", "boom"), issue, turns: 1, threadId: null, changed: null };
    loop.post({ kind: "run_ended", runId: running().runId, result });
    loop.flush();
    clock.putBack(HOUR);
    await clock.advance(settings.polling.intervalMs + 1);
    expect(of("refresh").at(-1)?.ids).toEqual([issue.id]);
    expect(of("poll")).toHaveLength(1);
  });

  it("by a moment, as clocks are corrected all the time, nothing is said", async () => {
    clock.putBack(500);
    await clock.advance(BEAT);
    expect(of("log")).toEqual([]);
  });
});

/** The loop looks at least this often. */
const BEAT = 15_000;

it("operator commands are refused before the claims of an earlier daemon are known", () => {
  expect(operate(null, { kind: "drain" })).toMatchObject({ accepted: false, code: "daemon_starting" });
});
