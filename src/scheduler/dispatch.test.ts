import * as fc from "fast-check";
import { describe, expect, it } from "vitest";
import { failed } from "../domain/outcome.ts";
import type { Issue } from "../domain/issue.ts";
import { makeIssue, makeSettings } from "../../test/support/issues.ts";
import { SchedulerDriver } from "../../test/support/scheduler.ts";
import { retryDelayMs } from "./backoff.ts";
import { waitError } from "./dispatch.ts";
import { compareIssues } from "./order.ts";

const issues = fc
  .array(
    fc.record({
      identifier: fc.string({ minLength: 1, maxLength: 6 }).filter((name) => name.trim() !== ""),
      priority: fc.option(fc.integer({ min: -1, max: 7 })),
      created_at: fc.option(
        fc.constantFrom("2026-01-01T00:00:00Z", "2026-01-02T00:00:00.5Z", "2025-12-31T23:00:00-05:00", "junk"),
      ),
    }),
    { maxLength: 12 },
  )
  .map((rows) => rows.map((row, index) => makeIssue(row.identifier, { ...row, id: makeIssue(`${index}`).id })));

describe("dispatch order", () => {
  it("is priority 1 to 4, then everything else; oldest first, unknown last; then identifier", () => {
    const rows: [string, Partial<Issue>][] = [
      ["a", { priority: 1, created_at: "2026-01-05T00:00:00Z" }],
      ["b", { priority: 2, created_at: "2026-01-01T00:00:00Z" }],
      ["c", { priority: 2, created_at: null }],
      ["d", { priority: 4 }],
      ["d2", { priority: 9, created_at: "2019-01-01T00:00:00Z" }],
      ["e", { priority: 0, created_at: "2020-01-01T00:00:00Z" }],
      ["f", { priority: null, created_at: "2021-01-01T00:00:00Z" }],
      ["g", { priority: 5, created_at: "2022-01-01T00:00:00Z" }],
      ["h", { priority: null, created_at: "2023-01-01T00:00:00Z" }],
      ["i", { priority: 5, created_at: "2024-01-01T00:00:00Z" }],
      ["j", { priority: 9, created_at: "2024-01-01T00:00:00Z" }],
    ];
    const sorted = rows
      .map(([name, fields]) => makeIssue(name, fields))
      .toReversed()
      .toSorted(compareIssues);
    expect(sorted.map((issue) => issue.identifier)).toEqual(["a", "b", "c", "d", "d2", "e", "f", "g", "h", "i", "j"]);
  });

  it("is a total order", () => {
    fc.assert(
      fc.property(issues, (list) => {
        for (const a of list) {
          expect(compareIssues(a, a)).toBe(0);
          for (const b of list) {
            expect(Math.sign(compareIssues(a, b))).toBe(-Math.sign(compareIssues(b, a)) || 0);
            if (a !== b) expect(compareIssues(a, b)).not.toBe(0);
            for (const c of list) {
              const ordered = compareIssues(a, b) <= 0 && compareIssues(b, c) <= 0;
              if (ordered) expect(compareIssues(a, c)).toBeLessThanOrEqual(0);
            }
          }
        }
      }),
      { numRuns: 60 },
    );
  });
});

describe("caps", () => {
  it("holds the global cap, and a freed slot is given at once, without a poll", () => {
    const driver = new SchedulerDriver(makeSettings({ agent: { maxConcurrentAgents: 2 } }));
    const [a, b, c] = [makeIssue("A"), makeIssue("B"), makeIssue("C")];
    driver.dispatch(a, b, c);
    expect([...driver.state.claims.keys()]).toEqual([a.id, b.id]);
    driver.endRun(a, { kind: "succeeded" }, { issue: { ...a, state: "Human Review" } });
    expect(driver.effect("refresh")?.ids).toEqual([c.id]);
  });

  it("holds per-state caps by normalized name, and lets other states pass", () => {
    const driver = new SchedulerDriver(makeSettings({ agent: { maxConcurrentAgentsByState: { todo: 1 } } }));
    const rows = [
      makeIssue("A"),
      makeIssue("B"),
      makeIssue("C", { state: "In Progress" }),
      makeIssue("D", { state: " TODO " }),
    ];
    driver.dispatch(...rows);
    expect([...driver.state.claims.values()].map((claim) => claim.issue.identifier)).toEqual(["A", "C"]);
  });

  it("counts the state that the look before the start found", () => {
    const driver = new SchedulerDriver(makeSettings({ agent: { maxConcurrentAgentsByState: { "in progress": 1 } } }));
    const [a, b] = [makeIssue("A"), makeIssue("B")];
    driver.boot();
    driver.tick([a, b]);
    driver.answerRefresh([
      { ...a, state: "In Progress" },
      { ...b, state: "In Progress" },
    ]);
    expect([...driver.state.claims.keys()]).toEqual([a.id]);
  });

  it("never lets more start than the cap, whatever is asked", () => {
    fc.assert(
      fc.property(issues, fc.integer({ min: 1, max: 5 }), (list, cap) => {
        const driver = new SchedulerDriver(makeSettings({ agent: { maxConcurrentAgents: cap } }));
        driver.dispatch(...list);
        expect(driver.state.claims.size).toBe(Math.min(cap, list.length));
        const best = list.toSorted(compareIssues).slice(0, cap);
        expect(new Set(driver.state.claims.keys())).toEqual(new Set(best.map((issue) => issue.id)));
      }),
      { numRuns: 60 },
    );
  });
});

it("lets tickets start in a state that is called like a property of every object", () => {
  const odd = makeIssue("A", { state: "constructor" });
  const driver = new SchedulerDriver(makeSettings({ tracker: { activeStates: ["constructor"] } }));
  driver.dispatch(odd);
  expect(driver.claimOf("running", odd).issue.state).toBe("constructor");
});

describe("waiting for a slot", () => {
  it("says so, consumes no attempt, arms no timer, and waits first on a tie", () => {
    const driver = new SchedulerDriver(makeSettings({ agent: { maxConcurrentAgents: 2 } }));
    const [a, b] = [makeIssue("A"), makeIssue("B")];
    driver.dispatch(a, b);
    driver.endRun(a, failed("agent", "boom"));
    driver.settings = makeSettings({ agent: { maxConcurrentAgents: 1 } });
    driver.advance(60_000);
    const waiting = driver.claimOf("waiting", a);
    expect(waiting).toMatchObject({ attempt: 1, dueAt: null });
    expect(waitError(driver.state, waiting, driver.now)).toBe("no available orchestrator slots");
    expect(driver.state.polling).not.toBeNull();
    expect(driver.wakeAt).toBe(null);
    const fresh = makeIssue("A2", { priority: null });
    driver.tick([a, b, fresh]);
    driver.endRun(b, { kind: "succeeded" }, { issue: { ...b, state: "Human Review" } });
    expect(driver.effect("refresh")?.ids).toEqual([a.id]);
  });

  it("doesn't forget how the last run ended, and tells the next one", () => {
    const driver = new SchedulerDriver(makeSettings({ agent: { maxConcurrentAgents: 2 } }));
    const [a, b] = [makeIssue("A"), makeIssue("B")];
    driver.dispatch(a, b);
    driver.endRun(a, failed("agent", "boom"));
    driver.settings = makeSettings({ agent: { maxConcurrentAgents: 1 } });
    driver.advance(60_000);
    const waiting = driver.claimOf("waiting", a);
    expect(waitError(driver.state, waiting, driver.now)).toBe("no available orchestrator slots");
    driver.send({ kind: "operator", command: { kind: "pause" } });
    expect(waitError(driver.state, waiting, driver.now)).toBe("boom");
    driver.send({ kind: "operator", command: { kind: "resume" } });
    driver.endRun(b, { kind: "succeeded" }, { issue: { ...b, state: "Human Review" } });
    driver.answerRefresh([a]);
    expect(driver.effect("start_run")).toMatchObject({ why: "failure", error: "boom" });
  });

  it("wakes nobody while no slot is free", () => {
    const driver = new SchedulerDriver(makeSettings({ agent: { maxConcurrentAgents: 21 } }));
    const waiters = Array.from({ length: 20 }, (_, index) => makeIssue(`W${index}`));
    const blocker = makeIssue("Z");
    driver.dispatch(...waiters, blocker);
    for (const waiter of waiters) driver.endRun(waiter, failed("agent", "boom"));
    driver.settings = makeSettings({ agent: { maxConcurrentAgents: 1 } });
    let wakes = 0;
    const end = driver.now + 3_600_000;
    while ((driver.wakeAt ?? end) < end) {
      driver.now = driver.wakeAt ?? end;
      driver.send({ kind: "timer" });
      wakes += 1;
      const poll = driver.effect("poll");
      if (poll !== undefined) {
        driver.send({
          kind: "polled",
          poll: poll.poll,
          candidates: [...waiters, blocker],
          tracked: [...waiters, blocker],
          trackedIds: poll.ids,
        });
        driver.send({ kind: "run_phase", runId: driver.runIdOf(blocker), phase: "between", turn: 1 });
      }
    }
    // One wake a poll, and at most one for each retry that came due before the slot was taken.
    expect(wakes).toBeLessThanOrEqual(3_600_000 / 30_000 + 20);
  });
});

describe("silence", () => {
  const issue = makeIssue("A");
  function inTurn(): SchedulerDriver {
    const driver = new SchedulerDriver();
    driver.dispatch(issue);
    driver.send({ kind: "run_phase", runId: driver.runIdOf(issue), phase: "turn", turn: 1 });
    return driver;
  }

  it("of stall_timeout_ms with nothing open stops the run as stalled, without waiting for a tick", () => {
    const driver = inTurn();
    expect(driver.wakeAt).toBeLessThanOrEqual(driver.now + 300_000);
    driver.advance(299_999);
    expect(driver.effect("stop_run")).toBeUndefined();
    driver.advance(1);
    expect(driver.effect("stop_run")).toMatchObject({ why: "stalled" });
  });

  it("is life while a command is open, up to turn_timeout_ms", () => {
    const driver = inTurn();
    driver.send({ kind: "run_activity", runId: driver.runIdOf(issue), at: driver.now, open: 1 });
    driver.advance(3_599_999);
    expect(driver.effect("stop_run")).toBeUndefined();
    driver.advance(1);
    expect(driver.effect("stop_run")).toMatchObject({ why: "turn_timeout" });
  });

  it("is counted from the last event", () => {
    const driver = inTurn();
    driver.now += 200_000;
    driver.send({ kind: "run_activity", runId: driver.runIdOf(issue), at: driver.now, open: 0 });
    driver.advance(299_999);
    expect(driver.effect("stop_run")).toBeUndefined();
    driver.advance(1);
    expect(driver.effect("stop_run")).toMatchObject({ why: "stalled" });
  });

  it("of an agent that is being started ends nothing before start_timeout_ms, twice: for the greeting and for the thread", () => {
    const driver = new SchedulerDriver(makeSettings({ codex: { stallTimeoutMs: 5000, startTimeoutMs: 60_000 } }));
    driver.dispatch(issue);
    driver.send({ kind: "run_phase", runId: driver.runIdOf(issue), phase: "launching", turn: 0 });
    driver.advance(119_999);
    expect(driver.effect("stop_run")).toBeUndefined();
    driver.advance(1);
    expect(driver.effect("stop_run")).toMatchObject({ why: "stalled" });
  });

  it("never stalls when stall_timeout_ms <= 0", () => {
    const driver = inTurn();
    driver.settings = makeSettings({ codex: { stallTimeoutMs: 0 } });
    driver.advance(3_599_999);
    expect(driver.effect("stop_run")).toBeUndefined();
  });
});

describe("retry delay", () => {
  it("never exceeds the cap nor falls below the base, for any attempt", () => {
    fc.assert(
      fc.property(
        fc.integer({ min: 1, max: 1000 }),
        fc.integer({ min: 0, max: 10_000_000 }),
        fc.double({ min: 0, max: 1, noNaN: true }),
        (attempt, cap, jitter) => {
          const delay = retryDelayMs(attempt, cap, jitter);
          expect(delay).toBeLessThanOrEqual(cap);
          expect(delay).toBeGreaterThanOrEqual(Math.min(10_000 * 2 ** (attempt - 1), cap));
        },
      ),
    );
  });
});
