/** Every day has a column, and figures stand in the column of their own day. */
import { expect, test } from "vitest";
import type { Usage } from "./data.ts";
import { costSeries, dayLabel, daysUpTo, durationSeries, outcomeSeries, stacked, tokenSeries } from "./chart-data.ts";

const NOW = Date.parse("2026-03-01T00:30:00Z");
const DAYS = daysUpTo(NOW, 3);

function usage(rows: readonly object[]): Usage {
  return { by: "day", rows, total: {} } as unknown as Usage;
}

test("the last day is today by UTC, and none is left out at the end of a month", () => {
  expect(DAYS).toEqual(["2026-02-27", "2026-02-28", "2026-03-01"]);
  expect(DAYS.map(dayLabel)).toEqual(["27 Feb", "28 Feb", "1 Mar"]);
});

test("tokens are told by what they cost, and a day without a run is nothing", () => {
  const row = { key: "2026-02-28", input_tokens: 100, cached_input_tokens: 60, output_tokens: 7 };
  const series = tokenSeries(DAYS, usage([row, { ...row, key: "2025-01-01" }]));
  expect(series.map(({ name, values }) => [name, values])).toEqual([
    ["cached input", [0, 60, 0]],
    ["uncached input", [0, 40, 0]],
    ["output", [0, 7, 0]],
  ]);
  expect(stacked(series)).toEqual([
    [0, 60, 0],
    [0, 100, 0],
    [0, 107, 0],
  ]);
});

test("there is no chart of costs where nothing has a price", () => {
  expect(costSeries(DAYS, usage([{ key: "2026-02-28", usd: null }]))).toBeNull();
  expect(costSeries(DAYS, usage([{ key: "2026-02-28", usd: 1.5 }]))?.[0]?.values).toEqual([0, 1.5, 0]);
});

test("failures of every kind are one column, and durations are minutes", () => {
  const told = [
    {
      day: "2026-03-01",
      runs: 4,
      outcomes: { failed: 1, stalled: 2, succeeded: 1 },
      seconds: { median: 60, p90: 90, max: 99 },
    },
  ];
  const failed = outcomeSeries(DAYS, told).find(({ name }) => name === "failed");
  expect(failed?.values).toEqual([0, 0, 3]);
  expect(durationSeries(DAYS, told).map(({ values }) => values)).toEqual([
    [0, 0, 1],
    [0, 0, 1.5],
  ]);
});
