/** The events of a run in order, from pages that were read and the stream that goes on. */
import type { RunEvent } from "./data.ts";

/** More than anyone scrolls through; a long run must not fill the browser. */
const KEPT = 5000;

/** Both lists as one, by sequence, each event once; the same list when there is no news. */
export function mergeEvents(known: readonly RunEvent[], news: readonly RunEvent[]): readonly RunEvent[] {
  const seen = new Set(known.map(({ sequence }) => sequence));
  const fresh = news.filter(({ sequence }) => !seen.has(sequence));
  if (fresh.length === 0) return known;
  return [...known, ...fresh].toSorted((a, b) => a.sequence - b.sequence).slice(-KEPT);
}

/** A plan that was told again stands once, as it is now: where it was told last. */
export function visibleEvents(events: readonly RunEvent[]): readonly RunEvent[] {
  const last = new Map<string, number>();
  for (const { event, run_id, sequence } of events) if (event === "plan") last.set(run_id, sequence);
  return events.filter(({ event, run_id, sequence }) => event !== "plan" || last.get(run_id) === sequence);
}
