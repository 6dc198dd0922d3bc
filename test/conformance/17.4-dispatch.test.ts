/** Section 17.4: which tickets start, and in which order. */
import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import type { Issue } from "../../src/domain/issue.ts";
import { systemClock } from "../../src/lib/clock.ts";
import { createTracker } from "../../src/tracker/registry.ts";
import { captureLog } from "../support/captured-log.ts";
import { makeIssue, makeSettings } from "../support/issues.ts";
import { SchedulerDriver } from "../support/scheduler.ts";
import { makeTempDir } from "../support/temp-dir.ts";

const issue = makeIssue("ENG-1");

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
