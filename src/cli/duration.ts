/** Spans of time as they are typed: `30d`, `12h`, `2w`. */

const HOUR_MS = 60 * 60 * 1000;
const UNITS_MS: Readonly<Record<string, number>> = { h: HOUR_MS, d: 24 * HOUR_MS, w: 7 * 24 * HOUR_MS };

/** Milliseconds of a whole number of hours, days or weeks, at least one; null for anything else. */
export function parseDuration(text: string): number | null {
  const [, count = "", unit = ""] = /^([1-9]\d{0,4})([hdw])$/.exec(text.trim()) ?? [];
  const unitMs = UNITS_MS[unit];
  return unitMs === undefined ? null : Number(count) * unitMs;
}
