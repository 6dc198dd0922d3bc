/** From the start of the process to a daemon that has begun to poll. */
import { execFileSync } from "node:child_process";
import { startLinearServer } from "../test/fakes/linear/server.ts";
import type { Bench, BenchRow } from "./bench.ts";
import { loadNote, median, rounded } from "./figures.ts";
import { Product } from "./product.ts";

const REPEATS = 7;

/** Node with nothing to run. */
function bareNode(): number {
  const begun = performance.now();
  execFileSync(process.execPath, ["--eval", "0"]);
  return performance.now() - begun;
}

async function measure(
  board: string,
  sections: Readonly<Record<string, unknown>>,
  env: Readonly<Record<string, string>> = {},
): Promise<BenchRow> {
  const starts: number[] = [];
  const cpu: number[] = [];
  const bare: number[] = [];
  for (let n = 0; n < REPEATS; n += 1) {
    await using product = new Product();
    product.configure(sections);
    bare.push(bareNode());
    starts.push(await product.start("daemon started", env));
    cpu.push(product.figures().cpuMs);
  }
  return {
    board,
    start_ms: rounded(median(starts)),
    shortest_ms: rounded(Math.min(...starts)),
    cpu_ms: rounded(median(cpu)),
    bare_node_ms: rounded(median(bare)),
  };
}

/** Registered in main.ts. */
export const startup: Bench = {
  name: "startup",
  about: "start of the process to a daemon that polls, on the local board and on Linear",
  async run() {
    const server = await startLinearServer();
    try {
      const linear = { tracker: { kind: "linear", provider: { endpoint: server.url, project_slug: "demo" } } };
      const rows = [await measure("local", {}), await measure("linear", linear, { LINEAR_API_KEY: server.apiKey })];
      return { rows, notes: [`Built package, empty board, median of ${REPEATS}. Bare node runs nothing.`, loadNote()] };
    } finally {
      await server.close();
    }
  },
};
