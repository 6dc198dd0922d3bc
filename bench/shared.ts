/** What sixteen sessions of the real agent cost in processes of their own, and in one that they share. */
import { mkdirSync, mkdtempSync, realpathSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { pino } from "pino";
import { createCodexBackend } from "../src/agent/codex/backend.ts";
import type { AgentBackend, AgentSession } from "../src/agent/port.ts";
import type { CodexSettings } from "../src/domain/settings.ts";
import { createLocalHost } from "../src/host/local.ts";
import { createProcessTable } from "../src/host/process-table.ts";
import { systemClock } from "../src/lib/clock.ts";
import { installedCodex, makeCodexHome } from "../test/codex/codex-binary.ts";
import { say, startResponsesServer } from "../test/fakes/responses-server.ts";
import { SessionRecorder, sessionRequest } from "../test/fakes/session-recorder.ts";
import { makeSettings } from "../test/support/issues.ts";
import type { Bench, BenchRow } from "./bench.ts";
import { loadNote, median, percentile, rounded } from "./figures.ts";
import { processFigures, proportionalMb } from "./process-figures.ts";

const SESSIONS = 16;
/** Of each mode, alternating. */
const ROUNDS = 3;
/** Sessions that end and are followed by another while the others stay. */
const FURTHER = 5;

type Mode = CodexSettings["process"];

interface Measured {
  /** From the first call until each session has its thread. */
  readonly startedMs: readonly number[];
  /** A session that comes when the others are there. */
  readonly furtherMs: readonly number[];
  readonly processes: number;
  readonly rssMb: number;
  readonly pssMb: number;
  readonly cpuMs: number;
}

/** One round: a backend with a codex home and workspaces of its own. */
class Round {
  readonly #dir: string;
  readonly #backend: AgentBackend;
  readonly #recorder = new SessionRecorder();
  readonly #settings: ReturnType<typeof makeSettings>;

  constructor(dir: string, codexHome: string, command: string, mode: Mode) {
    const log = pino({ level: "silent" });
    this.#dir = dir;
    const daemonEnv = { PATH: process.env["PATH"], HOME: dir, CODEX_HOME: codexHome, TMPDIR: join(dir, "tmp") };
    const host = createLocalHost({ log });
    this.#backend = createCodexBackend({ host, clock: systemClock, log, clientVersion: "0.0.0", daemonEnv });
    const base = makeSettings({ codex: { command, process: mode } });
    this.#settings = { ...base, workspace: { ...base.workspace, root: join(dir, "workspaces") } };
  }

  /** Opens a session in a workspace of its own. */
  open(name: string): Promise<AgentSession> {
    const workspacePath = join(this.#dir, "workspaces", name);
    mkdirSync(workspacePath, { recursive: true });
    return this.#backend.open(sessionRequest(this.#recorder, { settings: this.#settings, workspacePath }));
  }

  /** The agents' processes with all that they have started. */
  async pids(): Promise<readonly number[]> {
    const { rows } = await createProcessTable().list();
    const known = new Set(this.#recorder.identities.map(({ pid }) => pid));
    for (let before = -1; before !== known.size;) {
      before = known.size;
      for (const row of rows) if (known.has(row.parent) && !row.zombie) known.add(row.pid);
    }
    return rows.filter(({ pid }) => known.has(pid)).map(({ pid }) => pid);
  }

  close(): Promise<void> {
    return this.#backend.close();
  }
}

async function timed<T>(work: () => Promise<T>): Promise<readonly [ms: number, result: T]> {
  const begun = performance.now();
  const result = await work();
  return [performance.now() - begun, result];
}

async function measure(round: Round): Promise<Measured> {
  const names = Array.from({ length: SESSIONS }, (_, index) => `T-${index}`);
  const opened = await Promise.all(names.map((name) => timed(() => round.open(name))));
  const sessions = opened.map(([, session]) => session);
  // Memory is what it is at work: each thread has had a turn.
  const ends = await Promise.all(sessions.map((session) => session.runTurn({ prompt: "say hello", intentId: "1" })));
  const failed = ends.find(({ kind }) => kind !== "completed");
  if (failed !== undefined) throw new Error(`a turn ended as ${JSON.stringify(failed)}`);
  const pids = await round.pids();
  const figures = pids.map(processFigures);
  const sum = (values: readonly number[]): number => values.reduce((total, value) => total + value, 0);
  const memory = {
    processes: pids.length,
    rssMb: sum(figures.map(({ rssMb }) => rssMb)),
    pssMb: sum(pids.map(proportionalMb)),
    cpuMs: sum(figures.map(({ cpuMs }) => cpuMs)),
  };
  const furtherMs: number[] = [];
  for (let index = 0; index < FURTHER; index += 1) {
    await sessions.shift()?.close();
    const [ms, session] = await timed(() => round.open(`T-${SESSIONS + index}`));
    sessions.push(session);
    furtherMs.push(ms);
  }
  return { ...memory, startedMs: opened.map(([ms]) => ms), furtherMs };
}

async function play(codex: string, mode: Mode): Promise<Measured> {
  const dir = mkdtempSync(join(realpathSync(tmpdir()), "symphony-bench-"));
  const model = await startResponsesServer(() => say("hello"));
  try {
    for (const name of ["tmp", "workspaces"]) mkdirSync(join(dir, name));
    const round = new Round(dir, await makeCodexHome(dir, model.baseUrl), `'${codex}' app-server`, mode);
    try {
      return await measure(round);
    } finally {
      await round.close();
    }
  } finally {
    await model.close();
    rmSync(dir, { recursive: true, force: true });
  }
}

function rowOf(mode: Mode, rounds: readonly Measured[]): BenchRow {
  const middle = (of: (measured: Measured) => number): number => rounded(median(rounds.map(of)));
  return {
    process: mode,
    processes: middle(({ processes }) => processes),
    rss_mb: middle(({ rssMb }) => rssMb),
    pss_mb: middle(({ pssMb }) => pssMb),
    cpu_ms: middle(({ cpuMs }) => cpuMs),
    half_started_ms: middle(({ startedMs }) => median(startedMs)),
    all_started_ms: middle(({ startedMs }) => percentile(startedMs, 1)),
    further_start_ms: rounded(median(rounds.flatMap(({ furtherMs }) => furtherMs))),
  };
}

/** Registered in main.ts. */
export const shared: Bench = {
  name: "shared",
  about: `memory and start of ${SESSIONS} sessions of the real codex in processes of their own, and in a shared one`,
  async run() {
    const codex = installedCodex();
    if (codex === null) {
      return { rows: [], notes: ["Not measured: the real codex isn't installed. `npm run test:codex` installs it."] };
    }
    const rounds: Record<Mode, Measured[]> = { per_run: [], shared: [] };
    for (let index = 0; index < ROUNDS; index += 1) {
      for (const mode of ["per_run", "shared"] as const) rounds[mode].push(await play(codex, mode));
    }
    return {
      rows: [rowOf("per_run", rounds.per_run), rowOf("shared", rounds.shared)],
      notes: [
        `Medians of ${ROUNDS} rounds. ${SESSIONS} sessions are opened at once, each has one turn, then memory and CPU time of all agent processes are summed up.`,
        "further: a session that is opened when another one has ended and fifteen are there.",
        loadNote(),
      ],
    };
  },
};
