/** What an hour of polling costs, measured by the local Linear, and what happens when the budget runs low. */
import { afterEach, describe, expect, it } from "vitest";

import { ACTIVE_STATES, runLinearHour, startLinearDay, TICK_MS } from "../../../test/support/linear-hour.ts";
import type { LinearDay } from "../../../test/support/linear-hour.ts";
import type { LinearBench } from "../../../test/support/linear-tracker.ts";
import type { ManualClock } from "../../../test/support/manual-clock.ts";
import { isAppError } from "../../domain/errors.ts";
import type { IssueId } from "../../domain/ids.ts";

const STATES = ACTIVE_STATES;

let day: LinearDay;
let clock: ManualClock;
let bench: LinearBench;
afterEach(() => bench.dispose());

async function setUp(issues: number): Promise<readonly IssueId[]> {
  day = await startLinearDay(issues);
  ({ clock, bench } = day);
  return day.running;
}

describe("an hour with ten running agents", () => {
  it.each([10, 200])("and %i active issues stays under 200 requests and 350,000 points", async (issues) => {
    await setUp(issues);
    const { requests, points } = await runLinearHour(day);
    expect(requests).toBeLessThan(200);
    expect(points).toBeLessThan(350_000);
  });

  it.each([
    ["reads", "{ issues(first: 50) { nodes { id title } } }"],
    ["changes", 'mutation { issueUpdate(id: "ENG-1", input: { title: "again" }) { success } }'],
  ])("loses no poll and no refresh to one that floods the tool with %s", async (_what, query) => {
    const [id] = await setUp(10);
    const [issue] = await bench.tracker.fetchIssuesByIds(id === undefined ? [] : [id]);
    const [tool] = bench.tracker.tools;
    if (issue === undefined || tool === undefined) expect.fail("no issue or no tool");
    // Little is left, so that it comes to refusals soon, and the rest of the hour shows that all goes on afterwards.
    bench.server.buckets.drain({ requests: 700 });
    let refused = 0;
    let ticks = 0;
    const flood = async (): Promise<void> => {
      ticks += 1;
      for (let n = 0; ticks <= 40 && n < 60; n += 1) {
        const result = await tool.call(query, { issue, signal: new AbortController().signal });
        if (!result.success) refused += 1;
      }
    };
    // A poll that is held back rejects, and with it the hour.
    await runLinearHour(day, flood);
    expect(refused).toBeGreaterThan(1_000);
    expect(bench.server.buckets.left().requests).toBeGreaterThan(500);
  });
});

describe("the figures", () => {
  it("say what is left and what was spent, for the status, and stand once an hour in the log", async () => {
    const running = await setUp(10);
    expect(bench.tracker.usage?.()).toEqual({
      requests: null,
      complexity: null,
      throttled_until: null,
      sent: 0,
      points: 0,
    });
    for (let n = 0; n < 2; n += 1) await bench.tracker.poll?.({ states: STATES, ids: running });
    expect(bench.tracker.usage?.()).toEqual({
      requests: { limit: 2_500, remaining: 2_496, reset_at: expect.stringMatching(/^2026-.*Z$/) },
      complexity: { limit: 3_000_000, remaining: expect.any(Number), reset_at: expect.stringMatching(/^2026-.*Z$/) },
      throttled_until: null,
      sent: 4,
      points: expect.any(Number),
    });
    const budgetLines = (): readonly string[] => {
      return bench.log.lines().filter((line) => line.includes("Linear's hourly budget"));
    };
    const lines = budgetLines();
    expect(lines).toHaveLength(1);
    expect(lines[0]).toContain('"limit":2500');
    await clock.advance(3_599_999);
    await bench.tracker.poll?.({ states: STATES, ids: running });
    expect(budgetLines()).toHaveLength(1);
    await clock.advance(1);
    await bench.tracker.poll?.({ states: STATES, ids: running });
    expect(budgetLines()).toHaveLength(2);
    expect(budgetLines()[1]).toContain('"sent":7');
  });
});

describe("a budget that runs low", () => {
  it("spaces polls out before the bucket is empty, and lets them come closer as it refills", async () => {
    const running = await setUp(10);
    const { server, tracker } = bench;
    server.buckets.drain({ requests: 230 });
    await tracker.fetchIssuesByIds(running);
    let answered = 0;
    let waits = 0;
    for (let tick = 0; tick < 20; tick += 1) {
      const outcome = await tracker.poll?.({ states: STATES, ids: running }).catch((error: unknown) => error);
      if (isAppError(outcome, "tracker_rate_limited")) waits += 1;
      else answered += 1;
      await clock.advance(TICK_MS);
    }
    // 230 of 2,500 are left and 21 come back each tick: two minutes apart at first, one minute later.
    expect(answered + waits).toBe(20);
    expect(answered).toBeGreaterThan(5);
    expect(answered).toBeLessThan(14);
    expect(server.buckets.left().requests).toBeGreaterThan(500);
    await clock.advance(TICK_MS);
    await expect(tracker.poll?.({ states: STATES, ids: running })).resolves.toBeDefined();
    await clock.advance(1);
    await expect(tracker.poll?.({ states: STATES, ids: running })).resolves.toBeDefined();
  });

  it("still refreshes what runs, by id", async () => {
    const running = await setUp(10);
    bench.server.buckets.drain({ requests: 5 });
    expect(await bench.tracker.fetchIssuesByIds(running)).toHaveLength(10);
    await expect(bench.tracker.poll?.({ states: STATES, ids: running })).rejects.toMatchObject({
      code: "tracker_rate_limited",
      data: { resetAt: expect.any(Number) },
    });
    expect(await bench.tracker.fetchIssuesByIds(running)).toHaveLength(10);
  });
});
