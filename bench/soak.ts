/** A daemon that works without a pause: its memory and handles must stay where they were. `SOAK_MINUTES` says for how long. */
import { setTimeout as pause } from "node:timers/promises";
import type { Bench, BenchRow } from "./bench.ts";
import { loadNote, rounded } from "./figures.ts";
import { Product } from "./product.ts";

const DEFAULT_MINUTES = 1;
const SAMPLES = 6;
const WAVE = 20;
const MINUTE_MS = 60_000;
const WAVE_DEADLINE_MS = 120_000;

/** Registered in main.ts. */
export const soak: Bench = {
  name: "soak",
  about: "memory and handles of a daemon that works without a pause, for SOAK_MINUTES (1)",
  async run() {
    const minutes = Number(process.env["SOAK_MINUTES"] ?? DEFAULT_MINUTES);
    const sampleMs = (minutes * MINUTE_MS) / SAMPLES;
    await using product = new Product();
    product.configure({ agent: { max_concurrent_agents: 10 }, polling: { interval_ms: 250 } });
    await product.start();
    const rows: BenchRow[] = [];
    let tickets = 0;
    const begun = performance.now();
    while (rows.length < SAMPLES) {
      product.addTickets(WAVE, tickets);
      tickets += WAVE;
      await product.untilEnded(tickets, WAVE_DEADLINE_MS);
      // The clean-up of the last workspaces belongs to the wave.
      await pause(250);
      const elapsed = performance.now() - begun;
      if (elapsed < (rows.length + 1) * sampleMs) continue;
      const { rssMb, handles, cpuMs } = product.figures();
      rows.push({
        seconds: rounded(elapsed / 1000),
        tickets,
        rss_mb: rounded(rssMb, 1),
        handles,
        cpu_per_ticket_ms: rounded(cpuMs / tickets, 1),
      });
    }
    return { rows, notes: [`Ten slots, waves of ${WAVE} tickets of two turns of 250 events.`, loadNote()] };
  },
};
