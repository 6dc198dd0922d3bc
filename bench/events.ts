/** Lines of agents through channel, session, reduce and ledger, beside a bare loop that reads, splits and parses the same bytes. */
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createCodexBackend } from "../src/agent/codex/backend.ts";
import type { SessionListener } from "../src/agent/port.ts";
import { runId, type RunId } from "../src/domain/ids.ts";
import type { Issue } from "../src/domain/issue.ts";
import { openLedger } from "../src/ledger/ledger.ts";
import type { Ledger } from "../src/ledger/port.ts";
import { systemClock } from "../src/lib/clock.ts";
import { AgentEvents } from "../src/orchestrator/agent-events.ts";
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
const REPEATS = 3;
const MB = 1_000_000;

interface Load {
  readonly name: string;
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
  { name: "deltas", agents: 1, lines: 50_000, line: delta },
  { name: "deltas", agents: 50, lines: 1000, line: delta },
  { name: "items", agents: 1, lines: 10_000, line: item },
  { name: "items", agents: 50, lines: 200, line: item },
  { name: "lines of 1 MB", agents: 1, lines: 60, line: huge(MB) },
  { name: "lines of 30 MB", agents: 1, lines: 4, line: huge(30 * MB) },
];

function chunksOf({ lines, line }: Load): readonly Buffer[] {
  const bytes = Buffer.from(Array.from({ length: lines }, (_, n) => line(n)).join(""));
  const count = Math.ceil(bytes.length / CHUNK_BYTES);
  return Array.from({ length: count }, (_, n) => bytes.subarray(n * CHUNK_BYTES, (n + 1) * CHUNK_BYTES));
}

/** The least that any client does: bytes to text, text to lines, lines to values. CPU milliseconds. */
function bareLoop(chunks: readonly Buffer[], agents: number): number {
  const begun = process.cpuUsage();
  for (let agent = 0; agent < agents; agent += 1) {
    let held: Buffer[] = [];
    for (const chunk of chunks) {
      let start = 0;
      for (let end = chunk.indexOf(10); end !== -1; end = chunk.indexOf(10, start)) {
        held.push(chunk.subarray(start, end));
        JSON.parse(held.length === 1 ? (held[0] ?? chunk).toString("utf8") : Buffer.concat(held).toString("utf8"));
        held = [];
        start = end + 1;
      }
      if (start < chunk.length) held.push(chunk.subarray(start));
    }
  }
  return cpuSince(begun);
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

/** CPU milliseconds from the first byte until every event is in the ledger. */
async function throughProduct(chunks: readonly Buffer[], agents: number): Promise<number> {
  const directory = mkdtempSync(join(tmpdir(), "symphony-bench-"));
  const ledger = openLedger({ path: join(directory, "ledger.db"), clock: systemClock, log: captureLog().log });
  try {
    const driver = new SchedulerDriver(makeSettings({ agent: { maxConcurrentAgents: agents } }));
    const issues = Array.from({ length: agents }, (_, n) => makeIssue(`E-${n}`));
    const runs = claimAll(driver, ledger, issues);
    const events = new AgentEvents({ ledger, redact: (text) => text, identifierOf: String });
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
  const chunks = chunksOf(load);
  const bare: number[] = [];
  const ours: number[] = [];
  // The first round warms both.
  for (let n = 0; n <= REPEATS; n += 1) {
    const [one, other] = [bareLoop(chunks, load.agents), await throughProduct(chunks, load.agents)];
    if (n > 0) bare.push(one);
    if (n > 0) ours.push(other);
  }
  const lines = load.lines * load.agents;
  return {
    load: load.name,
    agents: load.agents,
    lines,
    lines_per_cpu_second: rounded((1000 * lines) / median(ours)),
    bare_lines_per_cpu_second: rounded((1000 * lines) / median(bare)),
    times_the_bare_loop: rounded(median(ours) / median(bare), 2).toFixed(2),
  };
}

/** Registered in main.ts. */
export const events: Bench = {
  name: "events",
  about: "lines of one agent and of fifty through channel, session, reduce and ledger, beside a bare loop",
  async run() {
    const rows: BenchRow[] = [];
    for (const load of LOADS) rows.push(await measure(load));
    const notes = [
      `CPU time, median of ${REPEATS} after a warm-up; the bare loop reads chunks of 64 KiB, splits and runs JSON.parse, on the same bytes in the same run.`,
      "Ours has a stream, the protocol's reading, the scheduler's decision with its invariants checked, and rows of events and items in SQLite besides.",
      loadNote(),
    ];
    return { rows, notes };
  },
};
