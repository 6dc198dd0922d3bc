/** Figures by day as columns of charts: every day of the span has one, also a day on which nothing was run. */
import type { Days, Usage } from "./data.ts";

export interface Series {
  readonly name: string;
  /** Of the style sheet: `--chart-<colour>`. */
  readonly colour: "blue" | "teal" | "green" | "red" | "amber" | "grey";
  readonly values: readonly number[];
}

const DAY_MS = 86_400_000;

/** UTC days as `2026-12-01`, the last one that of `now`. */
export function daysUpTo(now: number, count: number): readonly string[] {
  return Array.from({ length: count }, (_, index) => {
    return new Date(now - (count - 1 - index) * DAY_MS).toISOString().slice(0, 10);
  });
}

/** `1 Dec` of `2026-12-01`. */
export function dayLabel(day: string): string {
  return new Date(`${day}T00:00:00Z`).toLocaleDateString("en-GB", { day: "numeric", month: "short", timeZone: "UTC" });
}

/** Tokens by what they cost: cached input is cheap, output is dear. */
export function tokenSeries(days: readonly string[], usage: Usage): readonly Series[] {
  const rows = new Map(usage.rows.map((row) => [row.key, row]));
  const column = (value: (row: Usage["rows"][number]) => number): readonly number[] =>
    days.map((day) => {
      const row = rows.get(day);
      return row === undefined ? 0 : value(row);
    });
  return [
    { name: "cached input", colour: "grey", values: column((row) => row.cached_input_tokens) },
    { name: "uncached input", colour: "blue", values: column((row) => row.input_tokens - row.cached_input_tokens) },
    { name: "output", colour: "teal", values: column((row) => row.output_tokens) },
  ];
}

/** Null where no day has a price. */
export function costSeries(days: readonly string[], usage: Usage): readonly Series[] | null {
  if (usage.rows.every(({ usd }) => usd === null)) return null;
  const rows = new Map(usage.rows.map(({ key, usd }) => [key, usd ?? 0]));
  return [{ name: "dollars", colour: "blue", values: days.map((day) => rows.get(day) ?? 0) }];
}

const OUTCOMES: readonly (readonly [string, Series["colour"], readonly string[]])[] = [
  ["succeeded", "green", ["succeeded"]],
  ["needs input", "amber", ["needs_input"]],
  ["cancelled", "grey", ["cancelled"]],
  ["failed", "red", ["failed", "stalled", "timed_out"]],
];

/** How runs ended; failures of every kind are one colour. */
export function outcomeSeries(days: readonly string[], told: Days): readonly Series[] {
  const rows = new Map(told.map((row) => [row.day, row.outcomes]));
  return OUTCOMES.map(([name, colour, kinds]) => ({
    name,
    colour,
    values: days.map((day) => kinds.reduce((sum, kind) => sum + (rows.get(day)?.[kind] ?? 0), 0)),
  }));
}

/** Minutes that runs took. */
export function durationSeries(days: readonly string[], told: Days): readonly Series[] {
  const rows = new Map(told.map((row) => [row.day, row.seconds]));
  const column = (name: "median" | "p90"): readonly number[] => days.map((day) => (rows.get(day)?.[name] ?? 0) / 60);
  return [
    { name: "half of the runs within", colour: "blue", values: column("median") },
    { name: "nine of ten within", colour: "teal", values: column("p90") },
  ];
}

/** Each series on top of those before it, as bars are drawn. */
export function stacked(series: readonly Series[]): readonly (readonly number[])[] {
  const sums: number[][] = [];
  for (const { values } of series) {
    const below = sums.at(-1);
    sums.push(values.map((value, index) => value + (below?.[index] ?? 0)));
  }
  return sums;
}
