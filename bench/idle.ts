/** What a daemon with nothing to do costs: CPU, wake-ups and memory at rest, polling once a second. */
import { setTimeout as pause } from "node:timers/promises";
import { startLinearServer } from "../test/fakes/linear/server.ts";
import type { Bench, BenchRow } from "./bench.ts";
import { loadNote, rounded } from "./figures.ts";
import { Product } from "./product.ts";

const SETTLE_MS = 3000;
const WATCHED_MS = 20_000;
const MINUTE_MS = 60_000;

async function watch(board: string, sections: object, env: Readonly<Record<string, string>> = {}): Promise<BenchRow> {
  await using product = new Product();
  product.configure({ polling: { interval_ms: 1000 }, ...sections });
  await product.start("daemon started", env);
  await pause(SETTLE_MS);
  const before = product.figures();
  const begun = performance.now();
  await pause(WATCHED_MS);
  const after = product.figures();
  const took = performance.now() - begun;
  return {
    board,
    cpu_percent: rounded((100 * (after.cpuMs - before.cpuMs)) / took, 2),
    wake_ups_per_minute: rounded(((after.wakeUps - before.wakeUps) * MINUTE_MS) / took),
    rss_mb: rounded(after.rssMb, 1),
  };
}

/** Registered in main.ts. */
export const idle: Bench = {
  name: "idle",
  about: "CPU, wake-ups and memory of a daemon at rest that polls once a second",
  async run() {
    const server = await startLinearServer();
    try {
      const provider = { endpoint: server.url, project_slug: "demo" };
      const linear = { tracker: { kind: "linear", provider } };
      return {
        rows: [await watch("local", {}), await watch("linear", linear, { LINEAR_API_KEY: server.apiKey })],
        notes: [
          `Watched for ${WATCHED_MS / 1000} s; wake-ups are voluntary context switches of all its threads.`,
          loadNote(),
        ],
      };
    } finally {
      await server.close();
    }
  },
};
