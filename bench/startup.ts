/** From the start of the process to the first tick, and what of it each library takes. */
import { execFileSync } from "node:child_process";
import { until } from "../test/support/until.ts";
import type { Bench, BenchRow } from "./bench.ts";
import { loadNote, median, rounded } from "./figures.ts";
import { importCosts } from "./import-costs.ts";
import { Product } from "./product.ts";
import { localBoard, localLinear, type TicketSource } from "./ticket-source.ts";

const REPEATS = 7;

/** Node with nothing to run. */
function bareNode(): number {
  const begun = performance.now();
  execFileSync(process.execPath, ["--eval", "0"]);
  return performance.now() - begun;
}

interface Start {
  readonly coldMs: number;
  readonly startMs: number;
  readonly tickMs: number;
  readonly cpuMs: number;
  readonly rssMb: number;
  readonly bareMs: number;
}

/** A start in an empty home, which leaves compiled code for the next one; then one with a ticket on the board, which the first tick dispatches. */
async function startOnce(source: TicketSource): Promise<Start> {
  await using product = new Product();
  source.configure(product, {});
  const coldMs = await product.start("daemon started", source.env);
  await product.stop();
  source.add(product, 1);
  const bareMs = bareNode();
  const begun = Date.now();
  const startMs = await product.start("daemon started", source.env);
  const { cpuMs, rssMb } = product.figures();
  const firstRun = "SELECT coalesce(min(started_at), 0) FROM runs";
  const at = await until("the first tick", () => {
    const startedAt = product.count(firstRun);
    return startedAt > 0 && startedAt;
  });
  return { coldMs, startMs, tickMs: at - begun, cpuMs, rssMb, bareMs };
}

async function measure(open: () => Promise<TicketSource>): Promise<BenchRow> {
  const starts: Start[] = [];
  let board = "";
  for (let n = 0; n < REPEATS; n += 1) {
    await using source = await open();
    board = source.name;
    starts.push(await startOnce(source));
  }
  const of = (figure: (start: Start) => number): number => rounded(median(starts.map(figure)));
  return {
    board,
    first_start_ms: of((start) => start.coldMs),
    start_ms: of((start) => start.startMs),
    first_tick_ms: of((start) => start.tickMs),
    shortest_ms: rounded(Math.min(...starts.map((start) => start.tickMs))),
    cpu_ms: of((start) => start.cpuMs),
    rss_mb: of((start) => start.rssMb),
    bare_node_ms: of((start) => start.bareMs),
  };
}

/** Registered in main.ts. */
export const startup: Bench = {
  name: "startup",
  about: "start of the process to the first tick, on the local board and on Linear, and what each import costs",
  async run() {
    const rows = [await measure(localBoard), await measure(localLinear)];
    const notes = [
      `Built package, median of ${REPEATS}. The first start ever compiles; all others find what it kept. Start is until the log says so, the first tick until the board's one ticket is dispatched; CPU and memory are the ` +
        "daemon's when it has started. Bare node runs nothing.",
      `Each import in a Node of its own, as installed; shared parts count in each, and the bundle has less of them:\n\n${importCosts()}`,
      loadNote(),
    ];
    return { rows, notes };
  },
};
