import { describe, expect, it } from "vitest";
import { driverIn, SchedulerDriver } from "../../test/support/scheduler.ts";
import { makeIssue } from "../../test/support/issues.ts";
import { failed } from "../domain/outcome.ts";
import { dispatchGate } from "./pauses.ts";

const issue = makeIssue("ENG-1");
const SPENT = "budget.tokens_per_run: 120 of 100 tokens used";
const DAY_SPENT = "budget.tokens_per_day: 120 of 100 tokens used";

/** Spends the day; the answer is when it is over. */
function spendDay(driver: SchedulerDriver): number {
  const until = driver.now + 3_600_000;
  driver.send({ kind: "budget_day_spent", until, message: DAY_SPENT });
  return until;
}

describe("a budget of a run or an issue", () => {
  it("interrupts the run at once and blocks the issue, both with the numbers", () => {
    const driver = driverIn(issue, "running");
    const runId = driver.runIdOf(issue);
    driver.send({ kind: "run_budget", runId, message: SPENT });
    expect(driver.effect("stop_run")).toEqual({ kind: "stop_run", runId, why: "budget" });
    driver.endRun(issue, failed("budget", "a budget was spent", { retryable: false }));
    expect(driver.claimOf("blocked", issue)).toMatchObject({ why: "budget", class: "budget", message: SPENT });
    expect(driver.change?.facts).toMatchObject([{ kind: "run_ended", result: { outcome: { message: SPENT } } }]);
  });

  it("changes nothing for a run that is being stopped already, or is over", () => {
    const driver = driverIn(issue, "running");
    const runId = driver.runIdOf(issue);
    driver.send({ kind: "operator", command: { kind: "stop", issueId: issue.id } });
    driver.send({ kind: "run_budget", runId, message: SPENT });
    expect(driver.effects).toEqual([]);
    driver.endRun(issue, { kind: "cancelled", by: "operator", message: "stopped" });
    driver.send({ kind: "run_budget", runId, message: SPENT });
    expect(driver.claimOf("blocked", issue).why).toBe("operator");
  });

  it("that ends the run before its first turn blocks as well", () => {
    const driver = driverIn(issue, "running");
    driver.endRun(issue, failed("budget", SPENT, { retryable: false }), { turns: 0 });
    expect(driver.claimOf("blocked", issue)).toMatchObject({ why: "budget", message: SPENT });
  });
});

describe("the day's budget", () => {
  it("interrupts what runs, which waits without an attempt and goes on when the day is over", () => {
    const driver = driverIn(issue, "running");
    const until = spendDay(driver);
    expect(driver.effect("stop_run")).toMatchObject({ why: "day_budget" });
    driver.endRun(issue, failed("budget", "the day's budget was spent"));
    expect(driver.claimOf("waiting", issue)).toMatchObject({
      why: "day_budget",
      attempt: null,
      dueAt: null,
      threadId: "thread-1",
      error: DAY_SPENT,
    });
    expect(driver.effect("refresh")).toBeUndefined();
    expect(driver.wakeAt).not.toBeNull();
    driver.advance(until - driver.now - 1);
    expect(driver.effect("refresh")).toBeUndefined();
    driver.advance(1);
    expect(driver.effect("refresh")?.ids).toEqual([issue.id]);
    driver.answerRefresh([issue]);
    expect(driver.effect("start_run")).toMatchObject({ why: "day_budget", threadId: "thread-1", attempt: null });
  });

  it("keeps new tickets from starting, over a restart too, until a raised limit or the next day", () => {
    const driver = driverIn(issue, "none");
    spendDay(driver);
    expect(dispatchGate(driver.state, driver.now)).toBe("closed");
    const again = new SchedulerDriver();
    again.now = driver.now;
    again.send({ kind: "boot", durable: driver.state });
    again.tick([makeIssue("ENG-2")]);
    expect(again.effect("refresh")).toBeUndefined();
    again.send({ kind: "budget_day_renewed" });
    expect(again.effect("refresh")?.ids).toHaveLength(1);
  });

  it("lets a ticket that ends meanwhile be cleaned", () => {
    const driver = driverIn(issue, "running");
    spendDay(driver);
    driver.endRun(issue, failed("budget", "the day's budget was spent"), { issue: { ...issue, state: "Done" } });
    expect(driver.claim(issue)?.kind).toBe("cleaning");
  });
});
