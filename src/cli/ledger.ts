/** `symphony ledger backup|check|prune`: looking after the ledger, beside a running daemon or without one. */
import { statSync } from "node:fs";
import { resolve } from "node:path";
import { backupLedger, checkLedger, pruneLedger } from "../ledger/maintenance.ts";
import { DETAILS_KEPT_MS } from "../ledger/prune.ts";
import { showCount } from "./figures.ts";
import { printJson, printLines } from "./output.ts";
import { plainLine } from "./terminal-text.ts";

export interface LedgerOptions {
  /** Path of the ledger. */
  readonly ledger: string;
  readonly json: boolean;
}

/** Copies the ledger to a file that must not be there yet; answers the exit code. Throws an AppError, and no file is left then. */
export function ledgerBackup({ ledger, json }: LedgerOptions, file: string): number {
  const backup = resolve(file);
  backupLedger(ledger, backup);
  const { size: bytes } = statSync(backup);
  if (json) printJson({ ledger, backup, bytes });
  else printLines([`Copied ${ledger} to ${backup} (${showCount(bytes)} bytes).`]);
  return 0;
}

/** Reads everything; the exit code is 1 when something is wrong. */
export function ledgerCheck({ ledger, json }: LedgerOptions): number {
  const problems = checkLedger(ledger);
  if (json) printJson({ ledger, ok: problems.length === 0, problems });
  else if (problems.length === 0) printLines([`Nothing is wrong with ${ledger}.`]);
  else printLines([`${ledger} is damaged:`, ...problems.map((problem) => `  ${plainLine(problem)}`)]);
  return problems.length === 0 ? 0 : 1;
}

/** Lets details of runs go that ended longer ago than that (null: as the daemon does); answers the exit code. */
export function ledgerPrune({ ledger, json }: LedgerOptions, givenMs: number | null): number {
  const olderThanMs = givenMs ?? DETAILS_KEPT_MS;
  const deleted = pruneLedger(ledger, olderThanMs);
  if (json) {
    printJson({ ledger, older_than_ms: olderThanMs, deleted });
    return 0;
  }
  const counts = Object.entries<number>({ ...deleted }).filter(([, rows]) => rows > 0);
  const what = counts.map(([table, rows]) => `${showCount(rows)} ${table.replaceAll("_", " ")}`).join(", ");
  printLines([what === "" ? "Nothing is that old." : `Deleted ${what}. Runs and token counts stay.`]);
  return 0;
}
