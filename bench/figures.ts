/** Medians, percentiles and rounding of measured figures. */
import { loadavg } from "node:os";

/** The value below which `share` (0 to 1) of the values lie; 0 of none. */
export function percentile(values: readonly number[], share: number): number {
  const sorted = values.toSorted((a, b) => a - b);
  return sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * share))] ?? 0;
}

export function median(values: readonly number[]): number {
  return percentile(values, 0.5);
}

/** With that many decimals. */
export function rounded(value: number, decimals = 0): number {
  const scale = 10 ** decimals;
  return Math.round(value * scale) / scale;
}

/** What else the machine had to do: no wall time can be judged without it. */
export function loadNote(): string {
  return `The machine's load in the last minute was ${(loadavg()[0] ?? 0).toFixed(1)}; figures in time grow with it, CPU time and ratios hardly.`;
}
