import { describe, expect, it } from "vitest";
import { failed } from "../domain/outcome.ts";
import { makeIssue } from "../../test/support/issues.ts";
import { driverIn, SchedulerDriver } from "../../test/support/scheduler.ts";

const issue = makeIssue("ENG-1");
const done = { ...issue, state: "Done" };
const parked = { ...issue, state: "Human Review" };

describe("a candidate that is eligible", () => {
  it("is looked at once more, then runs with attempt null", () => {
    const driver = new SchedulerDriver();
    driver.boot();
    driver.tick([issue]);
    expect(driver.effect("refresh")?.ids).toEqual([issue.id]);
    expect(driver.change).toBeNull();
    driver.answerRefresh([issue]);
    expect(driver.effect("start_run")).toMatchObject({ issue, attempt: null, threadId: null, why: "dispatch" });
    expect(driver.change?.facts[0]).toMatchObject({ kind: "run_started", issue });
  });

  it("doesn't run when the look finds it changed", () => {
    const driver = new SchedulerDriver();
    driver.boot();
    driver.tick([issue]);
    driver.answerRefresh([parked]);
    expect(driver.claim(issue)).toBeUndefined();
    expect(driver.effect("start_run")).toBeUndefined();
  });

  it("is unclaimed again when the look fails, and comes back with the next poll", () => {
    const driver = new SchedulerDriver();
    driver.boot();
    driver.tick([issue]);
    const refresh = driver.effect("refresh");
    driver.send({
      kind: "refresh_failed",
      check: refresh?.check ?? 0,
      ids: [issue.id],
      failure: { code: "tracker_request", message: "down", resetAt: null },
    });
    expect(driver.claim(issue)).toBeUndefined();
    driver.dispatch(issue);
    expect(driver.claim(issue)?.kind).toBe("running");
  });

  it("ignores an answer to an older look", () => {
    const driver = new SchedulerDriver();
    driver.boot();
    driver.tick([issue]);
    driver.send({ kind: "refreshed", check: -1, ids: [issue.id], issues: [issue] });
    expect(driver.effect("start_run")).toBeUndefined();
  });
});

describe("an issue seen terminal", () => {
  it("none: its known workspace is cleaned", () => {
    const driver = driverIn(issue, "none");
    driver.tick([], [done]);
    expect(driver.effect("clean")?.record.path).toBe("/w/ENG-1");
    expect(driver.claim(issue)?.kind).toBe("cleaning");
  });

  it("running: its turn gets the grace to end by itself, then is interrupted", () => {
    const driver = driverIn(issue, "running");
    driver.tick([], [done]);
    expect(driver.effect("finish_run")).toMatchObject({ why: "terminal" });
    expect(driver.effect("stop_run")).toBeUndefined();
    driver.advance(9_999);
    expect(driver.effect("stop_run")).toBeUndefined();
    driver.advance(1);
    expect(driver.effect("stop_run")).toMatchObject({ why: "terminal" });
    driver.advance(1);
    expect(driver.effect("stop_run")).toBeUndefined();
  });

  it.each(["waiting", "blocked"] as const)("%s: cleaned", (kind) => {
    const driver = driverIn(issue, kind);
    driver.tick([], [done]);
    expect(driver.claim(issue)?.kind).toBe("cleaning");
  });

  it("is released without a clean-up where no workspace is known", () => {
    const driver = new SchedulerDriver();
    driver.dispatch(issue);
    driver.endRun(issue, { kind: "succeeded" }, { issue: done });
    expect(driver.claim(issue)).toBeUndefined();
    expect(driver.effect("clean")).toBeUndefined();
  });
});

describe("an issue inactive, unroutable or absent from a complete answer", () => {
  const sights = { inactive: [parked], unroutable: [{ ...issue, dispatchable: false }], absent: [] };
  it.each(Object.entries(sights))("running, %s: stopped, released, workspace kept", (_name, others) => {
    const driver = driverIn(issue, "running");
    driver.tick([], others);
    expect(driver.effect("stop_run")).toMatchObject({ why: "unroutable" });
    const last = others[0] ?? null;
    driver.endRun(issue, { kind: "cancelled", by: "tracker", message: "" }, { issue: last });
    expect(driver.claim(issue)).toBeUndefined();
    expect(driver.effect("clean")).toBeUndefined();
    expect(driver.state.workspaces.has(issue.id)).toBe(true);
  });

  it.each(["waiting", "blocked"] as const)("%s: released", (kind) => {
    for (const seen of Object.values(sights)) {
      const driver = driverIn(issue, kind);
      driver.tick([], seen);
      expect(driver.claim(issue)).toBeUndefined();
    }
  });

  it("running in the to-do state: a blocker that appeared later stops nothing", () => {
    const driver = driverIn(issue, "running");
    const gated = { ...issue, dispatchable: false, blocked_by: [{ id: "b", identifier: "ENG-0", state: "Todo" }] };
    driver.tick([gated]);
    expect(driver.effect("stop_run")).toBeUndefined();
  });

  it("waiting in the to-do state: a blocker that appeared since holds it back", () => {
    const driver = driverIn(issue, "waiting");
    driver.tick([{ ...issue, dispatchable: false, blocked_by: [{ id: "b", identifier: "ENG-0", state: "Todo" }] }]);
    expect(driver.claim(issue)).toBeUndefined();
  });
});

describe("a read that failed", () => {
  it.each(["running", "waiting", "blocked", "cleaning"] as const)("changes nothing of a %s claim", (kind) => {
    const driver = driverIn(issue, kind);
    const before = driver.claim(issue);
    driver.advance(30_000);
    const poll = driver.effect("poll");
    expect(poll).toBeDefined();
    const after = driver.claim(issue);
    driver.send({
      kind: "poll_failed",
      poll: poll?.poll ?? 0,
      failure: { code: "tracker_status", message: "500", resetAt: null },
    });
    expect(driver.claim(issue)).toBe(after);
    expect(driver.claim(issue)?.kind).toBe(before?.kind);
  });

  it("is asked for less and less, and a good answer ends that", () => {
    const driver = new SchedulerDriver();
    driver.boot();
    const waits: number[] = [];
    for (let failures = 0; failures < 8; failures += 1) {
      const poll = driver.effect("poll");
      driver.send({
        kind: "poll_failed",
        poll: poll?.poll ?? 0,
        failure: { code: "tracker_request", message: "x", resetAt: null },
      });
      waits.push(driver.state.nextPollAt - driver.now);
      driver.now = driver.state.nextPollAt;
      driver.send({ kind: "timer" });
    }
    expect(waits[0]).toBeGreaterThanOrEqual(30_000);
    expect(waits[1]).toBeGreaterThan(waits[0] ?? 0);
    expect(Math.max(...waits)).toBeLessThanOrEqual(300_000);
    driver.tick([]);
    expect(driver.state.nextPollAt - driver.now).toBe(30_000);
    expect(driver.state.tracker).toMatchObject({ failures: 0, lastError: null });
  });

  it("throttled: no read and no dispatch until the stated reset", () => {
    const driver = driverIn(issue, "waiting");
    driver.advance(30_000);
    const poll = driver.effect("poll");
    driver.send({
      kind: "poll_failed",
      poll: poll?.poll ?? 0,
      failure: { code: "tracker_rate_limited", message: "slow down", resetAt: driver.now + 90_000 },
    });
    expect(driver.claim(issue)?.kind).toBe("waiting");
    driver.advance(89_999);
    expect(driver.effect("poll")).toBeUndefined();
    expect(driver.effect("refresh")).toBeUndefined();
    driver.advance(1);
    expect(driver.effect("poll")).toBeDefined();
  });
});

it("an answer to an older poll changes nothing", () => {
  const driver = driverIn(issue, "running");
  driver.advance(30_000);
  const poll = driver.effect("poll")?.poll ?? 0;
  const before = driver.state;
  driver.send({ kind: "polled", poll: poll - 1, candidates: [], tracked: [], trackedIds: [issue.id] });
  expect(driver.state.claims).toBe(before.claims);
  expect(driver.state.polling).toBe(poll);
});

describe("an event of an old run", () => {
  it("changes no claim", () => {
    const driver = driverIn(issue, "running");
    const oldRun = driver.runIdOf(issue);
    driver.endRun(issue, failed("agent", "boom"));
    driver.advance(60_000);
    driver.answerRefresh([issue]);
    const current = driver.claim(issue);
    expect(current).toMatchObject({ kind: "running", attempt: 1 });
    driver.send({ kind: "run_activity", runId: oldRun, at: driver.now + 5, open: 3 });
    driver.send({
      kind: "run_ended",
      runId: oldRun,
      result: { outcome: { kind: "succeeded" }, issue: done, turns: 9, threadId: null, changed: null },
    });
    expect(driver.claim(issue)).toBe(current);
  });
});

describe("a blocked issue", () => {
  it("stays blocked while neither its state nor its labels change", () => {
    const driver = driverIn(issue, "blocked");
    driver.tick([{ ...issue, title: "other title", updated_at: "2026-02-02T00:00:00Z" }]);
    expect(driver.claim(issue)?.kind).toBe("blocked");
  });

  it.each([
    ["state", { state: "In Progress" }],
    ["labels", { labels: ["again"] }],
  ])("goes on with its thread when its %s changed", (_name, change) => {
    const driver = driverIn(issue, "blocked");
    driver.tick([{ ...issue, ...change }]);
    driver.answerRefresh([{ ...issue, ...change }]);
    expect(driver.effect("start_run")).toMatchObject({ threadId: "thread-1", why: "unblocked" });
  });

  it("stays blocked when it turns out that its own agent had moved it before the block", () => {
    const driver = new SchedulerDriver();
    driver.now = Date.parse("2026-03-01T10:00:00Z");
    driver.dispatch(issue);
    // The agent moves the ticket, and a person stops the run before anybody has looked at the ticket again.
    const moved = { ...issue, state: "In Progress", updated_at: "2026-03-01T10:00:05Z" };
    driver.now += 8000;
    driver.operate({ kind: "stop", issueId: issue.id });
    driver.endRun(issue, { kind: "cancelled", by: "operator", message: "" });
    driver.tick([moved]);
    expect(driver.claimOf("blocked", issue)).toMatchObject({ why: "operator", issue: { state: "In Progress" } });
    driver.tick([{ ...issue, updated_at: "2026-03-01T10:02:00Z" }]);
    expect(driver.claim(issue)).toMatchObject({ kind: "waiting", why: "unblocked" });
  });

  it("stays blocked when a poll that was asked before the block shows an older state", () => {
    const driver = new SchedulerDriver();
    driver.now = Date.parse("2026-03-01T10:00:00Z");
    driver.dispatch(issue);
    driver.advance(driver.state.nextPollAt - driver.now);
    expect(driver.effect("poll")).toBeDefined();
    const moved = { ...issue, state: "In Progress", updated_at: new Date(driver.now + 1000).toISOString() };
    driver.now += 2000;
    driver.endRun(issue, failed("config_refused", "no such policy", { retryable: false }), { issue: moved });
    driver.tick([issue]);
    expect(driver.claim(issue)?.kind).toBe("blocked");
    driver.tick([moved]);
    expect(driver.claim(issue)?.kind).toBe("blocked");
  });
});

describe("a clean-up", () => {
  it("forgets the workspace and, the ticket being active again, lets it be dispatched", () => {
    const driver = driverIn(issue, "cleaning");
    driver.tick([issue]);
    expect(driver.claim(issue)?.kind).toBe("cleaning");
    driver.send({ kind: "cleaned", issueId: issue.id });
    expect(driver.state.workspaces.size).toBe(0);
    expect(driver.effect("refresh")?.ids).toEqual([issue.id]);
  });

  it("that failed is tried again at a later tick", () => {
    const driver = driverIn(issue, "cleaning");
    driver.send({ kind: "clean_failed", issueId: issue.id, message: "busy" });
    expect(driver.claim(issue)).toBeUndefined();
    driver.tick([], [done]);
    expect(driver.effect("clean")).toBeDefined();
  });
});
