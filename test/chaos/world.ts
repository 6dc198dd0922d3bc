/** One round's world: a board, a daemon that is started again and again, its agents, and what all of them left behind. */
import { existsSync, readdirSync, readFileSync } from "node:fs";
import { mkdir, writeFile } from "node:fs/promises";
import { join, resolve } from "node:path";
import { setTimeout as pause } from "node:timers/promises";
import { makeSurroundings, type Ending, type RunningCommand, type Surroundings } from "../e2e/command-line.ts";
import { until } from "../support/until.ts";
import { readJournal, type Entry } from "./journal.ts";
import type { Moment, RoundPlan } from "./plan.ts";
import { agentScript, HOOKS, SHELL_LIBRARY } from "./scripts.ts";
import { processesOf, sendSignal } from "./processes.ts";
import { mountSmallDisk, type SmallDisk } from "./small-disk.ts";

const AGENT = resolve(import.meta.dirname, "agent/main.ts");
const COMPILE_CACHE = resolve(import.meta.dirname, "../../node_modules/.cache/chaos-agent");
/** A start looks for orphans and ends them, stubborn ones by force; on a busy machine that takes a while. */
const START_PATIENCE_MS = 300_000;
/** The drain, then the stop ladder of a stubborn agent, several times over. */
const STOP_PATIENCE_MS = 300_000;
const LOOK_EVERY_MS = 3;

/** In the daemon's environment and nowhere else. */
export const SECRET = "chaos-s3cret-4f1d0c";

export class World {
  readonly plan: RoundPlan;
  readonly user: Surroundings;
  /** Locks, journal, and whatever else the round's own programs share. */
  readonly chaosDir: string;
  readonly stateDir: string;
  readonly ledger: string;
  /** A disk of the state directory's own; else why there is none, or null when none was wanted. */
  readonly disk: SmallDisk | string | null;
  /** Deaths of daemons that nobody had asked for. */
  readonly deaths: string[] = [];
  /** Those whose end was asked for. */
  readonly #expected = new Set<RunningCommand>();
  /** All that earlier daemons logged. */
  #past = "";
  #daemon: RunningCommand | null = null;

  private constructor(plan: RoundPlan, user: Surroundings, disk: SmallDisk | string | null) {
    this.plan = plan;
    this.user = user;
    this.disk = disk;
    this.chaosDir = join(user.root, "chaos");
    this.stateDir = join(user.dir, "state");
    this.ledger = join(this.stateDir, "ledger.db");
  }

  static async make(plan: RoundPlan): Promise<World> {
    const user = await makeSurroundings();
    const wantsDisk = plan.faults.some(({ kind }) => kind === "full_disk" || kind === "full_disk_kill");
    const world = new World(plan, user, wantsDisk ? mountSmallDisk(join(user.dir, "state")) : null);
    await world.#write();
    return world;
  }

  async #write(): Promise<void> {
    const { user, chaosDir, plan } = this;
    const folders = ["", "locks", "stubborn", "seen", "agents"].map((name) => join(chaosDir, name));
    for (const path of [...folders, join(user.dir, "board")]) await mkdir(path, { recursive: true });
    await writeFile(join(chaosDir, "lib.sh"), SHELL_LIBRARY);
    await writeFile(join(chaosDir, "journal"), "");
    await writeFile(join(chaosDir, "script.json"), JSON.stringify(agentScript(plan.tickets)));
    for (const { id, kind } of plan.tickets) {
      await writeFile(join(user.dir, "board", `${id}.md`), `---\ntitle: A ${kind} one\nstate: Todo\n---\n\nDo it.\n`);
      if (kind === "stubborn") await writeFile(join(chaosDir, "stubborn", id), "");
    }
    await writeFile(join(user.dir, "WORKFLOW.md"), workflow(plan, chaosDir));
  }

  get daemon(): RunningCommand {
    if (this.#daemon === null) throw new Error("no daemon has been started yet");
    return this.#daemon;
  }

  /** The log of all daemons so far. */
  get log(): string {
    return this.#past + (this.#daemon?.stderr() ?? "");
  }

  /** Starts the command line of a daemon, and says nothing of how that goes. */
  command(): RunningCommand {
    return this.user.start(["--port", "0"], {
      CHAOS_DIR: this.chaosDir,
      LINEAR_API_KEY: SECRET,
      CHAOS_SECRET: SECRET,
    });
  }

  /** Starts the next daemon. From now on its end is a death, unless it is asked for. */
  start(): void {
    if (this.#daemon !== null) this.#past += this.#daemon.stderr();
    const daemon = this.command();
    this.#daemon = daemon;
    void this.#watch(daemon);
  }

  async #watch(daemon: RunningCommand): Promise<void> {
    const end = await daemon.ended;
    if (!this.#expected.has(daemon)) this.deaths.push(describeEnd(end));
  }

  /** Resolves once the daemon works; rejects when it ends instead. */
  async ready(): Promise<void> {
    const { daemon } = this;
    await until(
      "the daemon has started",
      async () => {
        if (daemon.stderr().includes('"msg":"daemon started"')) return true;
        const end = await Promise.race([daemon.ended, Promise.resolve(null)]);
        if (end === null) return false;
        throw new Error(`the daemon did not start: ${describeEnd(end)}`);
      },
      START_PATIENCE_MS,
    );
  }

  async restart(): Promise<void> {
    this.start();
    await this.ready();
  }

  /** SIGKILL, and its end. */
  async killDaemon(): Promise<void> {
    this.#expected.add(this.daemon);
    this.daemon.kill("SIGCONT");
    this.daemon.kill("SIGKILL");
    await this.daemon.ended;
  }

  /** The signals one after the other (an echo of the first counts as one request), and the end. */
  async stopDaemon(...signals: readonly NodeJS.Signals[]): Promise<Ending> {
    const { daemon } = this;
    this.#expected.add(daemon);
    for (const signal of signals) daemon.kill(signal);
    let end: Ending | null = null;
    void daemon.ended.then((ending) => (end = ending));
    return until("the daemon has stopped", () => end, STOP_PATIENCE_MS);
  }

  journal(): readonly Entry[] {
    return readJournal(join(this.chaosDir, "journal"));
  }

  /** Waits for the next such moment, and not for ever: a round may have none of them left. */
  async reach(moment: Moment, patienceMs: number): Promise<boolean> {
    const count = (): number =>
      this.journal().filter(({ name }) => name === moment).length + this.log.split(`"msg":"${moment}"`).length;
    const before = count();
    const deadline = performance.now() + patienceMs;
    while (count() === before) {
      if (performance.now() > deadline) return false;
      await pause(LOOK_EVERY_MS);
    }
    return true;
  }

  /** A ticket's state as its file says; "" while it can't be read. */
  stateOf(ticket: string): string {
    try {
      const text = readFileSync(join(this.user.dir, "board", `${ticket}.md`), "utf8");
      return /^state: (.*)$/m.exec(text)?.[1] ?? "";
    } catch {
      return "";
    }
  }

  /** Names of the directories in which agents work. */
  workspaces(): readonly string[] {
    const root = join(this.user.dir, "workspaces");
    return existsSync(root) ? readdirSync(root).filter((name) => !name.startsWith(".")) : [];
  }

  async [Symbol.asyncDispose](): Promise<void> {
    if (this.#daemon !== null) await this.killDaemon();
    for (const { pid } of processesOf(this.user.root)) sendSignal(pid, "SIGKILL");
    if (this.disk !== null && typeof this.disk !== "string") this.disk.unmount();
    await this.user[Symbol.asyncDispose]();
  }
}

function describeEnd({ code, signal, stderr }: Ending): string {
  return `it ended with ${signal ?? `code ${code ?? "?"}`}; its last words:\n${stderr.split("\n").slice(-8).join("\n")}`;
}

function workflow({ launcherStays }: RoundPlan, chaosDir: string): string {
  const launch = '. "$CHAOS_DIR/lib.sh"; alone launch; note launch';
  const agent = `env NODE_COMPILE_CACHE='${COMPILE_CACHE}' '${process.execPath}' '${AGENT}'`;
  // With a command behind it the shell can't be replaced by the agent.
  const command = launcherStays ? `${launch}; ${agent}; exit $?` : `${launch}; exec ${agent}`;
  const hooks = Object.entries(HOOKS).map(([name, script]) => `  ${name}: ${JSON.stringify(script)}`);
  return `---
tracker:
  kind: local
  provider: { path: ./board }
polling: { interval_ms: 200 }
workspace: { root: ./workspaces }
hooks:
${hooks.join("\n")}
agent: { max_concurrent_agents: 3, max_retry_backoff_ms: 300, finish_grace_ms: 2000 }
approvals: { questions: ask, timeout_ms: 300 }
codex:
  command: ${JSON.stringify(command)}
  env: { CHAOS_DIR: ${JSON.stringify(chaosDir)} }
  stall_timeout_ms: 5000
shutdown: { drain_ms: 1500 }
state: { dir: ./state }
---
Work on {{ issue.identifier }}.
`;
}
