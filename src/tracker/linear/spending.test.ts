/** What an hour of polling costs, measured by the local Linear, and what happens when the budget runs low. */
import { afterEach, describe, expect, it } from "vitest";

import { startLinearBench } from "../../../test/support/linear-tracker.ts";
import type { LinearBench } from "../../../test/support/linear-tracker.ts";
import { ManualClock } from "../../../test/support/manual-clock.ts";
import { isAppError } from "../../domain/errors.ts";
import { issueId } from "../../domain/ids.ts";
import type { IssueId } from "../../domain/ids.ts";

const TICK_MS = 30_000;
const TICKS_PER_HOUR = 120;
const STATES = ["Todo", "In Progress"];

let clock: ManualClock;
let bench: LinearBench;
afterEach(() => bench.dispose());

/** A board that has grown over two days, with ten issues at work. */
async function setUp(issues: number): Promise<readonly IssueId[]> {
  clock = new ManualClock();
  bench = await startLinearBench({ clock, server: { now: () => clock.now() } });
  const { board } = bench.server;
  const running: IssueId[] = [];
  for (let n = 0; n < issues; n += 1) {
    const isRunning = n < 10;
    const row = board.createIssue({
      title: `${n}`,
      state: isRunning ? "In Progress" : "Todo",
      labels: [`team ${n % 5}`],
    });
    if (isRunning) running.push(issueId(row.id));
    await clock.advance(172_800_000 / issues);
  }
  return running;
}

/** Ten agents: a turn ends each minute, an issue changes and is dispatched each six minutes. */
async function runHour(running: readonly IssueId[]): Promise<{ requests: number; points: number }> {
  const { server, tracker } = bench;
  for (let tick = 0; tick < TICKS_PER_HOUR; tick += 1) {
    await tracker.poll?.({ states: STATES, ids: running });
    const id = running[tick % running.length] ?? expect.fail("nothing runs");
    if (tick % 2 === 0) await tracker.fetchIssuesByIds([id]);
    if (tick % 12 === 0) {
      server.board.patchIssue(id, { description: `worked on at ${tick}` });
      await tracker.fetchIssuesByIds([id]);
    }
    await clock.advance(TICK_MS);
  }
  return {
    requests: server.requests.length,
    points: server.requests.reduce((sum, request) => sum + request.points, 0),
  };
}

describe("an hour with ten running agents", () => {
  it.each([
    [50, 200, 250_000],
    [200, 240, 150_000],
  ])("and %i active issues stays under %i requests and %i points", async (issues, requests, points) => {
    const running = await setUp(issues);
    const spent = await runHour(running);
    expect(spent.points).toBeLessThan(points);
    expect(spent.requests).toBeLessThan(requests);
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
      requests: { limit: 2_500, remaining: 2_497, reset_at: expect.stringMatching(/^2026-.*Z$/) },
      complexity: { limit: 3_000_000, remaining: expect.any(Number), reset_at: expect.stringMatching(/^2026-.*Z$/) },
      throttled_until: null,
      sent: 3,
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
    expect(budgetLines()[1]).toContain('"sent":6');
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
