import { describe, expect, it } from "vitest";

import { ManualClock } from "../../../test/support/manual-clock.ts";
import { isAppError } from "../../domain/errors.ts";
import type { Lane } from "./budget.ts";
import { Budget } from "./budget.ts";

interface Left {
  readonly requests?: number;
  readonly complexity?: number;
}

function headersOf({ requests = 2_500, complexity = 3_000_000 }: Left, more: Record<string, string> = {}): Headers {
  return new Headers({
    "x-ratelimit-requests-limit": "2500",
    "x-ratelimit-requests-remaining": String(requests),
    "x-ratelimit-requests-reset": "1767229200000",
    "x-ratelimit-complexity-limit": "3000000",
    "x-ratelimit-complexity-remaining": String(complexity),
    ...more,
  });
}

function setUp(left: Left): { clock: ManualClock; budget: Budget; opensIn: (lane: Lane) => number | null } {
  const clock = new ManualClock();
  const budget = new Budget(clock);
  budget.learn(headersOf(left), "poll");
  const opensIn = (lane: Lane): number | null => {
    try {
      budget.admit(lane);
      return null;
    } catch (error) {
      if (!isAppError(error, "tracker_rate_limited")) throw error;
      return Number(error.data["resetAt"]) - clock.now();
    }
  };
  return { clock, budget, opensIn };
}

describe("Linear's budget", () => {
  it("lets everything pass until it has heard of limits", () => {
    const budget = new Budget(new ManualClock());
    for (const lane of ["refresh", "poll", "tool_change", "tool_read"] as const) budget.admit(lane);
    expect(budget.reading()).toEqual({ requests: null, complexity: null, throttled_until: null, sent: 4, points: 0 });
  });

  it.each([
    ["requests", { requests: 624 }],
    ["points", { complexity: 749_999 }],
  ])("refuses an agent's reads first when %s run low, then its changes, last the daemon's own", (_what, left) => {
    const { opensIn } = setUp(left);
    expect(opensIn("tool_read")).not.toBeNull();
    expect([opensIn("poll"), opensIn("poll"), opensIn("tool_change"), opensIn("refresh")]).toEqual([
      null,
      null,
      null,
      null,
    ]);
  });

  it("refuses an agent's changes below a twentieth, and polls below a fiftieth", () => {
    expect(setUp({ requests: 124 }).opensIn("tool_change")).not.toBeNull();
    expect(setUp({ requests: 124 }).opensIn("poll")).toBeNull();
    expect(setUp({ requests: 49 }).opensIn("poll")).not.toBeNull();
    expect(setUp({ requests: 0 }).opensIn("refresh")).toBeNull();
  });

  it("says when the bucket will have refilled far enough, and then lets pass", async () => {
    const { clock, opensIn } = setUp({ requests: 600 });
    // 25 requests at 2,500 an hour.
    expect(opensIn("tool_read")).toBe(36_000);
    await clock.advance(35_999);
    expect(opensIn("tool_read")).not.toBeNull();
    await clock.advance(1_000);
    expect(opensIn("tool_read")).toBeNull();
  });

  it.each([
    [600, 0],
    [499, 60_000],
    [249, 120_000],
    [124, 300_000],
  ])("spaces polls out as it empties: %i requests left, %i ms apart", async (requests, spacingMs) => {
    const { clock, budget, opensIn } = setUp({ requests });
    expect(opensIn("poll")).toBeNull();
    expect(opensIn("poll")).toBe(spacingMs === 0 ? null : spacingMs);
    await clock.advance(spacingMs);
    budget.learn(headersOf({ requests }), "poll");
    expect(opensIn("poll")).toBeNull();
  });

  it("counts what was sent and what it cost, and shows the buckets as they have refilled", async () => {
    const { clock, budget } = setUp({ requests: 100 });
    budget.admit("refresh");
    budget.learn(headersOf({ requests: 99 }, { "x-complexity": "1616" }), "refresh");
    await clock.advance(360_000);
    expect(budget.reading()).toEqual({
      requests: { limit: 2_500, remaining: 349, reset_at: "2026-01-01T01:00:00.000Z" },
      complexity: { limit: 3_000_000, remaining: 3_000_000, reset_at: null },
      throttled_until: null,
      sent: 1,
      points: 1_616,
    });
  });

  it("keeps its last reading when an answer carries no headers, or senseless ones", () => {
    const { budget } = setUp({ requests: 100 });
    budget.learn(new Headers(), "poll");
    const senseless = { "x-ratelimit-requests-remaining": "many", "x-ratelimit-complexity-limit": "0" };
    budget.learn(headersOf({}, senseless), "poll");
    expect(budget.reading().requests?.remaining).toBe(100);
  });

  it("never shortens a pause by a later refusal that knows less", async () => {
    const { clock, budget, opensIn } = setUp({});
    const far = String(clock.now() + 600_000);
    const empty = new Headers({ "x-ratelimit-requests-remaining": "0", "x-ratelimit-requests-reset": far });
    budget.throttle(empty, "poll");
    budget.throttle(new Headers(), "tool_read");
    expect(opensIn("refresh")).toBe(600_000);
    expect(budget.reading().throttled_until).toBe("2026-01-01T00:10:00.000Z");
    await clock.advance(600_000);
    expect(opensIn("refresh")).toBeNull();
    expect(budget.reading().throttled_until).toBeNull();
  });

  it("lets only a quarter of what flows back go into agents' changes while their reads must wait", async () => {
    const { clock, budget, opensIn } = setUp({ requests: 600 });
    expect(opensIn("tool_change")).toBeNull();
    // 2,500 requests an hour flow back, so a change every 5.76 s is a quarter.
    expect(opensIn("tool_change")).toBe(5_760);
    await clock.advance(5_760);
    expect(opensIn("tool_change")).toBeNull();
    // A dear one pays for longer: 10,000 of the 750,000 points that are a quarter of an hour's.
    budget.learn(headersOf({ requests: 600 }, { "x-complexity": "10000" }), "tool_change");
    expect(opensIn("tool_change")).toBe(48_000);
    expect([opensIn("poll"), opensIn("refresh")]).toEqual([null, null]);
  });

  it("doesn't space changes out while there is plenty", () => {
    const { opensIn } = setUp({ requests: 2_000 });
    for (let n = 0; n < 100; n += 1) expect(opensIn("tool_change")).toBeNull();
  });

  it("holds back only agents when they have used up what Linear counts for one root field", async () => {
    const { clock, budget, opensIn } = setUp({});
    const reset = String(clock.now() + 30_000);
    const searches = new Headers({
      "x-ratelimit-endpoint-requests-remaining": "0",
      "x-ratelimit-endpoint-requests-reset": reset,
      "x-ratelimit-requests-remaining": "2000",
    });
    budget.throttle(searches, "tool_read");
    expect([opensIn("tool_read"), opensIn("tool_change")]).toEqual([30_000, 30_000]);
    expect([opensIn("poll"), opensIn("refresh")]).toEqual([null, null]);
    expect(budget.reading().throttled_until).toBeNull();
    await clock.advance(30_000);
    expect(opensIn("tool_read")).toBeNull();
    // The daemon's own reads that meet such a counter wait, all of them.
    budget.throttle(new Headers({ "x-ratelimit-endpoint-requests-remaining": "0" }), "poll");
    expect(opensIn("refresh")).toBe(60_000);
  });

  it("counts requests that are under way, so that many at once don't share the last one", () => {
    const { opensIn } = setUp({ requests: 628 });
    expect([1, 2, 3, 4].map(() => opensIn("tool_read"))).toEqual([null, null, null, null]);
    expect(opensIn("tool_read")).not.toBeNull();
  });
});
