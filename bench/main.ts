/** `npm run bench -- NAME [--json]`: runs one benchmark, or `all`, and prints the figures; without a name it says which there are. */
import { parseArgs } from "node:util";
import { tableLines } from "../src/cli/table.ts";
import type { Bench, BenchReport, BenchRow } from "./bench.ts";
import { dispatch } from "./dispatch.ts";
import { events } from "./events.ts";
import { idle } from "./idle.ts";
import { ledgerQueries } from "./ledger-queries.ts";
import { ledgerWrites } from "./ledger-writes.ts";
import { linearBudget } from "./linear-budget.ts";
import { restart } from "./restart.ts";
import { shared } from "./shared.ts";
import { soak } from "./soak.ts";
import { startup } from "./startup.ts";
import { tick } from "./tick.ts";

/** Every benchmark there is. */
const BENCHES: readonly Bench[] = [
  startup,
  idle,
  tick,
  events,
  ledgerWrites,
  ledgerQueries,
  linearBudget,
  restart,
  soak,
  dispatch,
  shared,
];

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

function print({ name, about }: Bench, { rows, notes }: BenchReport, asJson: boolean): void {
  const text = asJson
    ? JSON.stringify({ bench: name, rows, notes })
    : [`${name}: ${about}`, table(rows), ...notes].join("\n\n");
  process.stdout.write(`${text}\n${asJson ? "" : "\n"}`);
}

/** One after the other: they would disturb each other. A benchmark that fails doesn't take the others' figures with it. */
async function runAll(benches: readonly Bench[], asJson: boolean): Promise<number> {
  let failures = 0;
  for (const bench of benches) {
    try {
      print(bench, await bench.run(), asJson);
    } catch (error) {
      failures += 1;
      process.stderr.write(`${bench.name}: ${error instanceof Error ? error.message : String(error)}\n`);
    }
  }
  return failures === 0 ? 0 : 1;
}

async function main(): Promise<number> {
  const { values, positionals } = parseArgs({
    allowPositionals: true,
    options: { json: { type: "boolean", default: false } },
  });
  const [wanted] = positionals;
  const benches = BENCHES.filter(({ name }) => wanted === "all" || name === wanted);
  if (benches.length === 0 || positionals.length > 1) {
    process.stderr.write(`npm run bench -- NAME|all [--json]\n${list()}\n`);
    return 2;
  }
  return runAll(benches, values.json);
}

process.exitCode = await main();
