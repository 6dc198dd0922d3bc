/** `symphony runs`: what was run, newest first. */
import type { RunJson } from "../ledger/run-list.ts";
import { openLedgerReader } from "../ledger/queries.ts";
import { showCount, showInstant, showSpan } from "./figures.ts";
import { printJson, printLines } from "./output.ts";
import { tableLines, type Column } from "./table.ts";
import { plainLine, textWidth } from "./terminal-text.ts";

export interface RunsOptions {
  /** Path of the ledger. */
  readonly ledger: string;
  readonly json: boolean;
  /** An issue's identifier or id; null = all. */
  readonly issue: string | null;
  /** Null = all as JSON, and one screen of them as a table. */
  readonly limit: number | null;
  /** Errors whole, whatever the width of the terminal. */
  readonly wide: boolean;
}

/** About what a terminal shows at once. */
const TABLE_LIMIT = 40;
const ERROR_WIDTH = 60;

const COLUMNS = [
  { title: "STARTED (UTC)" },
  { title: "ISSUE", maxWidth: 24 },
  { title: "ATTEMPT", align: "right" },
  { title: "OUTCOME" },
  { title: "TURNS", align: "right" },
  { title: "TOKENS", align: "right" },
  { title: "TIME", align: "right" },
  { title: "THREAD", maxWidth: 36 },
  { title: "ERROR", maxWidth: ERROR_WIDTH },
] as const satisfies readonly Column[];
const WIDE_COLUMNS: readonly Column[] = [...COLUMNS.slice(0, -1), { title: "ERROR" }];

/** Prints the runs; answers the exit code. */
export function runs(options: RunsOptions): number {
  const { ledger, json, issue, limit, wide } = options;
  const reader = openLedgerReader(ledger);
  try {
    const wanted = limit ?? (json ? null : TABLE_LIMIT + 1);
    const found = reader.runs({ ...(issue === null ? {} : { issue }), ...(wanted === null ? {} : { limit: wanted }) });
    if (json) printJson(found);
    else printLines(runLines(found, { limit, wide }));
    return 0;
  } finally {
    reader.close();
  }
}

/** The table; without a limit one screen of it, and a line that says so, as of errors that are cut. */
export function runLines(
  found: readonly RunJson[],
  { limit, wide }: Pick<RunsOptions, "limit" | "wide">,
): readonly string[] {
  const shown = limit === null ? found.slice(0, TABLE_LIMIT) : found;
  if (shown.length === 0) return ["No runs yet."];
  const more = shown.length < found.length ? [`The newest ${TABLE_LIMIT} are shown; --limit N shows more.`] : [];
  const isCut = !wide && shown.some(({ error }) => textWidth(plainLine(error ?? "")) > ERROR_WIDTH);
  return [
    ...tableLines(wide ? WIDE_COLUMNS : COLUMNS, shown.map(runRow)),
    ...more,
    ...(isCut ? ["Long errors are cut; --wide shows them whole."] : []),
  ];
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
