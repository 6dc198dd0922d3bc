/** How the runs of each day went: outcomes, and how long they took. */
import type { Connection } from "./database.ts";
import { RUN_OUTCOMES, type RunFilter } from "./run-list.ts";
import { utcDay } from "./tokens.ts";

export interface DayJson {
  /** The UTC day on which the runs began. */
  readonly day: string;
  readonly runs: number;
  /** Runs by outcome; `running` for those without an end. Every outcome is there. */
  readonly outcomes: Readonly<Record<RunFilter, number>>;
  /** Of ended runs; null where none has ended. */
  readonly seconds: DurationsJson | null;
}

export interface DurationsJson {
  readonly median: number;
  /** Nine of ten runs took no longer. */
  readonly p90: number;
  readonly max: number;
}

interface Span {
  readonly outcome: string | null;
  readonly started_at: number;
  readonly ended_at: number | null;
}

const DAY_MS = 24 * 60 * 60 * 1000;

export const DAYS_SQL = "SELECT outcome, started_at, ended_at FROM runs WHERE started_at >= ? ORDER BY started_at";

/** The last `days` UTC days up to `now`, oldest first; a day without runs has no row. */
export function listDays(db: Connection, days: number, now: number): readonly DayJson[] {
  const from = (Math.floor(now / DAY_MS) - days + 1) * DAY_MS;
  const spans = db.prepare<[number], Span>(DAYS_SQL).all(from);
  return [...Map.groupBy(spans, (span) => utcDay(span.started_at))].map(([day, ofDay]) => ({
    day,
    runs: ofDay.length,
    outcomes: countOutcomes(ofDay),
    seconds: durationsOf(ofDay),
  }));
}

function countOutcomes(spans: readonly Span[]): Readonly<Record<RunFilter, number>> {
  const counts: Record<RunFilter, number> = {
    running: 0,
    succeeded: 0,
    failed: 0,
    timed_out: 0,
    stalled: 0,
    cancelled: 0,
    needs_input: 0,
  };
  for (const { outcome } of spans) {
    const name = RUN_OUTCOMES.find((known) => known === (outcome ?? "running"));
    if (name !== undefined) counts[name] += 1;
  }
  return counts;
}

function durationsOf(spans: readonly Span[]): DurationsJson | null {
  const sorted = spans
    .flatMap(({ started_at, ended_at }) => (ended_at === null ? [] : [Math.max(0, ended_at - started_at) / 1000]))
    .toSorted((a, b) => a - b);
  const at = (share: number): number => sorted[Math.max(0, Math.ceil(sorted.length * share) - 1)] ?? 0;
  return sorted.length === 0 ? null : { median: at(0.5), p90: at(0.9), max: at(1) };
}

/** Runs that have ended, by outcome, over the ledger's whole life. */
export interface OutcomeCount {
  readonly outcome: Exclude<RunFilter, "running">;
  readonly runs: number;
}

/** Every outcome is there. */
export function countEnded(db: Connection): readonly OutcomeCount[] {
  const sql = "SELECT outcome, count(*) AS runs FROM runs WHERE ended_at IS NOT NULL GROUP BY outcome";
  const counts = new Map(
    db
      .prepare<[], { outcome: string; runs: number }>(sql)
      .all()
      .map((row) => [row.outcome, row.runs]),
  );
  return RUN_OUTCOMES.flatMap((outcome) =>
    outcome === "running" ? [] : [{ outcome, runs: counts.get(outcome) ?? 0 }],
  );
}
