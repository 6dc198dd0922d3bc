/** Counts, times and spans as people read them. */

const SECOND_MS = 1000;
const MINUTE_S = 60;
const HOUR_S = 3600;

const grouped = new Intl.NumberFormat("en-US");

/** `12,345`. */
export function showCount(count: number): string {
  return grouped.format(count);
}

/** `840 ms`, `12 s`, `3 min 05 s`, `2 h 07 min`. */
export function showSpan(spanMs: number): string {
  if (spanMs < SECOND_MS) return `${Math.max(0, Math.round(spanMs))} ms`;
  const seconds = Math.round(spanMs / SECOND_MS);
  if (seconds < MINUTE_S) return `${seconds} s`;
  if (seconds < HOUR_S) return `${Math.floor(seconds / MINUTE_S)} min ${twoDigits(seconds % MINUTE_S)} s`;
  return `${Math.floor(seconds / HOUR_S)} h ${twoDigits(Math.floor((seconds % HOUR_S) / MINUTE_S))} min`;
}

function twoDigits(value: number): string {
  return String(value).padStart(2, "0");
}

/** An RFC 3339 instant as `2026-11-30 09:15:00`, in UTC as the ledger's days are; another text as it is. */
export function showInstant(instant: string): string {
  const at = Date.parse(instant);
  return Number.isNaN(at) ? instant : new Date(at).toISOString().slice(0, 19).replace("T", " ");
}
