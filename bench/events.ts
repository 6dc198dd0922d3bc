/** Lines of agents through channel, session and reduce, with and without the ledger, beside a bare loop that reads, splits and parses the same bytes. */
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import Database from "better-sqlite3";
import { createCodexBackend } from "../src/agent/codex/backend.ts";
import type { SessionListener } from "../src/agent/port.ts";
import { runId, type RunId } from "../src/domain/ids.ts";
import type { Issue } from "../src/domain/issue.ts";
import { openLedger } from "../src/ledger/ledger.ts";
import type { Ledger } from "../src/ledger/port.ts";
import { systemClock } from "../src/lib/clock.ts";
import { Redactor } from "../src/lib/redact.ts";
import { AgentEvents, type EventJournal } from "../src/orchestrator/agent-events.ts";
import { ScriptedAppServer, THREAD } from "../test/fakes/scripted-app-server.ts";
import { SessionRecorder, sessionRequest } from "../test/fakes/session-recorder.ts";
import { captureLog } from "../test/support/captured-log.ts";
import { makeIssue, makeSettings } from "../test/support/issues.ts";
import { SchedulerDriver } from "../test/support/scheduler.ts";
import { until } from "../test/support/until.ts";
import type { Bench, BenchRow } from "./bench.ts";
import { loadNote, median, rounded } from "./figures.ts";

/** What a pipe hands over at once. */
const CHUNK_BYTES = 65_536;
const REPEATS = 5;
const MB = 1_000_000;
/** What the bare insert keeps of a line, and how many it commits together: as the ledger does. */
const KEPT_CHARS = 16_000;
const BATCH_ROWS = 200;
/** What a daemon knows of its own; none of it stands in the lines. */
const SECRETS = ["lin_api_0123456789abcdefghijklmnop", "the-token-of-the-pages", "sk-0123456789abcdefghijklmnop"];

interface Load {
  readonly name: string;
  /** Whether each line is kept in the ledger; nothing is kept of a delta. */
  readonly kept: boolean;
  readonly agents: number;
  readonly lines: number;
  line(n: number): string;
}

function notification(method: string, params: object): string {
  return `${JSON.stringify({ method, params: { threadId: THREAD, turnId: "turn-1", ...params } })}\n`;
}

function delta(n: number): string {
  return notification("item/agentMessage/delta", { itemId: `i-${Math.floor(n / 100)}`, delta: "a few words " });
}

function item(n: number): string {
  const text = "A paragraph of an answer. ".repeat(8);
  return notification("item/completed", { item: { type: "agentMessage", id: `i-${n}`, text }, completedAtMs: 1 });
}

function huge(bytes: number): (n: number) => string {
  const text = "x".repeat(bytes);
  return (n) =>
    notification("item/completed", { item: { type: "agentMessage", id: `i-${n}`, text }, completedAtMs: 1 });
}

const LOADS: readonly Load[] = [
  { name: "deltas", kept: false, agents: 1, lines: 50_000, line: delta },
  { name: "deltas", kept: false, agents: 50, lines: 1000, line: delta },
  { name: "items", kept: true, agents: 1, lines: 10_000, line: item },
  { name: "items", kept: true, agents: 50, lines: 200, line: item },
  { name: "lines of 1 MB", kept: true, agents: 1, lines: 60, line: huge(MB) },
  { name: "lines of 30 MB", kept: true, agents: 1, lines: 4, line: huge(30 * MB) },
];

function chunksOf({ lines, line }: Load): readonly Buffer[] {
  const bytes = Buffer.from(Array.from({ length: lines }, (_, n) => line(n)).join(""));
  const count = Math.ceil(bytes.length / CHUNK_BYTES);
  return Array.from({ length: count }, (_, n) => bytes.subarray(n * CHUNK_BYTES, (n + 1) * CHUNK_BYTES));
}

/** The least that any client does: bytes to text, text to lines, lines to values. `take` is told of each line. CPU milliseconds. */
function bareLoop(chunks: readonly Buffer[], agents: number, take?: (text: string) => void): number {
  const begun = process.cpuUsage();
  for (let agent = 0; agent < agents; agent += 1) {
    let held: Buffer[] = [];
    for (const chunk of chunks) {
      let start = 0;
      for (let end = chunk.indexOf(10); end !== -1; end = chunk.indexOf(10, start)) {
        held.push(chunk.subarray(start, end));
        const text = held.length === 1 ? (held[0] ?? chunk).toString("utf8") : Buffer.concat(held).toString("utf8");
        JSON.parse(text);
        take?.(text);
        held = [];
        start = end + 1;
      }
      if (start < chunk.length) held.push(chunk.subarray(start));
    }
  }
  return cpuSince(begun);
}

/** The bare loop with the least that keeps what a line says: one prepared insert, into one table without an index, in batches. */
function bareLoopAndInsert(chunks: readonly Buffer[], agents: number): number {
  const directory = mkdtempSync(join(tmpdir(), "symphony-bench-"));
  const db = new Database(join(directory, "bare.db"));
  try {
    db.exec(
      "PRAGMA journal_mode = WAL; PRAGMA synchronous = NORMAL; CREATE TABLE lines (id INTEGER PRIMARY KEY, data TEXT)",
    );
    const insert = db.prepare<[string]>("INSERT INTO lines (data) VALUES (?)");
    let inBatch = 0;
    db.exec("BEGIN");
    return bareLoop(chunks, agents, (text) => {
      // What the product keeps of a line is bounded, too.
      insert.run(text.slice(0, KEPT_CHARS));
      inBatch = (inBatch + 1) % BATCH_ROWS;
      if (inBatch === 0) db.exec("COMMIT; BEGIN");
    });
  } finally {
    db.close();
    rmSync(directory, { recursive: true, force: true });
  }
}

function cpuSince(begun: NodeJS.CpuUsage): number {
  const { user, system } = process.cpuUsage(begun);
  return (user + system) / 1000;
}

interface Agent {
  readonly server: ScriptedAppServer;
  /** Resolves when every line before the turn's end has been taken. */
  endTurn(): Promise<void>;
  close(): Promise<void>;
}

/** A session whose events go where the daemon's go; only the process and the pipe are missing. */
async function openAgent(driver: SchedulerDriver, events: AgentEvents, run: RunId, issue: Issue): Promise<Agent> {
  const server = new ScriptedAppServer();
  const log = captureLog().log;
  const env = { HOME: "/nowhere" };
  const backend = createCodexBackend({
    host: server.host,
    clock: systemClock,
    log,
    clientVersion: "0",
    daemonEnv: env,
  });
  const recorder = new SessionRecorder();
  let started = false;
  const listener: SessionListener = {
    event: (event) => {
      if (event.kind === "turn_started") started = true;
      events.take(run, issue.id, { ...event, at: systemClock.now(), agentPid: 1 });
    },
    alive: (open) => void driver.send({ kind: "run_activity", runId: run, at: driver.now, open }),
    spawned: () => undefined,
    question: () => undefined,
    answered: () => undefined,
  };
  const session = await backend.open({ ...sessionRequest(recorder, { runMarker: run }), listener });
  const turn = session.runTurn({ prompt: "go", intentId: run });
  await until("the turn has started", () => started);
  return {
    server,
    async endTurn() {
      server.endTurn("turn-1", "completed");
      await turn;
    },
    async close() {
      await session.close();
      await backend.close();
    },
  };
}

function claimAll(driver: SchedulerDriver, ledger: Ledger, issues: readonly Issue[]): readonly RunId[] {
  driver.boot();
  driver.tick(issues);
  driver.answerRefresh(issues);
  if (driver.change !== null) ledger.commit(driver.change);
  return issues.map(({ id }) => {
    const claim = driver.state.claims.get(id);
    if (claim?.kind !== "running") throw new Error(`${id} isn't running`);
    return claim.runId;
  });
}

/** Numbers events and keeps none: the event path without the ledger. */
function countingJournal(): EventJournal {
  let last = 0;
  return { appendEvent: () => (last += 1) };
}

/** CPU milliseconds from the first byte until the last event is where it belongs: in the ledger, or counted. */
async function throughProduct(chunks: readonly Buffer[], agents: number, keeps: boolean): Promise<number> {
  const directory = mkdtempSync(join(tmpdir(), "symphony-bench-"));
  const redactor = new Redactor(SECRETS);
  const redact = (text: string): string => redactor.text(text);
  const ledger = openLedger({ path: join(directory, "ledger.db"), clock: systemClock, log: captureLog().log, redact });
  try {
    const driver = new SchedulerDriver(makeSettings({ agent: { maxConcurrentAgents: agents } }));
    const issues = Array.from({ length: agents }, (_, n) => makeIssue(`E-${n}`));
    const runs = claimAll(driver, ledger, issues);
    const events = new AgentEvents({ ledger: keeps ? ledger : countingJournal(), redact, identifierOf: String });
    const opened: Agent[] = [];
    for (const [n, issue] of issues.entries()) {
      opened.push(await openAgent(driver, events, runs[n] ?? runId("none"), issue));
    }
    const begun = process.cpuUsage();
    for (const chunk of chunks) for (const { server } of opened) server.bytes(chunk);
    await Promise.all(opened.map((agent) => agent.endTurn()));
    ledger.flush();
    const took = cpuSince(begun);
    await Promise.all(opened.map((agent) => agent.close()));
    return took;
  } finally {
    ledger.close();
    rmSync(directory, { recursive: true, force: true });
  }
}

async function measure(load: Load): Promise<BenchRow> {
  const { name, kept, agents } = load;
  const chunks = chunksOf(load);
  const rounds: { bare: number; inserts: number; path: number; whole: number }[] = [];
  // The first round warms all of them.
  for (let n = 0; n <= REPEATS; n += 1) {
    const round = {
      bare: bareLoop(chunks, agents),
      inserts: kept ? bareLoopAndInsert(chunks, agents) : 0,
      path: await throughProduct(chunks, agents, false),
      whole: await throughProduct(chunks, agents, true),
    };
    if (n > 0) rounds.push(round);
  }
  const lines = load.lines * agents;
  const middle = (pick: (round: (typeof rounds)[number]) => number): number => median(rounds.map(pick));
  const bare = middle((round) => round.bare);
  const times = (ms: number): string => rounded(ms / bare, 2).toFixed(2);
  return {
    load: name,
    agents,
    lines,
    lines_per_cpu_second: rounded((1000 * lines) / middle(({ whole }) => whole)),
    event_path_times_bare: times(middle(({ path }) => path)),
    with_the_ledger: times(middle(({ whole }) => whole)),
    bare_loop_and_insert: kept ? times(middle(({ inserts }) => inserts)) : "-",
  };
}

/** Registered in main.ts. */
export const events: Bench = {
  name: "events",
  about:
    "lines of one agent and of fifty through channel, session and reduce, with and without the ledger, beside a bare loop",
  async run() {
    const rows: BenchRow[] = [];
    for (const load of LOADS) rows.push(await measure(load));
    const notes = [
      `CPU time, median of ${REPEATS} after a warm-up; the bare loop reads chunks of 64 KiB, splits and runs JSON.parse, on the same bytes in the same run.`,
      "The event path is a stream, the protocol's reading, and the scheduler's decision with its invariants checked; the ledger comes on top, and takes known secrets out.",
      `The bare insert keeps each line as one value, ${BATCH_ROWS} a commit, in a table without an index: SQLite's own floor.`,
      loadNote(),
    ];
    return { rows, notes };
  },
};
