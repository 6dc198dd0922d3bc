/** `symphony runs`: what was run, newest first. */
import type { RunJson } from "../ledger/run-list.ts";
import { openLedgerReader } from "../ledger/queries.ts";
import { showCount, showInstant, showSpan } from "./figures.ts";
import { printJson, printLines } from "./output.ts";
import { tableLines, type Column } from "./table.ts";

export interface RunsOptions {
  /** Path of the ledger. */
  readonly ledger: string;
  readonly json: boolean;
  /** An issue's identifier or id; null = all. */
  readonly issue: string | null;
  /** Null = all as JSON, and one screen of them as a table. */
  readonly limit: number | null;
}

/** About what a terminal shows at once. */
const TABLE_LIMIT = 40;
const ERROR_WIDTH = 60;

const COLUMNS: readonly Column[] = [
  { title: "STARTED (UTC)" },
  { title: "ISSUE", maxWidth: 24 },
  { title: "ATTEMPT", align: "right" },
  { title: "OUTCOME" },
  { title: "TURNS", align: "right" },
  { title: "TOKENS", align: "right" },
  { title: "TIME", align: "right" },
  { title: "THREAD", maxWidth: 36 },
  { title: "ERROR", maxWidth: ERROR_WIDTH },
];

/** Prints the runs; answers the exit code. */
export function runs(options: RunsOptions): number {
  const { ledger, json, issue, limit } = options;
  const reader = openLedgerReader(ledger);
  try {
    const wanted = limit ?? (json ? null : TABLE_LIMIT + 1);
    const found = reader.runs({ ...(issue === null ? {} : { issue }), ...(wanted === null ? {} : { limit: wanted }) });
    if (json) printJson(found);
    else printLines(runLines(found, limit));
    return 0;
  } finally {
    reader.close();
  }
}

/** The table; without a limit one screen of it, and a line that says so. */
export function runLines(found: readonly RunJson[], limit: number | null): readonly string[] {
  const shown = limit === null ? found.slice(0, TABLE_LIMIT) : found;
  if (shown.length === 0) return ["No runs yet."];
  const more = shown.length < found.length ? [`The newest ${TABLE_LIMIT} are shown; --limit N shows more.`] : [];
  return [...tableLines(COLUMNS, shown.map(runRow)), ...more];
}

/** The cells of one run. */
function runRow(run: RunJson): readonly string[] {
  // It may go on, or have been cut off with its daemon: the ledger alone can't tell.
  const outcome = run.outcome ?? "not ended";
  const endedAt = run.ended_at === null ? null : Date.parse(run.ended_at);
  return [
    showInstant(run.started_at),
    run.issue_identifier,
    run.attempt === null ? "-" : String(run.attempt),
    run.class === null ? outcome : `${outcome} (${run.class})`,
    showCount(run.turns),
    run.tokens.fresh ? showCount(run.tokens.total) : "-",
    endedAt === null ? "-" : showSpan(endedAt - Date.parse(run.started_at)),
    run.thread_id ?? "-",
    run.error ?? "",
  ];
}
