/** `symphony usage`: what the work has cost so far, by issue or by day. */
import type { Prices } from "../domain/price.ts";
import { openLedgerReader } from "../ledger/queries.ts";
import type { UsageJson, UsageSums } from "../ledger/usage.ts";
import { showCount, showSpan } from "./figures.ts";
import { printJson, printLines } from "./output.ts";
import { tableLines, type Column } from "./table.ts";

export interface UsageOptions {
  /** Path of the ledger. */
  readonly ledger: string;
  readonly json: boolean;
  readonly by: "issue" | "day";
  /** Of `budget.prices`, by model. */
  readonly prices: Prices;
}

const FIGURES = ["RUNS", "TURNS", "INPUT", "CACHED", "OUTPUT", "REASONING", "TOTAL", "TIME"];

/** Prints the usage; answers the exit code. */
export function usage(options: UsageOptions): number {
  const reader = openLedgerReader(options.ledger);
  try {
    const found = reader.usage({ by: options.by, prices: options.prices });
    if (options.json) printJson(found);
    else printLines(usageLines(found));
    return 0;
  } finally {
    reader.close();
  }
}

/** The table with its total at the end. Prices are shown only where there are any. */
export function usageLines({ by, rows, total }: UsageJson): readonly string[] {
  if (rows.length === 0) return ["No runs yet."];
  const priced = total.usd !== null || rows.some((row) => row.usd !== null && row.total_tokens > 0);
  const titles = priced ? [...FIGURES, "USD"] : FIGURES;
  const columns: readonly Column[] = [
    { title: by === "issue" ? "ISSUE" : "DAY (UTC)", maxWidth: 40 },
    ...titles.map((title): Column => ({ title, align: "right" })),
  ];
  const cells = rows.map((row) => [row.key, ...sums(row, priced)]);
  return tableLines(columns, [...cells, ["total", ...sums(total, priced)]]);
}

function sums(row: UsageSums, priced: boolean): readonly string[] {
  const counts = [
    row.runs,
    row.turns,
    row.input_tokens,
    row.cached_input_tokens,
    row.output_tokens,
    row.reasoning_tokens,
    row.total_tokens,
  ];
  const usd = row.usd === null ? "-" : row.usd.toFixed(2);
  return [...counts.map(showCount), showSpan(row.seconds_running * 1000), ...(priced ? [usd] : [])];
}
