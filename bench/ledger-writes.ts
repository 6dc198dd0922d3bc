/** How many decisions, turns and events the ledger takes a second, beside what a bare sync of the disk costs. */
import { closeSync, fdatasyncSync, mkdtempSync, openSync, rmSync, writeSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { pino } from "pino";
import { runId } from "../src/domain/ids.ts";
import { openLedger } from "../src/ledger/ledger.ts";
import type { Ledger } from "../src/ledger/port.ts";
import { systemClock } from "../src/lib/clock.ts";
import { makeIssue } from "../test/support/issues.ts";
import type { Bench, BenchReport, BenchRow } from "./bench.ts";
import { loadNote, median, rounded } from "./figures.ts";

const REPEATS = 5;
const DECISIONS = 200;
const EVENTS = 20_000;
const SYNCS = 200;
const issue = makeIssue("A-1");

function perSecond(count: number, write: (n: number) => void): number {
  const rates = Array.from({ length: REPEATS }, (_, round) => {
    const begun = performance.now();
    for (let n = 0; n < count; n += 1) write(round * count + n);
    return (1000 * count) / (performance.now() - begun);
  });
  return rounded(median(rates));
}

function startRun(ledger: Ledger, name: string): void {
  const fact = {
    kind: "run_started",
    runId: runId(name),
    issue,
    attempt: null,
    threadId: null,
    at: Date.now(),
  } as const;
  ledger.commit({ claims: new Map(), workspaces: new Map(), pauses: new Map(), facts: [fact] });
}

function writes(ledger: Ledger, file: number): readonly BenchRow[] {
  startRun(ledger, "run");
  const event = { runId: runId("run"), issueId: issue.id, at: 1, event: "command", message: "npm test", item: null };
  const page = Buffer.alloc(4096);
  return [
    {
      write: "a page and a bare sync of the disk",
      per_second: perSecond(SYNCS, () => {
        writeSync(file, page);
        fdatasyncSync(file);
      }),
    },
    {
      write: "a decision, on disk when it returns",
      per_second: perSecond(DECISIONS, (n) => startRun(ledger, `run-${n}`)),
    },
    { write: "an event, in batches", per_second: perSecond(EVENTS, () => ledger.appendEvent(event)) },
  ];
}

function run(): BenchReport {
  const directory = mkdtempSync(join(tmpdir(), "symphony-bench-"));
  const file = openSync(join(directory, "bare"), "w");
  try {
    const ledger = openLedger({
      path: join(directory, "ledger.db"),
      clock: systemClock,
      log: pino({ level: "silent" }),
    });
    const rows = writes(ledger, file);
    ledger.close();
    return { rows, notes: [`Median of ${REPEATS}.`, loadNote()] };
  } finally {
    closeSync(file);
    rmSync(directory, { recursive: true, force: true });
  }
}

/** Registered in main.ts. */
export const ledgerWrites: Bench = {
  name: "ledger-writes",
  about: "decisions and events that the ledger takes a second",
  run: () => Promise.resolve(run()),
};
