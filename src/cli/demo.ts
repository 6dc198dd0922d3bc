/** `symphony demo`: the real daemon on a small board of its own, with the simulated agent that ships with it. */
import { Daemon } from "../daemon.ts";
import { openLedgerReader } from "../ledger/queries.ts";
import { stateFiles } from "../ledger/state-files.ts";
import { systemClock } from "../lib/clock.ts";
import { createLog, type RootLog } from "../lib/log.ts";
import { createTracker, trackerDescriptors } from "../tracker/registry.ts";
import { loadWorkflow } from "../workflow/load.ts";
import type { DemoLayout } from "./demo-board.ts";
import * as places from "./demo-place.ts";
import { summarize, summaryLines } from "./demo-report.ts";
import { createDemoView, ticketLines, type DemoView } from "./demo-view.ts";
import { DemoWatch, readBoard, viewTickets, type DemoEnd } from "./demo-watch.ts";
import { printJson, printLines } from "./output.ts";
import { packageVersion } from "./package-version.ts";
import { listenForStop, signalExitCode, type StopSignal } from "./stop-signals.ts";

export interface DemoOptions {
  readonly json: boolean;
  /** Keep the folder, and go on in it the next time. */
  readonly keep: boolean;
  /** The folder that is kept; null = one below the user's state directory. */
  readonly dir: string | null;
  /** As the daemon's. */
  readonly port: number | null;
  readonly host: string | null;
}

/** Why a demo is over. */
type Ending = DemoEnd | "late" | StopSignal;

interface Course {
  readonly ending: Ending;
  /** Until the board was done, or until the end. */
  readonly tookMs: number;
}

/** Ten times what it takes. A demo that needs longer is broken, and should say so rather than hang. */
const DEADLINE_MS = 5 * 60_000;
/** Of the demo's own log. */
const LOG_BYTES = 10_000_000;

/** Runs the demo to its end; answers the exit code. */
export async function demo(options: DemoOptions): Promise<number> {
  const place = await openPlace(options);
  const log = createLog({ level: "info", stderr: "off" });
  try {
    log.addFile({ path: place.layout.log, maxBytes: LOG_BYTES, keep: 1 });
    const course = await new DemoRun(options, place, log).untilTheEnd();
    await log.close();
    return await conclude(options, place, course);
  } catch (error) {
    await log.close();
    if (!options.keep) await places.removeDemo(place.layout.dir);
    throw error;
  }
}

async function openPlace({ keep, dir }: DemoOptions): Promise<places.DemoPlace> {
  const now = systemClock.now();
  if (!keep) return places.makeTemporaryDemo(now);
  return places.openKeptDemo(dir ?? places.keptDemoDirectory(process.env), now, isFinished);
}

/** A demo runs the same wherever it is started: without the user's git settings, and without a slow or noisy shell profile. */
function demoEnvironment({ agentHome }: DemoLayout): NodeJS.ProcessEnv {
  const { BASH_ENV: _, ...env } = places.environmentWithoutGit(process.env);
  return { ...env, HOME: agentHome };
}

/** One demo with its daemon. */
class DemoRun {
  readonly #options: DemoOptions;
  readonly #place: places.DemoPlace;
  readonly #daemon: Daemon;
  readonly #log: RootLog;
  readonly #view: DemoView;
  readonly #ending = Promise.withResolvers<Ending>();
  readonly #startedAt = systemClock.now();
  #doneAt: number | null = null;
  #killedBy: StopSignal | null = null;

  constructor(options: DemoOptions, place: places.DemoPlace, log: RootLog) {
    this.#options = options;
    this.#place = place;
    this.#log = log;
    this.#view = createDemoView(options.json ? process.stderr : process.stdout, process.env);
    this.#daemon = new Daemon({
      workflowPath: place.layout.workflow,
      stateDir: null,
      port: options.port,
      host: options.host,
      env: demoEnvironment(place.layout),
      version: packageVersion(),
      clock: systemClock,
      log,
    });
  }

  /** A person who keeps the demo, or asks for its API, wants to play with it; a script wants it to end. */
  get #stays(): boolean {
    const { keep, json, port } = this.#options;
    return keep && !json && (process.stdout.isTTY || port !== null);
  }

  /** Resolves when the daemon has stopped. */
  async untilTheEnd(): Promise<Course> {
    await using cleanup = new AsyncDisposableStack();
    cleanup.defer(() => this.#view.close());
    cleanup.use(this.#listenToSignals());
    this.#introduce();
    await this.#daemon.start();
    cleanup.defer(() => this.#daemon.stop());
    // The token in it is for a person's eyes, not for a file that output goes to.
    const url = process.stdout.isTTY ? this.#daemon.dashboardUrl : this.#daemon.url;
    if (url !== null) this.#view.note(`The dashboard is at ${url}`);
    await this.#watch(cleanup);
    if (!this.#stays) {
      const deadline = systemClock.setTimer(DEADLINE_MS, () => this.#ending.resolve("late"));
      cleanup.defer(() => deadline.cancel());
    }
    const ending = await this.#ending.promise;
    if (this.#killedBy !== null) this.#daemon.kill();
    const tookMs = (this.#doneAt ?? systemClock.now()) - this.#startedAt;
    return { ending: this.#doneAt === null ? ending : "done", tookMs };
  }

  #introduce(): void {
    const { layout, resumed, previous } = this.#place;
    const verb = resumed ? "goes on with" : "works through";
    this.#view.note(`The daemon ${verb} the board in ${layout.board}. The agent is simulated: no model is called.`);
    if (previous !== null) this.#view.note(`The finished demo that was here is now in ${previous}.`);
  }

  async #watch(cleanup: AsyncDisposableStack): Promise<void> {
    const { orchestrator, settings, files } = this.#daemon;
    const reader = openLedgerReader(files.ledger);
    cleanup.defer(() => reader.close());
    const watch = new DemoWatch({
      clock: systemClock,
      settings,
      tracker: await createTracker({ settings, clock: systemClock, log: this.#log }),
      claims: () => orchestrator.state.claims,
      runs: () => reader.runs(),
      view: this.#view,
      ended: (end) => this.#onEnd(end),
      failed: (error) => this.#log.warn({ err: error }, "the demo's board can't be read"),
    });
    cleanup.use(watch);
    cleanup.defer(
      orchestrator.observe({
        changed: () => watch.changed(),
        agentEvent: (runId, issueId, event) => watch.agentEvent(runId, issueId, event),
      }),
    );
    watch.changed();
  }

  #onEnd(end: DemoEnd): void {
    if (end === "done") this.#doneAt ??= systemClock.now();
    if (!this.#stays) {
      this.#ending.resolve(end);
      return;
    }
    const { workflow, board } = this.#place.layout;
    const news = end === "done" ? "The board is done." : "What is left is blocked and waits for a person.";
    this.#view.note(`${news} The daemon goes on until Ctrl-C: edit ${workflow}, or add a ticket to ${board}.`);
  }

  #listenToSignals(): Disposable {
    return listenForStop(
      {
        drain: (signal) => this.#ending.resolve(signal),
        kill: (signal) => {
          this.#killedBy = signal;
          this.#daemon.kill();
        },
        hangup: () => undefined,
      },
      { clock: systemClock, terminal: process.stdin.isTTY || process.stdout.isTTY },
    );
  }
}

/** Prints the result, and removes what isn't to be kept. */
async function conclude(
  options: DemoOptions,
  { layout }: places.DemoPlace,
  { ending, tookMs }: Course,
): Promise<number> {
  const { ledger, dir } = stateFiles(layout.state);
  const { tickets, runs } = await readResult(layout);
  const summary = summarize(tickets, runs, ledger);
  const say = options.json ? complain : printLines;
  const isInterrupted = ending !== "done" && ending !== "stuck" && ending !== "late";
  say(["", ...ticketLines(tickets), "", ...summaryLines(summary, tookMs)]);
  if (isInterrupted) return await interrupted(options, layout, ending);
  if (ending !== "done") {
    say([
      `The board is not done (${ending}); everything stays in ${layout.dir}, and the daemon's log is ${layout.log}.`,
    ]);
  } else if (options.keep) {
    say([`Everything stays in ${layout.dir}; the work is in the branches of ${layout.repository}.`]);
  } else {
    await places.keepLedgerOnly(layout);
  }
  say([`The ledger is ${ledger}. Look into it: ${ownCommand()} runs --state-dir ${dir}`]);
  if (options.json) printJson(summary);
  return ending === "done" ? 0 : 1;
}

async function interrupted(options: DemoOptions, layout: DemoLayout, signal: StopSignal): Promise<number> {
  if (options.keep) {
    complain([`Stopped by ${signal}. The same command goes on in ${layout.dir}.`]);
  } else {
    await places.removeDemo(layout.dir);
    complain([`Stopped by ${signal}; everything of it is removed.`]);
  }
  return signalExitCode(signal);
}

function complain(lines: readonly string[]): void {
  process.stderr.write(`${lines.join("\n")}\n`);
}

/** How this program was started, for a line that can be copied. */
function ownCommand(): string {
  return process.env["npm_lifecycle_event"] === undefined ? "symphony" : "npm run -s symphony --";
}

/** Board and ledger once no daemon works there. */
async function readResult(layout: DemoLayout) {
  const { settings } = loadWorkflow(layout.workflow, { descriptors: trackerDescriptors, env: process.env });
  const tracker = await createTracker({
    settings,
    clock: systemClock,
    log: createLog({ level: "silent", stderr: "off" }),
  });
  const reader = openLedgerReader(stateFiles(layout.state).ledger);
  try {
    const runs = reader.runs();
    const issues = await readBoard(tracker, settings);
    return { runs, tickets: viewTickets(issues, { settings, runs, claims: new Map(), activity: new Map() }) };
  } finally {
    reader.close();
  }
}

/** True when nothing of an earlier demo is left to do. One that can't be read isn't finished: starting it will say what is wrong. */
async function isFinished(layout: DemoLayout): Promise<boolean> {
  try {
    const { tickets, runs } = await readResult(layout);
    return tickets.every((ticket) => ticket.terminal) && runs.every((run) => run.ended_at !== null);
  } catch {
    return false;
  }
}
