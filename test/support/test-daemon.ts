/** A whole daemon in this process on a folder of its own, with a local board and simulated agents; watched through its snapshot. */
import { mkdir, readFile, writeFile } from "node:fs/promises";
import { request } from "node:http";
import { join } from "node:path";
import { simulatedAgentCommand } from "../../src/agent/simulated/command.ts";
import { Daemon } from "../../src/daemon.ts";
import { openLedgerReader } from "../../src/ledger/queries.ts";
import type { RunJson } from "../../src/ledger/run-list.ts";
import { systemClock } from "../../src/lib/clock.ts";
import type { SecretLog } from "../../src/lib/log.ts";
import { captureLog, type CapturedLog } from "./captured-log.ts";
import { makeTempDir } from "./temp-dir.ts";
import { until } from "./until.ts";

type Row = Readonly<Record<string, unknown>>;

/** The parts of `GET /api/v1/state` that tests look at. */
export interface Snapshot {
  readonly generated_at: string;
  readonly counts: Readonly<Record<string, number>>;
  readonly running: readonly Row[];
  readonly retrying: readonly Row[];
  readonly blocked: readonly Row[];
  readonly paused: readonly Row[];
  readonly tracker: Row & {
    readonly last_ok_at: string | null;
    readonly last_error: Readonly<Record<string, string>> | null;
  };
  readonly workflow: Row & { readonly revision: string; readonly last_error: Readonly<Record<string, string>> | null };
  readonly ledger: { readonly last_error: Readonly<Record<string, string>> | null };
  readonly codex_totals: Readonly<Record<string, number>>;
  readonly rate_limits: Row | null;
}

/** Front matter by section; laid over the defaults, one level deep. */
export type Sections = Readonly<Record<string, Row>>;

export interface StartOptions {
  /** Beside PATH, HOME and TMPDIR. */
  readonly env?: Readonly<Record<string, string>>;
  /** Instead of {@link TestDaemon.log}. */
  readonly log?: SecretLog;
}

/** An answer of the API. */
export interface Answer {
  readonly status: number;
  readonly text: string;
}

/** Everything that it starts ends, and its folder goes, when it is disposed. */
export class TestDaemon implements AsyncDisposable {
  readonly dir: string;
  readonly #removeDir: () => Promise<void>;
  #daemon: Daemon | null = null;
  /** Of the daemon that was started last. */
  log: CapturedLog = captureLog();

  private constructor(dir: string, removeDir: () => Promise<void>) {
    this.dir = dir;
    this.#removeDir = removeDir;
  }

  /** Makes the folder with an empty board and an agent that has nothing scripted. */
  static async make(): Promise<TestDaemon> {
    const dir = await makeTempDir();
    await mkdir(join(dir.path, "board"));
    const made = new TestDaemon(dir.path, () => dir.dispose());
    await made.writeScript({});
    return made;
  }

  /** Writes WORKFLOW.md: the local board, polled ten times a second, and the simulated agent, unless `sections` say otherwise. */
  async writeWorkflow(sections: Sections = {}, prompt = "Work on {{ issue.identifier }}."): Promise<void> {
    const defaults: Sections = {
      tracker: { kind: "local", provider: { path: "./board" } },
      polling: { interval_ms: 100 },
      workspace: { root: "./workspaces" },
      codex: { command: this.agentCommand() },
      state: { dir: "./state" },
    };
    const names = new Set([...Object.keys(defaults), ...Object.keys(sections)]);
    const merged = Object.fromEntries([...names].map((name) => [name, { ...defaults[name], ...sections[name] }]));
    // JSON is YAML.
    await writeFile(join(this.dir, "WORKFLOW.md"), `---\n${JSON.stringify(merged, null, 2)}\n---\n${prompt}\n`);
  }

  /** The simulated agent, which follows {@link writeScript}'s script. */
  agentCommand(): string {
    return simulatedAgentCommand({ home: join(this.dir, "agent-home"), script: join(this.dir, "script.json") });
  }

  /** What the agents do, by ticket (docs/simulated-agent.md); each run is a list of turns, each turn a list of steps. */
  async writeScript(tickets: Readonly<Record<string, readonly (readonly (readonly unknown[])[])[]>>): Promise<void> {
    const entries = Object.entries(tickets).map(([name, runs]) => {
      return [name, { runs: runs.map((turns) => ({ turns: turns.map((steps) => ({ steps })) })) }] as const;
    });
    await writeFile(join(this.dir, "script.json"), JSON.stringify({ tickets: Object.fromEntries(entries) }));
  }

  /** Writes or replaces a ticket of the board, in Todo unless `fields` say otherwise. */
  async writeTicket(name: string, fields: Row = {}): Promise<void> {
    const front = Object.entries({ title: `Ticket ${name}`, state: "Todo", ...fields });
    const lines = front.map(([key, value]) => `${key}: ${JSON.stringify(value)}`).join("\n");
    await writeFile(join(this.dir, "board", `${name}.md`), `---\n${lines}\n---\nDo it.\n`);
  }

  /** Starts a daemon on the folder; again after {@link stop}, as after a restart. */
  async start({ env = {}, log }: StartOptions = {}): Promise<void> {
    const captured = captureLog();
    const { PATH, HOME, TMPDIR } = process.env;
    const daemon = new Daemon({
      workflowPath: join(this.dir, "WORKFLOW.md"),
      stateDir: null,
      port: null,
      host: null,
      env: { PATH, HOME, TMPDIR, ...env },
      version: "0.0.0-test",
      clock: systemClock,
      log: log ?? Object.assign(captured.log, { addSecrets: () => undefined }),
    });
    await daemon.start();
    this.#daemon = daemon;
    this.log = captured;
  }

  /** Stops at once: what runs is interrupted. */
  async stop(): Promise<void> {
    const daemon = this.#daemon;
    this.#daemon = null;
    const stopped = daemon?.stop();
    daemon?.kill();
    await stopped;
  }

  get daemon(): Daemon {
    if (this.#daemon === null) throw new Error("no daemon is running");
    return this.#daemon;
  }

  snapshot(): Snapshot {
    return this.daemon.orchestrator.snapshot() as unknown as Snapshot;
  }

  /** Waits until the snapshot shows something. */
  until<T>(what: string, probe: (snapshot: Snapshot) => T): Promise<Exclude<T, undefined | null | false>> {
    return until(what, () => probe(this.snapshot()));
  }

  /** Waits until a ticket's agent is in a turn, and answers its row. */
  untilInTurn(ticket: string): Promise<Row> {
    return this.until(`${ticket} is in a turn`, ({ running }) =>
      running.find(
        (row) => row["issue_identifier"] === ticket && row["last_event"] !== null && row["phase"] === "turn",
      ),
    );
  }

  /** Waits until a ticket has ended that many runs, and answers all of its runs, the oldest first. */
  async untilRunsEnded(ticket: string, count = 1): Promise<readonly RunJson[]> {
    // Asking the ledger costs more than all else that a waiting test does: only when something has changed.
    let changed = true;
    const unobserve = this.daemon.orchestrator.observe({
      changed: () => (changed = true),
      agentEvent: () => undefined,
    });
    using _ = { [Symbol.dispose]: unobserve };
    return await until(`${ticket} has ended ${count} runs`, () => {
      if (!changed) return false;
      changed = false;
      const runs = this.runs().filter((run) => run.issue_identifier === ticket);
      return runs.filter((run) => run.ended_at !== null).length >= count && runs;
    });
  }

  /** Asks the API over the control socket; a body goes as JSON. */
  ask(method: string, path: string, body?: unknown): Promise<Answer> {
    const answer = Promise.withResolvers<Answer>();
    const headers = body === undefined ? {} : { "content-type": "application/json" };
    const outgoing = request({ socketPath: this.daemon.files.socket, method, path, headers }, (incoming) => {
      let text = "";
      incoming.setEncoding("utf8").on("data", (chunk: string) => (text += chunk));
      incoming.on("end", () => answer.resolve({ status: incoming.statusCode ?? 0, text }));
    });
    outgoing.on("error", answer.reject);
    outgoing.end(body === undefined ? undefined : JSON.stringify(body));
    return answer.promise;
  }

  /** All runs of the ledger, the oldest first; while the daemon runs or not. */
  runs(): readonly RunJson[] {
    const reader = openLedgerReader(join(this.dir, "state", "ledger.db"));
    try {
      return reader.runs().toReversed();
    } finally {
      reader.close();
    }
  }

  /** The text of a file below the folder, or "" when there is none. */
  async text(...path: readonly string[]): Promise<string> {
    return readFile(join(this.dir, ...path), "utf8").catch(() => "");
  }

  /** Lines of the log that say exactly this, parsed. */
  logged(message: string): readonly Row[] {
    return this.log
      .lines()
      .map((line) => JSON.parse(line) as Row)
      .filter((line) => line["msg"] === message);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.stop();
    await this.#removeDir();
  }
}
