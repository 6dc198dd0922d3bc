/** Section 17.4: what becomes of a ticket when its run has ended. */
import { describe, expect, it } from "vitest";
import { failed } from "../../src/domain/outcome.ts";
import { retryRow } from "../../src/orchestrator/snapshot.ts";
import { waitError } from "../../src/scheduler/dispatch.ts";
import { makeIssue, makeSettings } from "../support/issues.ts";
import { driverIn, SchedulerDriver } from "../support/scheduler.ts";

const issue = makeIssue("ENG-1");

/** The waits after so many failures in a row, in ms. */
function waitsOf(failures: number, capMs: number): readonly number[] {
  const driver = new SchedulerDriver(makeSettings({ agent: { maxRetryBackoffMs: capMs } }));
  driver.dispatch(issue);
  return Array.from({ length: failures }, () => {
    driver.endRun(issue, failed("agent", "boom"));
    const wait = (driver.claimOf("waiting", issue).dueAt ?? 0) - driver.now;
    driver.advance(wait);
    driver.answerRefresh([issue]);
    return wait;
  });
}

describe("17.4 Dispatch, reconciliation and retry: retry", () => {
  it("a run that ends well is continued after a second as attempt 1", () => {
    const driver = driverIn(issue, "running");
    driver.endRun(issue, { kind: "succeeded" });
    expect(driver.claimOf("waiting", issue)).toMatchObject({ attempt: 1, dueAt: driver.now + 1000 });
    driver.advance(1000);
    driver.answerRefresh([issue]);
    expect(driver.effect("start_run")).toMatchObject({ attempt: 1 });
  });

  it("a run that fails is retried after 10 s, 20 s, 40 s", () => {
    for (const [index, wait] of waitsOf(3, 300_000).entries()) {
      const base = 10_000 * 2 ** index;
      expect(wait).toBeGreaterThanOrEqual(base);
      expect(wait).toBeLessThanOrEqual(base * 1.1);
    }
  });

  it("the wait never exceeds agent.max_retry_backoff_ms", () => {
    expect(Math.max(...waitsOf(6, 15_000))).toBe(15_000);
  });

  it("a retry entry has attempt, due time, identifier and error", () => {
    const driver = driverIn(issue, "waiting");
    const claim = driver.claimOf("waiting", issue);
    expect(retryRow(claim, driver.state, driver.now)).toMatchObject({
      issue_id: issue.id,
      issue_identifier: "ENG-1",
      issue_url: null,
      attempt: 1,
      due_at: new Date(claim.dueAt ?? 0).toISOString(),
      error: "boom",
    });
  });

  it("a stalled run is stopped and retried", () => {
    const driver = driverIn(issue, "running");
    driver.send({ kind: "run_phase", runId: driver.runIdOf(issue), phase: "turn", turn: 1 });
    driver.advance(driver.settings.codex.stallTimeoutMs);
    expect(driver.effect("stop_run")).toMatchObject({ why: "stalled" });
    driver.endRun(issue, { kind: "stalled", message: "silent" });
    expect(driver.claimOf("waiting", issue)).toMatchObject({ why: "stalled", attempt: 1 });
  });

  it("without a free slot a retry waits with that reason", () => {
    const driver = new SchedulerDriver(makeSettings({ agent: { maxConcurrentAgents: 2 } }));
    driver.dispatch(issue, makeIssue("ENG-2"));
    driver.endRun(issue, failed("agent", "boom"));
    driver.settings = makeSettings({ agent: { maxConcurrentAgents: 1 } });
    driver.advance(60_000);
    const waiting = driver.claimOf("waiting", issue);
    expect(waiting).toMatchObject({ attempt: 1, dueAt: null });
    expect(waitError(driver.state, waiting, driver.now)).toBe("no available orchestrator slots");
  });

  it("waiting for a slot, a pause or a shutdown costs no attempt", () => {
    const paused = driverIn(issue, "waiting");
    paused.send({ kind: "operator", command: { kind: "pause" } });
    paused.advance(600_000);
    expect(paused.claimOf("waiting", issue).attempt).toBe(1);
    const stopped = driverIn(issue, "running");
    stopped.send({ kind: "shutdown" });
    stopped.endRun(issue, { kind: "cancelled", by: "shutdown", message: "" });
    expect(stopped.claimOf("waiting", issue).attempt).toBeNull();
  });

  it("runs that change nothing are blocked in the end", () => {
    const driver = driverIn(issue, "running");
    for (let run = 1; run <= 3; run += 1) {
      driver.endRun(issue, { kind: "succeeded" }, { changed: false });
      if (run === 3) break;
      driver.advance(1000);
      driver.answerRefresh([issue]);
    }
    expect(driver.claimOf("blocked", issue).why).toBe("no_progress");
  });
});
