/** What an hour of polling costs at Linear, beside what the reference implementation of the specification spends. */
import { runLinearHour, startLinearDay } from "../test/support/linear-hour.ts";
import type { Bench, BenchRow } from "./bench.ts";

const ACTIVE_ISSUES = [10, 50, 200];
/** What Linear grants a personal key in an hour (its documentation, September 2026). */
const GRANTED = { requests: 2_500, points: 3_000_000 };

/**
 * The reference's hour, from its queries priced by Linear's published rule: at each of 120 ticks a page of fifty candidates for every
 * fifty active issues and one refresh of the ten running ones, and 90 refreshes of a single issue for the ends of turns and the starts.
 */
const REFERENCE = { page: 11_515, refreshOfTen: 2_291, refreshOfOne: 230, ticks: 120, singles: 90, pageSize: 50 };

function referenceHour(issues: number): { readonly requests: number; readonly points: number } {
  const { page, refreshOfTen, refreshOfOne, ticks, singles, pageSize } = REFERENCE;
  const pages = Math.ceil(issues / pageSize);
  return {
    requests: ticks * (pages + 1) + singles,
    points: ticks * (pages * page + refreshOfTen) + singles * refreshOfOne,
  };
}

function percent(part: number, whole: number): string {
  return `${((100 * part) / whole).toFixed(1)} %`;
}

async function measure(issues: number): Promise<BenchRow> {
  const day = await startLinearDay(issues);
  try {
    const { requests, points } = await runLinearHour(day);
    const reference = referenceHour(issues);
    return {
      active_issues: issues,
      requests,
      points,
      of_requests: percent(requests, GRANTED.requests),
      of_points: percent(points, GRANTED.points),
      reference_requests: reference.requests,
      reference_points: reference.points,
      reference_of_points: percent(reference.points, GRANTED.points),
    };
  } finally {
    await day.bench.dispose();
  }
}

/** Requests and points of an hour with ten running agents. */
export const linearBudget: Bench = {
  name: "linear-budget",
  about: "requests and complexity points that an hour of polling Linear costs",
  async run() {
    const rows: BenchRow[] = [];
    for (const issues of ACTIVE_ISSUES) rows.push(await measure(issues));
    const notes = [
      "One hour of a virtual clock: a poll each 30 s, ten agents, each of which ends a turn six times and starts once.",
      "Counted and priced by the local Linear of test/fakes/linear, which charges by Linear's published rule; shares are of a personal key's " +
        `${GRANTED.requests.toLocaleString("en-US")} requests and ${GRANTED.points.toLocaleString("en-US")} points an hour.`,
      "Agents' own tool calls come on top, the same for both.",
    ];
    return { rows, notes };
  },
};
