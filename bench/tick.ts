/** What a tick decides with thousands of tickets: the order of the candidates, the caps, and what became of the claimed ones. */
import { makeIssue, makeSettings } from "../test/support/issues.ts";
import { SchedulerDriver } from "../test/support/scheduler.ts";
import type { Bench, BenchRow } from "./bench.ts";
import { loadNote, median, rounded } from "./figures.ts";

const SIZES = [1000, 10_000];
const REPEATS = 9;
const SLOTS = 50;

function shuffled(count: number): ReturnType<typeof makeIssue>[] {
  const issues = Array.from({ length: count }, (_, n) => {
    const place = (n * 7919) % count;
    const created = new Date(Date.UTC(2026, 0, 1) + place * 1000).toISOString();
    return makeIssue(`T-${place}`, { priority: (n % 4) + 1, created_at: created });
  });
  return issues;
}

function measure(count: number): BenchRow {
  const driver = new SchedulerDriver(makeSettings({ agent: { maxConcurrentAgents: SLOTS } }));
  driver.boot();
  const times: number[] = [];
  for (let n = 0; n < REPEATS; n += 1) {
    driver.now += 60_000;
    // Fresh objects, as from a tracker.
    const candidates = shuffled(count);
    const begun = performance.now();
    driver.tick(candidates);
    if (driver.effect("refresh") !== undefined) driver.answerRefresh(candidates);
    times.push(performance.now() - begun);
  }
  return {
    issues: count,
    first_ms: rounded(times[0] ?? 0, 1),
    median_ms: rounded(median(times), 1),
    longest_ms: rounded(Math.max(...times), 1),
    running: [...driver.state.claims.values()].filter((claim) => claim.kind === "running").length,
  };
}

/** Registered in main.ts. */
export const tick: Bench = {
  name: "tick",
  about: "reconcile and sort with thousands of issues",
  run: () =>
    Promise.resolve({
      rows: SIZES.map(measure),
      notes: [
        `One poll's answer, invariants checked; ${REPEATS} times with fresh issues in a shuffled order.`,
        loadNote(),
      ],
    }),
};
