import { describe, expect, it } from "vitest";
import { failed, type RunOutcome } from "../domain/outcome.ts";
import { makeIssue, makeSettings } from "../../test/support/issues.ts";
import { SchedulerDriver } from "../../test/support/scheduler.ts";
import { explain } from "./explain.ts";

const issue = makeIssue("ENG-1");
const question = {
  id: "q1",
  kind: "command",
  summary: "Run rm -rf build?",
  subject: "rm -rf build",
  detail: "{}",
  askedAt: 1,
  deadlineAt: 2,
} as const;

function running(driver = new SchedulerDriver()): SchedulerDriver {
  driver.dispatch(issue);
  return driver;
}

/** Lets the wait pass and starts the ticket again. */
function runAgain(driver: SchedulerDriver): void {
  driver.advance(1_000_000);
  driver.answerRefresh([issue]);
}

describe("a whole run whose ticket is still active", () => {
  it("is continued after one second, as attempt 1, on its thread", () => {
    const driver = running();
    driver.endRun(issue, { kind: "succeeded" });
    expect(driver.claimOf("waiting", issue)).toMatchObject({
      why: "continuation",
      attempt: 1,
      dueAt: driver.now + 1000,
    });
    driver.advance(999);
    expect(driver.effect("refresh")).toBeUndefined();
    driver.advance(1);
    driver.answerRefresh([issue]);
    expect(driver.effect("start_run")).toMatchObject({ attempt: 1, threadId: "thread-1", why: "continuation" });
  });

  it("is blocked when three in a row change neither state, HEAD nor diff", () => {
    const driver = running();
    for (let run = 1; run <= 3; run += 1) {
      driver.endRun(issue, { kind: "succeeded" }, { changed: false });
      if (run < 3) runAgain(driver);
    }
    expect(driver.claimOf("blocked", issue)).toMatchObject({ why: "no_progress", threadId: "thread-1" });
  });

  it("counts over failures in between, and any change starts the count anew", () => {
    const driver = running();
    driver.endRun(issue, { kind: "succeeded" }, { changed: false });
    runAgain(driver);
    driver.endRun(issue, { kind: "succeeded" }, { changed: false });
    runAgain(driver);
    driver.endRun(issue, failed("agent", "boom"), { changed: false });
    expect(driver.claimOf("waiting", issue).idle.runs).toBe(2);
    runAgain(driver);
    driver.endRun(issue, { kind: "succeeded" }, { changed: true });
    expect(driver.claimOf("waiting", issue).idle.runs).toBe(0);
    runAgain(driver);
    const moved = { ...issue, state: "In Progress" };
    driver.endRun(issue, { kind: "succeeded" }, { changed: false, issue: moved });
    expect(driver.claimOf("waiting", issue).idle).toEqual({ runs: 0, state: "in progress" });
  });

  it("is never blocked for it when agent.max_idle_runs is 0", () => {
    const driver = running(new SchedulerDriver(makeSettings({ agent: { maxIdleRuns: 0 } })));
    for (let run = 0; run < 6; run += 1) {
      driver.endRun(issue, { kind: "succeeded" }, { changed: false });
      runAgain(driver);
    }
    expect(driver.claim(issue)?.kind).toBe("running");
  });
});

describe("a failed run", () => {
  it("waits 10 s, 20 s, 40 s and so on up to the cap, with at most 10 % jitter", () => {
    const driver = running();
    const delays: number[] = [];
    for (let run = 0; run < 7; run += 1) {
      driver.endRun(issue, failed("agent", "boom"));
      const claim = driver.claimOf("waiting", issue);
      expect(claim).toMatchObject({ why: "failure", attempt: run + 1, error: "boom" });
      delays.push((claim.dueAt ?? 0) - driver.now);
      runAgain(driver);
    }
    for (const [index, delay] of delays.entries()) {
      const base = Math.min(10_000 * 2 ** index, 300_000);
      expect(delay).toBeGreaterThanOrEqual(base);
      expect(delay).toBeLessThanOrEqual(Math.min(base * 1.1, 300_000));
    }
  });

  it.each<[string, RunOutcome, string]>([
    ["stalled", { kind: "stalled", message: "silent" }, "stalled"],
    ["timed out", { kind: "timed_out", message: "no output" }, "timed_out"],
    ["hook", failed("hook", "before_run failed: exit 1"), "failure"],
  ])("%s: waits with back-off", (_name, outcome, why) => {
    const driver = running();
    driver.endRun(issue, outcome);
    expect(driver.claimOf("waiting", issue)).toMatchObject({ why, attempt: 1 });
  });

  it("that can't be mended by trying again is blocked with its words", () => {
    const driver = running();
    driver.endRun(issue, failed("config_refused", "approvalPolicy: use never", { retryable: false }));
    expect(driver.claimOf("blocked", issue)).toMatchObject({
      why: "not_retryable",
      message: "approvalPolicy: use never",
    });
  });

  it("whose thread is spent starts a fresh one", () => {
    const driver = running();
    driver.endRun(issue, failed("context_overflow", "too long", { freshThread: true }));
    expect(driver.claimOf("waiting", issue).threadId).toBeNull();
  });

  it("with a question is blocked and keeps its thread", () => {
    const driver = running();
    driver.endRun(issue, { kind: "needs_input", question });
    expect(driver.claimOf("blocked", issue)).toMatchObject({ why: "needs_input", question, threadId: "thread-1" });
  });

  it("whose ticket a poll has seen Done since is cleaned, whatever the run saw last", () => {
    const driver = running();
    const workspace = { issueId: issue.id, identifier: "ENG-1", path: "/w/ENG-1", host: "local", createdAt: 1 };
    driver.send({ kind: "run_prepared", runId: driver.runIdOf(issue), workspace });
    driver.tick([], [{ ...issue, state: "Done" }]);
    const result = { outcome: { kind: "succeeded" }, issue, turns: 1, threadId: "thread-1", changed: true } as const;
    driver.send({ kind: "run_ended", runId: driver.runIdOf(issue), result });
    expect(driver.claim(issue)?.kind).toBe("cleaning");
  });

  it("whose ticket is gone is released", () => {
    const driver = running();
    driver.endRun(issue, failed("agent", "boom"), { issue: null });
    expect(driver.claim(issue)).toBeUndefined();
  });
});

describe("a usage limit", () => {
  const limit = (resetsAt: number | null): RunOutcome => failed("usage_limit", "limit reached", { resetsAt });
  const second = makeIssue("ENG-2");

  it("pauses all dispatch until the stated reset, and costs no attempt", () => {
    const driver = running();
    driver.endRun(issue, limit(driver.now + 600_000));
    driver.tick([issue, second]);
    expect(driver.effect("refresh")).toBeUndefined();
    expect(driver.claimOf("waiting", issue)).toMatchObject({ attempt: null, why: "usage_limit" });
  });

  it("then lets one ticket through, and a completed turn of it ends the pause", () => {
    const driver = running();
    const resetsAt = driver.now + 600_000;
    driver.endRun(issue, limit(resetsAt));
    driver.tick([issue, second]);
    driver.now = resetsAt;
    driver.send({ kind: "timer" });
    expect(driver.effect("refresh")?.ids).toEqual([issue.id]);
    driver.answerRefresh([issue]);
    driver.tick([issue, second]);
    expect(driver.effect("refresh")).toBeUndefined();
    driver.send({ kind: "run_turn_completed", runId: driver.runIdOf(issue) });
    expect(driver.state.pauses.size).toBe(0);
    expect(driver.effect("refresh")?.ids).toEqual([second.id]);
  });

  it("whose reset came while the run was ending holds nobody up", () => {
    const driver = running();
    driver.endRun(issue, limit(driver.now - 1));
    expect(driver.effect("refresh")?.ids).toEqual([issue.id]);
  });

  it("without a stated reset waits 15 minutes, then 30, then an hour", () => {
    const driver = running();
    const waits: number[] = [];
    for (let probe = 0; probe < 4; probe += 1) {
      driver.endRun(issue, limit(null));
      const until = driver.state.pauses.get("usage_limit")?.until ?? 0;
      waits.push((until - driver.now) / 60_000);
      driver.now = until;
      driver.send({ kind: "timer" });
      while (driver.effect("refresh") === undefined) driver.tick([issue]);
      driver.answerRefresh([issue]);
    }
    expect(waits).toEqual([15, 30, 60, 60]);
  });

  it("met by ten runs together is one step", () => {
    const others = Array.from({ length: 9 }, (_, index) => makeIssue(`ENG-${index + 10}`));
    const driver = new SchedulerDriver();
    driver.dispatch(issue, ...others);
    for (const each of [issue, ...others]) driver.endRun(each, limit(null));
    expect(driver.state.pauses.get("usage_limit")).toMatchObject({ step: 0, until: driver.now + 900_000 });
  });

  it("whose probe ends without an answer lets the next ticket try", () => {
    const driver = running();
    const resetsAt = driver.now + 600_000;
    driver.endRun(issue, limit(resetsAt));
    driver.tick([issue, second]);
    driver.now = resetsAt;
    driver.send({ kind: "timer" });
    driver.answerRefresh([issue]);
    driver.endRun(issue, failed("hook", "before_run: exit 1"));
    expect(driver.effect("refresh")?.ids).toEqual([second.id]);
  });
});

describe("an agent that isn't logged in", () => {
  it("pauses dispatch, costs no attempt, and is probed after five minutes or on resume", () => {
    const driver = running();
    driver.endRun(issue, failed("auth", "401"));
    expect(driver.claimOf("waiting", issue).attempt).toBeNull();
    driver.tick([issue]);
    expect(driver.effect("refresh")).toBeUndefined();
    driver.send({ kind: "operator", command: { kind: "resume" } });
    expect(driver.effect("refresh")?.ids).toEqual([issue.id]);
  });

  it("pauses dispatch before any ticket has to find out, and says so once", () => {
    const driver = new SchedulerDriver();
    driver.boot();
    const found = { kind: "agent_checked", login: "missing", message: "run `codex login`" } as const;
    const pausedAt = driver.now;
    driver.send(found);
    expect(driver.effects).toMatchObject([{ kind: "log", level: "warn", fields: { reason: "run `codex login`" } }]);
    driver.send(found);
    expect(driver.effects).toEqual([]);
    driver.tick([issue]);
    expect(driver.effect("refresh")).toBeUndefined();
    expect(driver.state.pauses.get("auth")).toMatchObject({ step: 0, until: pausedAt + 300_000, probe: null });
    driver.advance(300_000);
    while (driver.effect("refresh") === undefined) driver.tick([issue]);
    expect(driver.effect("refresh")?.ids).toEqual([issue.id]);
  });

  it("starts nothing before the first look at the agent has ended, whatever it found; polls go on", () => {
    const driver = new SchedulerDriver();
    driver.send({
      kind: "boot",
      durable: { claims: new Map(), workspaces: new Map(), pauses: new Map() },
      agentLook: true,
    });
    expect(driver.effect("poll")).toBeDefined();
    driver.tick([issue]);
    expect(driver.effect("refresh")).toBeUndefined();
    const { gates } = explain({ state: driver.state, settings: driver.settings, now: driver.now, issue });
    expect(gates.filter(({ pass }) => !pass).map(({ gate }) => gate)).toEqual(["agent"]);
    driver.send({ kind: "agent_checked", login: "unknown", message: "no such method" });
    expect(driver.effect("refresh")?.ids).toEqual([issue.id]);
  });

  it("is over as soon as a turn of any ticket completes", () => {
    const driver = running();
    driver.send({ kind: "agent_checked", login: "missing", message: "run `codex login`" });
    expect(driver.state.pauses.has("auth")).toBe(true);
    driver.send({ kind: "run_turn_completed", runId: driver.runIdOf(issue) });
    expect(driver.state.pauses.has("auth")).toBe(false);
  });

  it("that is logged in by the next look is probed at once; a look that can't tell changes nothing", () => {
    const driver = running();
    driver.endRun(issue, failed("auth", "401"));
    driver.send({ kind: "agent_checked", login: "unknown", message: "no such method" });
    expect(driver.effect("refresh")).toBeUndefined();
    driver.send({ kind: "agent_checked", login: "ok", message: "logged in" });
    expect(driver.effect("refresh")?.ids).toEqual([issue.id]);
    expect(driver.state.pauses.has("auth")).toBe(true);
    driver.answerRefresh([issue]);
    driver.send({ kind: "run_turn_completed", runId: driver.runIdOf(issue) });
    expect(driver.state.pauses.has("auth")).toBe(false);
  });
});
