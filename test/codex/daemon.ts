/** The daemon as a user starts it, on the real codex binary: a workflow file, a state directory, and the command line. */
import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { mkdir, readdir, writeFile } from "node:fs/promises";
import { request } from "node:http";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { isRecord } from "../../src/agent/simulated/wire.ts";
import type { Params } from "../fakes/app-server-client.ts";
import type { ResponsesServer } from "../fakes/responses-server.ts";
import { makeTempDir } from "../support/temp-dir.ts";
import { until } from "../support/until.ts";
import { FULL_ACCESS, installCodex, makeCodexHome, sandboxWorks } from "./codex-binary.ts";

const CLI = fileURLToPath(new URL("../../src/cli/bin.ts", import.meta.url));

/** Long: the real binary starts two processes, and the machine may be busy. */
const STOP_DEADLINE_MS = 60_000;

/** One row of `symphony runs --json`, as far as these tests look at it. */
export interface RunRow {
  readonly run_id: string;
  readonly issue_identifier: string;
  readonly attempt: number | null;
  readonly outcome: string | null;
  readonly class: string | null;
  readonly error: string | null;
  readonly thread_id: string | null;
  readonly turns: number;
  readonly tokens: { readonly input: number; readonly cached_input: number; readonly output: number };
}

/** A folder with all that a daemon needs, and the daemon while it runs. */
export class DaemonBench implements AsyncDisposable {
  readonly dir: string;
  readonly workspaces: string;
  readonly stateDir: string;
  /** What the daemon, and every command beside it, is started with. */
  readonly env: Record<string, string>;
  readonly #dispose: () => Promise<void>;
  #daemon: ChildProcess | null = null;
  /** The daemon's log so far. */
  log = "";

  private constructor(dir: string, env: Record<string, string>, dispose: () => Promise<void>) {
    this.dir = dir;
    this.workspaces = join(dir, "workspaces");
    this.stateDir = join(dir, "state");
    this.env = env;
    this.#dispose = dispose;
  }

  /** Makes the folder, with a codex home that talks to `model` alone. */
  static async make(model: ResponsesServer): Promise<DaemonBench> {
    const dir = await makeTempDir();
    const home = join(dir.path, "home");
    // What codex's sandbox leaves in the temporary folder goes with the rest.
    const temporary = join(dir.path, "tmp");
    for (const folder of [home, temporary]) await mkdir(folder);
    const codexHome = await makeCodexHome(dir.path, model.baseUrl);
    const env = {
      PATH: process.env["PATH"] ?? "",
      HOME: home,
      CODEX_HOME: codexHome,
      TMPDIR: temporary,
    };
    return new DaemonBench(dir.path, env, () => dir.dispose());
  }

  /** Front matter for the real binary; JSON is YAML. Keys of `more` are laid over it, one level deep. */
  async writeWorkflow(more: Readonly<Record<string, Params>>, prompt: string): Promise<void> {
    const access = (await sandboxWorks(this.env)) ? {} : { turn_sandbox_policy: FULL_ACCESS };
    const base: Record<string, Params> = {
      polling: { interval_ms: 250 },
      workspace: { root: this.workspaces },
      hooks: { after_create: "git init -q" },
      codex: { command: `'${await installCodex()}' app-server`, ...access },
    };
    for (const [key, value] of Object.entries(more)) base[key] = { ...base[key], ...value };
    await writeFile(join(this.dir, "WORKFLOW.md"), `---\n${JSON.stringify(base, null, 2)}\n---\n${prompt}\n`);
  }

  /** `symphony WORKFLOW.md --state-dir ...`; resolves when it says that it has started. */
  async start(): Promise<void> {
    const args = [CLI, join(this.dir, "WORKFLOW.md"), "--state-dir", this.stateDir, "--log-level", "debug"];
    const child = spawn(process.execPath, args, { cwd: this.dir, env: this.env, stdio: ["ignore", "ignore", "pipe"] });
    this.#daemon = child;
    child.stderr.setEncoding("utf8").on("data", (text: string) => (this.log += text));
    await until("the daemon has started", () => {
      if (child.exitCode !== null) throw new Error(`the daemon ended with ${child.exitCode}: ${this.log}`);
      return this.log.includes('"daemon started"');
    });
  }

  /** Names of the workspaces that are there; the daemon's own records beside them don't count. */
  async workspaceNames(): Promise<readonly string[]> {
    const names = await readdir(this.workspaces);
    return names.filter((name) => name !== ".symphony");
  }

  /** Sends TERM and answers the exit code. */
  async stop(): Promise<number | null> {
    const child = this.#daemon;
    if (child === null) return null;
    this.#daemon = null;
    if (child.exitCode !== null || child.signalCode !== null) return child.exitCode;
    const exit = once(child, "exit", { signal: AbortSignal.timeout(STOP_DEADLINE_MS) });
    child.kill("SIGTERM");
    await exit;
    return child.exitCode;
  }

  /** `GET /api/v1/state` over the control socket. */
  async state(): Promise<Params> {
    const asked = request({ socketPath: join(this.stateDir, "control.sock"), path: "/api/v1/state" });
    const answered = once(asked, "response") as Promise<[AsyncIterable<Buffer>]>;
    asked.end();
    const [response] = await answered;
    const chunks: Buffer[] = [];
    for await (const chunk of response) chunks.push(chunk);
    const body: unknown = JSON.parse(Buffer.concat(chunks).toString("utf8"));
    if (!isRecord(body)) throw new Error("the state is no JSON object");
    return body;
  }

  /** `symphony <command> --json`. */
  async ask(command: "runs" | "usage"): Promise<unknown> {
    const args = [CLI, command, "--json", "--state-dir", this.stateDir];
    const child = spawn(process.execPath, args, { cwd: this.dir, env: this.env, stdio: ["ignore", "pipe", "inherit"] });
    let text = "";
    child.stdout.setEncoding("utf8").on("data", (more: string) => (text += more));
    await once(child, "close");
    return JSON.parse(text);
  }

  /** All runs, the oldest first. */
  async runs(): Promise<readonly RunRow[]> {
    const rows = (await this.ask("runs")) as readonly RunRow[];
    return rows.toReversed();
  }

  /** Waits until so many runs of a ticket have ended, and answers them, the oldest first. */
  async endedRuns(identifier: string, count = 1): Promise<readonly RunRow[]> {
    return until(`${count} run(s) of ${identifier} have ended`, async () => {
      const mine = (await this.runs()).filter((run) => run.issue_identifier === identifier && run.outcome !== null);
      return mine.length >= count ? mine : null;
    });
  }

  async [Symbol.asyncDispose](): Promise<void> {
    const child = this.#daemon;
    if (child?.exitCode === null && child.signalCode === null) {
      const exit = once(child, "exit");
      child.kill("SIGKILL");
      await exit;
    }
    await this.#dispose();
  }
}
