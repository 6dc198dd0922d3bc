/** One daemon of the built package, as a process of its own on a folder of its own. */
import { spawn, type ChildProcess } from "node:child_process";
import { once } from "node:events";
import { mkdirSync, mkdtempSync, realpathSync, rmSync, writeFileSync } from "node:fs";
import { request, type IncomingMessage } from "node:http";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createInterface } from "node:readline";
import Database from "better-sqlite3";
import { until } from "../test/support/until.ts";
import { builtPackage } from "./built-package.ts";
import { processFigures, type ProcessFigures } from "./process-figures.ts";

type Json = Readonly<Record<string, unknown>>;

/** What the simulated agent does in each turn of a ticket (docs/simulated-agent.md). */
type Turns = readonly (readonly Json[])[];

/** Two turns of 250 events; the last step ends the ticket by a call of a tracker's tool. */
export function twoBusyTurns(end: { readonly tool: string; readonly arguments: Json }): Turns {
  const burst = { do: "burst", events: 250 };
  return [[burst], [burst, { do: "tool", ...end }]];
}

const ENDS_ON_BOARD = twoBusyTurns({ tool: "local_board", arguments: { action: "move", state: "Done" } });

/** The simulated agent as it is started for a ticket. */
export interface AgentCommand {
  readonly file: string;
  readonly args: readonly string[];
  readonly env: Readonly<Record<string, string>>;
}

/** Everything that it starts ends, and its folder goes, when it is disposed. */
export class Product implements AsyncDisposable {
  readonly dir = mkdtempSync(join(realpathSync(tmpdir()), "symphony-bench-"));
  #child: ChildProcess | null = null;

  constructor() {
    for (const name of ["board", "home", "state"]) mkdirSync(join(this.dir, name), { mode: 0o700 });
  }

  get ledgerPath(): string {
    return join(this.dir, "state", "ledger.db");
  }

  get agent(): AgentCommand {
    return {
      file: process.execPath,
      args: [join(builtPackage(), "dist", "agent", "simulated", "main.js")],
      env: {
        SYMPHONY_SIMULATED_HOME: join(this.dir, "agents"),
        SYMPHONY_SIMULATED_SCRIPT: join(this.dir, "script.json"),
      },
    };
  }

  /** Sections of the front matter over a local board, the simulated agent and its script. */
  configure(sections: Json = {}, turns: Turns = ENDS_ON_BOARD): void {
    const { file, args, env } = this.agent;
    const script = { tickets: { "*": { runs: [{ turns: turns.map((steps) => ({ steps })) }] } } };
    writeFileSync(join(this.dir, "script.json"), JSON.stringify(script));
    const assignments = Object.entries(env).map(([name, value]) => `${name}=${value}`);
    const front = {
      tracker: { kind: "local", provider: { path: "./board" } },
      polling: { interval_ms: 1000 },
      workspace: { root: "./workspaces" },
      agent: { max_concurrent_agents: 50 },
      codex: { command: [...assignments, file, ...args].join(" ") },
      state: { dir: "./state" },
      shutdown: { drain_ms: 100 },
      ...sections,
    };
    // JSON is YAML.
    writeFileSync(
      join(this.dir, "WORKFLOW.md"),
      `---\n${JSON.stringify(front)}\n---\nWork on {{ issue.identifier }}.\n`,
    );
  }

  addTickets(count: number, from = 0): void {
    for (let n = from; n < from + count; n += 1) {
      writeFileSync(join(this.dir, "board", `B-${n}.md`), `---\ntitle: Ticket ${n}\nstate: Todo\n---\nDo it.\n`);
    }
  }

  /** Milliseconds from the start of the process until the log says `message`; `env` beside what a login has. */
  async start(message = "daemon started", env: Readonly<Record<string, string>> = {}): Promise<number> {
    const begun = performance.now();
    const entry = join(builtPackage(), "dist", "cli", "bin.js");
    const child = spawn(process.execPath, [entry, join(this.dir, "WORKFLOW.md")], {
      stdio: ["ignore", "ignore", "pipe"],
      // An empty home: what the user's login shell does is not ours.
      env: { PATH: process.env["PATH"], HOME: join(this.dir, "home"), ...env },
    });
    this.#child = child;
    const said = Promise.withResolvers<number>();
    const last: string[] = [];
    createInterface({ input: child.stderr }).on("line", (line) => {
      last.push(line);
      if (last.length > 5) last.shift();
      if (line.includes(`"msg":"${message}"`)) said.resolve(performance.now() - begun);
    });
    child.once("exit", () => said.reject(new Error(`the daemon ended: ${last.join("\n")}`)));
    return said.promise;
  }

  get pid(): number {
    const pid = this.#child?.pid;
    if (pid === undefined) throw new Error("no daemon is running");
    return pid;
  }

  figures(): ProcessFigures {
    return processFigures(this.pid);
  }

  /** Has the daemon poll now; answers when the tick began, in epoch milliseconds. */
  async tick(): Promise<number> {
    const begun = Date.now();
    const socketPath = join(this.dir, "state", "control.sock");
    const asked = request({ socketPath, method: "POST", path: "/api/v1/refresh" });
    const { promise, resolve, reject } = Promise.withResolvers<IncomingMessage>();
    asked.once("response", resolve).once("error", reject).end();
    const answer = (await promise).resume();
    if (answer.statusCode !== 202) throw new Error(`the daemon doesn't poll: status ${answer.statusCode ?? "unknown"}`);
    return begun;
  }

  /** One whole number from the ledger. */
  count(sql: string): number {
    const db = new Database(this.ledgerPath, { readonly: true });
    try {
      return db.prepare<[], number>(sql).pluck().get() ?? 0;
    } finally {
      db.close();
    }
  }

  /** Waits until that many runs have ended and nothing is claimed any more: the workspaces are gone, too. */
  async untilEnded(count: number, withinMs: number): Promise<void> {
    const left = "(SELECT count(*) FROM claims) + (SELECT count(*) FROM runs WHERE ended_at IS NULL)";
    const sql = `SELECT iif(${left} = 0, (SELECT count(*) FROM runs), 0)`;
    await until(`${count} runs have ended`, () => this.count(sql) >= count, withinMs);
  }

  async stop(): Promise<void> {
    const child = this.#child;
    this.#child = null;
    if (child?.exitCode !== null || child.signalCode !== null) return;
    const ended = once(child, "exit");
    child.kill("SIGTERM");
    await ended;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.stop();
    rmSync(this.dir, { recursive: true, force: true });
  }
}
