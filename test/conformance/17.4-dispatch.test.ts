/** Section 17.4: which tickets start, and what a new sight of a ticket does to its run. */
import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import type { Issue } from "../../src/domain/issue.ts";
import { systemClock } from "../../src/lib/clock.ts";
import { createTracker } from "../../src/tracker/registry.ts";
import { captureLog } from "../support/captured-log.ts";
import { makeIssue, makeSettings } from "../support/issues.ts";
import { driverIn, SchedulerDriver } from "../support/scheduler.ts";
import { makeTempDir } from "../support/temp-dir.ts";

const issue = makeIssue("ENG-1");
const DOWN = { code: "tracker_status", message: "HTTP 500", resetAt: null } as const;

function running(driver: SchedulerDriver): readonly string[] {
  return [...driver.state.claims.values()]
    .filter((claim) => claim.kind === "running")
    .map((claim) => claim.issue.identifier);
}

/** The candidates of a real board on which the Todo ticket A-2 waits for A-1. */
async function candidatesBehind(blockerState: string): Promise<readonly Issue[]> {
  await using dir = await makeTempDir();
  const ticket = (state: string, more: string): string => `---\ntitle: T\nstate: ${state}\n${more}---\n`;
  await writeFile(join(dir.path, "A-1.md"), ticket(blockerState, ""));
  await writeFile(join(dir.path, "A-2.md"), ticket("Todo", "blocked_by: [A-1]\n"));
  const settings = makeSettings({ tracker: { provider: { path: dir.path } } });
  const tracker = await createTracker({ settings, clock: systemClock, log: captureLog().log });
  try {
    return await tracker.fetchIssuesByStates(settings.tracker.activeStates);
  } finally {
    await tracker.close();
  }
}

describe("17.4 Dispatch, reconciliation and retry: dispatch", () => {
  it("dispatch order is priority, then the oldest, then the identifier", () => {
    const driver = new SchedulerDriver();
    driver.boot();
    driver.tick([
      makeIssue("E", { priority: null }),
      makeIssue("D", { priority: 2, created_at: "2026-01-02T00:00:00Z" }),
      makeIssue("C", { priority: 2 }),
      makeIssue("B", { priority: 2 }),
      makeIssue("A", { priority: 1, created_at: "2026-01-09T00:00:00Z" }),
    ]);
    const order = driver.effect("refresh")?.ids.map((id) => driver.state.claims.get(id)?.issue.identifier);
    expect(order).toEqual(["A", "B", "C", "D", "E"]);
  });

  it("a Todo issue with an open blocker is not eligible", async () => {
    const driver = new SchedulerDriver();
    const candidates = await candidatesBehind("In Progress");
    expect(candidates.map((candidate) => candidate.identifier)).toEqual(["A-1", "A-2"]);
    driver.dispatch(...candidates);
    expect(running(driver)).toEqual(["A-1"]);
  });

  it("a Todo issue whose blockers are terminal is eligible", async () => {
    const driver = new SchedulerDriver();
    driver.dispatch(...(await candidatesBehind("Done")));
    expect(running(driver)).toEqual(["A-2"]);
  });

  it("the first tick is at once", () => {
    const driver = new SchedulerDriver();
    driver.boot();
    expect(driver.effect("poll")).toMatchObject({ states: ["Todo", "In Progress"] });
    driver.tick([]);
    expect(driver.wakeAt).toBe(driver.now + 30_000);
  });

  it("an issue is looked at once more right before it starts", () => {
    const driver = new SchedulerDriver();
    driver.boot();
    driver.tick([issue]);
    expect(driver.effect("start_run")).toBeUndefined();
    driver.answerRefresh([{ ...issue, state: "Done" }]);
    expect(running(driver)).toEqual([]);
    expect(driver.effect("start_run")).toBeUndefined();
  });

  it("caps by state hold", () => {
    const driver = new SchedulerDriver(makeSettings({ agent: { maxConcurrentAgentsByState: { todo: 1 } } }));
    driver.dispatch(makeIssue("A"), makeIssue("B", { state: "TODO" }), makeIssue("C", { state: "In Progress" }));
    expect(running(driver)).toEqual(["A", "C"]);
  });

  it("a broken workflow stops dispatch, never reconciliation", () => {
    const driver = new SchedulerDriver();
    driver.dispatch(issue);
    driver.send({ kind: "workflow_broken", message: "line 3" });
    driver.tick([issue, makeIssue("ENG-2")]);
    expect(running(driver)).toEqual(["ENG-1"]);
    driver.tick([], [{ ...issue, state: "Human Review" }]);
    expect(driver.effect("stop_run")).toMatchObject({ why: "unroutable" });
  });

  it("a poison ticket never stops the others", () => {
    const driver = new SchedulerDriver(makeSettings({ agent: { maxConcurrentAgents: 1 } }));
    const [poison, good] = [makeIssue("A-poison"), makeIssue("B-good")];
    driver.dispatch(poison, good);
    driver.endRun(poison, {
      kind: "failed",
      class: "template",
      message: "unknown variable",
      retryable: true,
      freshThread: false,
      resetsAt: null,
    });
    driver.answerRefresh([good]);
    expect(running(driver)).toEqual(["B-good"]);
  });
});

describe("17.4 Dispatch, reconciliation and retry: reconciliation", () => {
  it("an active refresh updates the running entry", () => {
    const driver = driverIn(issue, "running");
    driver.tick([{ ...issue, state: "In Progress", title: "New title" }]);
    expect(driver.claimOf("running", issue).issue).toMatchObject({ state: "In Progress", title: "New title" });
    expect(driver.effect("stop_run")).toBeUndefined();
  });

  it("a state that is not active stops the run and keeps the workspace", () => {
    const driver = driverIn(issue, "running");
    const parked = { ...issue, state: "Human Review" };
    driver.tick([], [parked]);
    expect(driver.effect("stop_run")).toMatchObject({ why: "unroutable" });
    driver.endRun(issue, { kind: "cancelled", by: "tracker", message: "" }, { issue: parked });
    expect(driver.claim(issue)).toBeUndefined();
    expect(driver.effect("clean")).toBeUndefined();
    expect(driver.state.workspaces.has(issue.id)).toBe(true);
  });

  it("a terminal state stops the run and removes the workspace", () => {
    const driver = driverIn(issue, "running");
    const done = { ...issue, state: "Done" };
    driver.tick([], [done]);
    driver.advance(driver.settings.agent.finishGraceMs);
    expect(driver.effect("stop_run")).toMatchObject({ why: "terminal" });
    driver.endRun(issue, { kind: "cancelled", by: "tracker", message: "" }, { issue: done });
    expect(driver.effect("clean")?.record.path).toBe("/w/ENG-1");
    driver.send({ kind: "cleaned", issueId: issue.id });
    expect(driver.state.claims.size + driver.state.workspaces.size).toBe(0);
  });

  it("reconciling nothing does nothing", () => {
    const driver = new SchedulerDriver();
    driver.boot();
    driver.tick([]);
    expect(driver.effects).toEqual([]);
    expect(driver.change).toBeNull();
  });

  it("a failed read changes nothing", () => {
    const driver = driverIn(issue, "running");
    driver.advance(30_000);
    const before = driver.claim(issue);
    driver.send({ kind: "poll_failed", poll: driver.effect("poll")?.poll ?? 0, failure: DOWN });
    expect(driver.claim(issue)).toBe(before);
  });

  it("an id that a complete answer lacks stops its run and keeps the workspace", () => {
    const driver = driverIn(issue, "running");
    driver.tick([]);
    expect(driver.effect("stop_run")).toMatchObject({ why: "unroutable" });
    driver.endRun(issue, { kind: "cancelled", by: "tracker", message: "" }, { issue: null });
    expect(driver.claim(issue)).toBeUndefined();
    expect(driver.state.workspaces.has(issue.id)).toBe(true);
  });

  it("required and excluded labels hold for running issues too", () => {
    for (const tracker of [{ requiredLabels: ["agent"] }, { excludedLabels: ["hold"] }]) {
      const driver = new SchedulerDriver(makeSettings({ tracker }));
      const good = { ...issue, labels: ["agent"] };
      driver.dispatch(good);
      expect(running(driver)).toEqual(["ENG-1"]);
      driver.tick([{ ...issue, labels: ["hold"] }]);
      expect(driver.effect("stop_run")).toMatchObject({ why: "unroutable" });
    }
  });
});
