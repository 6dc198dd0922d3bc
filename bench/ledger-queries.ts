/** How long the ledger's pages take over a million event rows. */
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import Database from "better-sqlite3";
import { pino } from "pino";
import { issueId } from "../src/domain/ids.ts";
import { openLedger } from "../src/ledger/ledger.ts";
import { openLedgerReader, type LedgerReader } from "../src/ledger/queries.ts";
import { systemClock } from "../src/lib/clock.ts";
import type { Bench, BenchReport, BenchRow } from "./bench.ts";

const RUNS = 2000;
const ISSUES = 400;
const EVENTS_PER_RUN = 500;
const ITEMS_PER_RUN = 50;
const TURNS_PER_RUN = 5;
const REPEATS = 20;
const HOUR_MS = 3_600_000;

/** Adds rows as the daemon writes them, made by SQLite itself: a million take seconds. */
export function fillLedger(path: string): void {
  const now = Date.now();
  const db = new Database(path);
  db.exec(`
    BEGIN;
    CREATE TEMP TABLE n AS WITH RECURSIVE c(x) AS (SELECT 0 UNION ALL SELECT x + 1 FROM c WHERE x < ${RUNS - 1}) SELECT x FROM c;
    CREATE TEMP TABLE m AS WITH RECURSIVE c(x) AS (SELECT 0 UNION ALL SELECT x + 1 FROM c WHERE x < ${EVENTS_PER_RUN - 1}) SELECT x FROM c;
    INSERT INTO issues SELECT 'id-' || x, 'A-' || x, 'Title', 'Todo', '{}', ${now} + x FROM n WHERE x < ${ISSUES};
    INSERT INTO runs (run_id, issue_id, issue_identifier, outcome, turns, started_at, ended_at)
      SELECT 'run-' || x, 'id-' || (x % ${ISSUES}), 'A-' || (x % ${ISSUES}), iif(x % 5 = 0, 'failed', 'succeeded'), ${TURNS_PER_RUN},
        ${now} - (${RUNS} - x) * ${HOUR_MS}, ${now} - (${RUNS} - x) * ${HOUR_MS} + 900000 FROM n;
    INSERT INTO turns (run_id, turn, intent_id, thread_id, turn_id, status, intended_at, started_at, ended_at)
      SELECT 'run-' || n.x, m.x + 1, 'i', 't-' || n.x, 'u-' || m.x, 'completed', 1, 1, 2 FROM n, m WHERE m.x < ${TURNS_PER_RUN};
    INSERT INTO token_usage (run_id, turn, thread_id, day, issue_id, input, cached_input, output, reasoning)
      SELECT run_id, turn, thread_id, '2026-01-01', 'id-1', 10, 5, 2, 1 FROM turns;
    INSERT INTO event_runs SELECT x + 1, 'run-' || x, 'id-' || (x % ${ISSUES}) FROM n;
    INSERT INTO event_turns SELECT n.x * ${TURNS_PER_RUN} + m.x + 1, 't-' || n.x, 'u-' || m.x FROM n, m WHERE m.x < ${TURNS_PER_RUN};
    INSERT INTO events
      SELECT n.x * ${EVENTS_PER_RUN} + m.x + 1, n.x + 1, ${now}, iif(m.x < ${ITEMS_PER_RUN}, 'message', 'command'), printf('%.80c', 'x'),
        iif(m.x < ${ITEMS_PER_RUN}, n.x * ${TURNS_PER_RUN} + m.x % ${TURNS_PER_RUN} + 1, NULL), iif(m.x < ${ITEMS_PER_RUN}, 'i-' || m.x, NULL),
        iif(m.x < ${ITEMS_PER_RUN}, json_object('text', printf('%.1500c', 'x')), NULL)
      FROM n, m ORDER BY 1;
    COMMIT;`);
  db.close();
}

function measure(query: () => unknown): { readonly median_ms: number; readonly longest_ms: number } {
  const times = Array.from({ length: REPEATS }, () => {
    const begun = performance.now();
    query();
    return performance.now() - begun;
  }).toSorted((a, b) => a - b);
  const rounded = (ms: number | undefined): number => Math.round((ms ?? 0) * 100) / 100;
  return { median_ms: rounded(times[Math.floor(times.length / 2)]), longest_ms: rounded(times.at(-1)) };
}

function pages(reader: LedgerReader): Readonly<Record<string, () => unknown>> {
  return {
    "runs, first page": () => reader.runs({ limit: 50 }),
    "runs, a page in the middle": () => reader.runs({ limit: 50, before: `run-${RUNS / 2}` }),
    "runs of an issue": () => reader.runs({ limit: 50, issue: "A-7" }),
    "runs that failed": () => reader.runs({ limit: 50, outcome: "failed" }),
    "one run": () => reader.run("run-7"),
    "events of a run": () => reader.events({ run: "run-7" }),
    "events of a run after a number": () => reader.events({ run: "run-7", after: 7 * EVENTS_PER_RUN + 100 }),
    "events of an issue": () => reader.events({ issue: "id-7" }),
    "all events after a number": () => reader.events({ after: (RUNS * EVENTS_PER_RUN) / 2 }),
    "recent events of an issue": () => reader.recentEvents(issueId("id-7")),
    questions: () => reader.questions(),
    issues: () => reader.issues(),
    "days, a month": () => reader.days(30),
    "days, a year": () => reader.days(365),
    "usage by issue": () => reader.usage({ by: "issue" }),
    "usage by day": () => reader.usage({ by: "day" }),
  };
}

function run(): BenchReport {
  const directory = mkdtempSync(join(tmpdir(), "symphony-bench-"));
  const path = join(directory, "ledger.db");
  try {
    openLedger({ path, clock: systemClock, log: pino({ level: "silent" }) }).close();
    fillLedger(path);
    const reader = openLedgerReader(path);
    const rows = Object.entries(pages(reader)).map(([query, ask]): BenchRow => ({ query, ...measure(ask) }));
    reader.close();
    return {
      rows,
      notes: [
        `${RUNS * EVENTS_PER_RUN} events and ${RUNS * ITEMS_PER_RUN} items of ${RUNS} runs of ${ISSUES} issues; each query ${REPEATS} times.`,
      ],
    };
  } finally {
    rmSync(directory, { recursive: true, force: true });
  }
}

/** Registered in main.ts. */
export const ledgerQueries: Bench = {
  name: "ledger-queries",
  about: "what runs, events, issues, days and usage cost in a ledger with a million events",
  run: () => Promise.resolve(run()),
};
