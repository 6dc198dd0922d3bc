/** From many ready tickets to their agents at work: when each is spawned and asked, and what a ticket costs the daemon. */
import { spawn } from "node:child_process";
import { once } from "node:events";
import Database from "better-sqlite3";
import type { Bench, BenchRow } from "./bench.ts";
import { loadNote, median, percentile, rounded } from "./figures.ts";
import { Product } from "./product.ts";

/** Ready tickets; those beyond the slots wait. `DISPATCH_TICKETS=10,50` measures others. */
const SIZES = (process.env["DISPATCH_TICKETS"] ?? "10,50,200,1000").split(",").map(Number);
/** A thousand runs take minutes, the small ones are repeated instead. */
const REPEATS: Readonly<Record<number, number>> = { 10: 3, 50: 3 };
const SLOTS = 50;
const DEADLINE_MS = 400_000;

interface Course {
  readonly spawnMs: readonly number[];
  readonly turnMs: readonly number[];
  readonly cpuPerTicketMs: number;
  readonly idleMb: number;
  readonly peakMb: number;
}

/** Since the daemon's first decision to start a ticket; of those that had a slot at once. */
function firstTimes(path: string): Pick<Course, "spawnMs" | "turnMs"> {
  const db = new Database(path, { readonly: true });
  try {
    const times = (sql: string): number[] => db.prepare<[number], number>(sql).pluck().all(SLOTS);
    const began = "(SELECT min(started_at) FROM runs)";
    return {
      spawnMs: times(`SELECT min(spawned_at) - ${began} AS ms FROM processes GROUP BY run_id ORDER BY ms LIMIT ?`),
      turnMs: times(`SELECT intended_at - ${began} AS ms FROM turns WHERE turn = 1 ORDER BY ms LIMIT ?`),
    };
  } finally {
    db.close();
  }
}

/** The tickets come to a daemon at rest, so that its start isn't counted. */
async function course(tickets: number): Promise<Course> {
  await using product = new Product();
  product.configure({ polling: { interval_ms: 1000 } });
  await product.start();
  const before = product.figures();
  product.addTickets(tickets);
  await product.untilEnded(tickets, DEADLINE_MS);
  const after = product.figures();
  return {
    ...firstTimes(product.ledgerPath),
    cpuPerTicketMs: (after.cpuMs - before.cpuMs) / tickets,
    idleMb: before.rssMb,
    peakMb: after.peakMb,
  };
}

/** What the machine needs for that many processes when nothing else is asked of it. */
async function bareSpawns(count: number): Promise<number> {
  const begun = performance.now();
  const children = Array.from({ length: count }, () => spawn("/bin/sh", ["-c", "exec sleep 60"], { detached: true }));
  await Promise.all(children.map((child) => once(child, "spawn")));
  const took = performance.now() - begun;
  await Promise.all(
    children.map((child) => {
      const ended = once(child, "exit");
      child.kill("SIGKILL");
      return ended;
    }),
  );
  return took;
}

async function measure(tickets: number): Promise<BenchRow> {
  const courses: Course[] = [];
  const bare: number[] = [];
  for (let n = 0; n < (REPEATS[tickets] ?? 1); n += 1) {
    bare.push(await bareSpawns(Math.min(tickets, SLOTS)));
    courses.push(await course(tickets));
  }
  const of = (figure: (one: Course) => number): number => rounded(median(courses.map(figure)));
  return {
    tickets,
    bare_spawns_ms: rounded(median(bare)),
    spawn_p50_ms: of((one) => percentile(one.spawnMs, 0.5)),
    spawn_p95_ms: of((one) => percentile(one.spawnMs, 0.95)),
    last_spawn_ms: of((one) => Math.max(...one.spawnMs)),
    turn_start_p50_ms: of((one) => percentile(one.turnMs, 0.5)),
    turn_start_p95_ms: of((one) => percentile(one.turnMs, 0.95)),
    daemon_cpu_per_ticket_ms: of((one) => one.cpuPerTicketMs),
    idle_mb: of((one) => one.idleMb),
    peak_mb: of((one) => one.peakMb),
  };
}

/** Registered in main.ts. */
export const dispatch: Bench = {
  name: "dispatch",
  about: "time from the tick to each spawn and each first turn, and what a ticket costs the daemon",
  async run() {
    const rows: BenchRow[] = [];
    for (const tickets of SIZES) rows.push(await measure(tickets));
    const notes = [
      `${SLOTS} slots; each ticket is two turns of 250 events of the simulated agent. Times are from the first decision to start a ticket, of the ` +
        `first ${SLOTS}; bare spawns are as many /bin/sh processes, begun at once by an otherwise idle Node in the same run.`,
      "A poll of the local board is one reading of its folder; what Linear is asked is in linear-budget.",
      loadNote(),
    ];
    return { rows, notes };
  },
};
