/** From many ready tickets to their agents at work: when each is spawned and asked, and what a ticket costs the daemon. */
import Database from "better-sqlite3";
import { spawnBareShells, startBareAgents } from "./agent-starts.ts";
import type { Bench, BenchRow } from "./bench.ts";
import { loadNote, median, percentile, rounded } from "./figures.ts";
import { Product } from "./product.ts";
import { localBoard, localLinear, type TicketSource } from "./ticket-source.ts";

/** Ready tickets; those beyond the slots wait. */
const DEFAULT_SIZES = "10,50,200";
/** Also on Linear. */
const LINEAR_SIZE = 50;
/** The large ones take minutes, the small ones are repeated instead. */
const REPEATS: Readonly<Record<number, number>> = { 10: 3, 50: 3 };
const SLOTS = 50;
const DEADLINE_MS = 600_000;
/** No poll but the one that is asked for: a further one could find half of the tickets. */
const NO_POLL_MS = 3_600_000;

interface Course {
  /** Until that many waiting shells are spawned, and that many agents have a thread, without a daemon. */
  readonly bareSpawnsMs: number;
  readonly bareAgentsMs: readonly number[];
  readonly spawnMs: readonly number[];
  readonly turnMs: readonly number[];
  readonly cpuPerTicketMs: number;
  readonly idleMb: number;
  readonly peakMb: number;
  readonly reads: number | null;
}

/** Since the tick, of those that had a slot at once. */
function firstTimes(path: string, tickAt: number): Pick<Course, "spawnMs" | "turnMs"> {
  const db = new Database(path, { readonly: true });
  try {
    const times = (sql: string): number[] => db.prepare<[number, number], number>(sql).pluck().all(tickAt, SLOTS);
    return {
      spawnMs: times("SELECT min(spawned_at) - ? AS ms FROM processes GROUP BY run_id ORDER BY ms LIMIT ?"),
      turnMs: times("SELECT intended_at - ? AS ms FROM turns WHERE turn = 1 ORDER BY ms LIMIT ?"),
    };
  } finally {
    db.close();
  }
}

/** The tickets come to a daemon at rest, so that its start isn't counted. */
async function course(tickets: number, source: TicketSource): Promise<Course> {
  await using product = new Product();
  source.configure(product, { polling: { interval_ms: NO_POLL_MS } });
  const atOnce = Math.min(tickets, SLOTS);
  const bareSpawnsMs = await spawnBareShells(atOnce);
  const bareAgentsMs = await startBareAgents(atOnce, product.agent);
  await product.start("agent checked", source.env);
  source.add(product, tickets);
  const [before, reads] = [product.figures(), source.reads()];
  const tickAt = await product.tick();
  await product.untilEnded(tickets, DEADLINE_MS);
  const after = product.figures();
  return {
    bareSpawnsMs,
    bareAgentsMs,
    ...firstTimes(product.ledgerPath, tickAt),
    cpuPerTicketMs: (after.cpuMs - before.cpuMs) / tickets,
    idleMb: before.rssMb,
    peakMb: after.peakMb,
    reads: reads === null ? null : (source.reads() ?? 0) - reads,
  };
}

async function measure(tickets: number, open: () => Promise<TicketSource>): Promise<BenchRow> {
  const courses: Course[] = [];
  let board = "";
  for (let n = 0; n < (REPEATS[tickets] ?? 1); n += 1) {
    await using source = await open();
    board = source.name;
    courses.push(await course(tickets, source));
  }
  const of = (figure: (one: Course) => number): number => rounded(median(courses.map(figure)));
  return {
    tickets,
    board,
    bare_spawns_ms: of((one) => one.bareSpawnsMs),
    spawn_p50_ms: of((one) => percentile(one.spawnMs, 0.5)),
    spawn_p95_ms: of((one) => percentile(one.spawnMs, 0.95)),
    last_spawn_ms: of((one) => Math.max(...one.spawnMs)),
    bare_agents_p50_ms: of((one) => percentile(one.bareAgentsMs, 0.5)),
    turn_start_p50_ms: of((one) => percentile(one.turnMs, 0.5)),
    bare_agents_p95_ms: of((one) => percentile(one.bareAgentsMs, 0.95)),
    turn_start_p95_ms: of((one) => percentile(one.turnMs, 0.95)),
    cpu_per_ticket_ms: of((one) => one.cpuPerTicketMs),
    idle_mb: of((one) => one.idleMb),
    peak_mb: of((one) => one.peakMb),
    tracker_reads: courses[0]?.reads === null ? "none" : of((one) => one.reads ?? 0),
  };
}

/** Registered in main.ts. */
export const dispatch: Bench = {
  name: "dispatch",
  about: "time from the tick to each spawn and each first turn, and what a ticket costs the daemon",
  async run() {
    const sizes = (process.env["DISPATCH_TICKETS"] ?? DEFAULT_SIZES).split(",").map(Number);
    const rows: BenchRow[] = [];
    for (const tickets of sizes) rows.push(await measure(tickets, localBoard));
    if (sizes.includes(LINEAR_SIZE)) rows.push(await measure(LINEAR_SIZE, localLinear));
    const notes = [
      `${SLOTS} slots; each ticket is two turns of 250 events of the simulated agent. Times are from the request to poll, of the first ${SLOTS} ` +
        "tickets. In the same run, without a daemon: bare spawns are as many /bin/sh processes, begun at once by an otherwise idle Node; bare " +
        "agents are as many processes of the same agent, until each has answered initialize and thread/start, as it has before its first turn/start.",
      "CPU is the daemon's own over all of a ticket, the removal of its workspace included. Reads of Linear are requests; the agents' calls aren't counted.",
      `DISPATCH_TICKETS=${DEFAULT_SIZES},1000 would also measure a thousand tickets, which takes minutes.`,
      loadNote(),
    ];
    return { rows, notes };
  },
};
