/** `npm run bench -- NAME [--json]`: runs one benchmark and prints its figures; without a name it says which there are. */
import { parseArgs } from "node:util";
import { tableLines } from "../src/cli/table.ts";
import type { Bench, BenchReport, BenchRow } from "./bench.ts";
import { ledgerQueries } from "./ledger-queries.ts";
import { linearBudget } from "./linear-budget.ts";

/** Every benchmark there is. */
const BENCHES: readonly Bench[] = [ledgerQueries, linearBudget];

function list(): string {
  return BENCHES.map(({ name, about }) => `  ${name}  ${about}`).join("\n");
}

/** 1234567 as 1,234,567. */
function shown(value: string | number | undefined): string {
  return typeof value === "number" ? value.toLocaleString("en-US") : (value ?? "");
}

function table(rows: readonly BenchRow[]): string {
  const titles = Object.keys(rows[0] ?? {});
  const columns = titles.map((title) => {
    const isNumeric = rows.every((row) => typeof row[title] === "number");
    return { title: title.replaceAll("_", " "), align: isNumeric ? "right" : "left" } as const;
  });
  const cells = rows.map((row) => titles.map((title) => shown(row[title])));
  return tableLines(columns, cells).join("\n");
}

function print({ name }: Bench, { rows, notes }: BenchReport, asJson: boolean): void {
  const text = asJson ? JSON.stringify({ bench: name, rows, notes }) : [table(rows), ...notes].join("\n\n");
  process.stdout.write(`${text}\n`);
}

async function main(): Promise<number> {
  const { values, positionals } = parseArgs({
    allowPositionals: true,
    options: { json: { type: "boolean", default: false } },
  });
  const bench = BENCHES.find(({ name }) => name === positionals[0]);
  if (bench === undefined || positionals.length > 1) {
    process.stderr.write(`npm run bench -- NAME [--json]\n${list()}\n`);
    return 2;
  }
  print(bench, await bench.run(), values.json);
  return 0;
}

process.exitCode = await main();
