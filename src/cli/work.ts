/** `symphony work ISSUE`: one ticket in the foreground, by a daemon of its own that starts nothing else and ends with it. */
import { basename } from "node:path";
import { Daemon } from "../daemon.ts";
import { AppError, isAppError } from "../domain/errors.ts";
import { openLedgerReader } from "../ledger/queries.ts";
import type { RunJson } from "../ledger/run-list.ts";
import { systemClock } from "../lib/clock.ts";
import { createLog, type LogLevel, type RootLog } from "../lib/log.ts";
import { messageOf } from "../orchestrator/live.ts";
import { eventLine } from "./events.ts";
import { printJson, printLines } from "./output.ts";
import { packageVersion } from "./package-version.ts";
import { listenForStop, signalExitCode, type StopSignal } from "./stop-signals.ts";
import { plainLine } from "./terminal-text.ts";
import { WorkCourse, type WorkEnd } from "./work-course.ts";

export interface WorkOptions {
  /** The ticket's identifier. */
  readonly issue: string;
  /** Absolute. */
  readonly workflowPath: string;
  readonly stateDir: string | null;
  readonly logLevel: LogLevel;
  readonly json: boolean;
}

/** 3: it needs a person (contract.md). */
const EXIT_CODES: { readonly [outcome in WorkEnd["outcome"]]: number } = { done: 0, failed: 1, blocked: 3 };

/** Works the ticket to its end; answers the exit code. Rejects with an AppError when the daemon can't start, for instance because one runs. */
export async function work(options: WorkOptions): Promise<number> {
  const log = createLog({ level: options.logLevel, stderr: process.stderr.isTTY ? "pretty" : "json" });
  try {
    return await new Work(options, log).untilTheEnd();
  } finally {
    await log.close();
  }
}

class Work {
  readonly #options: WorkOptions;
  readonly #daemon: Daemon;
  readonly #ending = Promise.withResolvers<WorkEnd | StopSignal>();
  #killed = false;

  constructor(options: WorkOptions, log: RootLog) {
    this.#options = options;
    const { workflowPath, stateDir, issue } = options;
    this.#daemon = new Daemon({
      workflowPath,
      stateDir,
      log,
      only: issue,
      port: null,
      host: null,
      env: process.env,
      version: packageVersion(),
      clock: systemClock,
    });
  }

  async untilTheEnd(): Promise<number> {
    using signals = new DisposableStack();
    signals.use(this.#listenToSignals());
    await this.#daemon.start().catch((error: unknown) => {
      throw isAppError(error, "already_running") ? askTheOther(error, this.#options) : error;
    });
    const { json } = this.#options;
    const startedAt = systemClock.now();
    const ledger = openLedgerReader(this.#daemon.files.ledger);
    try {
      const telling = this.#tell();
      const ending = await this.#watch();
      const stopped = this.#daemon.stop();
      if (this.#killed) this.#daemon.kill();
      await stopped;
      await telling;
      if (typeof ending === "string") return signalExitCode(ending);
      const runs = ledger.runs({ issue: ending.identifier }).filter((run) => Date.parse(run.started_at) >= startedAt);
      if (json) printJson(resultJson(ending, runs));
      this.#say(plainLine(`${ending.identifier} ${ending.outcome}: ${ending.message}`));
      return EXIT_CODES[ending.outcome];
    } finally {
      ledger.close();
    }
  }

  /** Looks at each change until the ticket has come to an end, or somebody stops it. */
  async #watch(): Promise<WorkEnd | StopSignal> {
    const { orchestrator } = this.#daemon;
    const course = new WorkCourse(this.#options.issue);
    const look = (): void => {
      const { state, malformed, ledgerError } = orchestrator;
      const { settings } = this.#daemon;
      const found = course.look({ state, malformed, ledgerError, settings, now: systemClock.now() });
      if (found?.kind === "end") this.#ending.resolve(found.end);
      // A ticket that waits for its time, or for a person, from an earlier day: this command is that person.
      if (found?.kind === "retry") orchestrator.operate({ kind: "retry", issueId: found.issueId });
    };
    const stopWatching = orchestrator.observe({ changed: look });
    look();
    try {
      return await this.#ending.promise;
    } finally {
      stopWatching();
    }
  }

  /** The agent's events as they come; ends with the daemon. */
  async #tell(): Promise<void> {
    const { orchestrator } = this.#daemon;
    const wanted = this.#options.issue.toLowerCase();
    for await (const { event, issueIdentifier } of orchestrator.listen()) {
      if (issueIdentifier.toLowerCase() !== wanted) continue;
      this.#say(eventLine({ at: new Date(event.at).toISOString(), event: event.kind, message: messageOf(event) }));
    }
  }

  /** A harmless line. Progress belongs to stdout, unless that belongs to JSON. */
  #say(line: string): void {
    if (this.#options.json) process.stderr.write(`${line}\n`);
    else printLines([line]);
  }

  #listenToSignals(): Disposable {
    return listenForStop(
      {
        drain: (signal) => this.#ending.resolve(signal),
        kill: () => {
          this.#killed = true;
          this.#daemon.kill();
        },
        hangup: () => undefined,
      },
      { clock: systemClock, terminal: process.stdin.isTTY || process.stdout.isTTY },
    );
  }
}

/** Nobody has to stop a daemon for one ticket: that of this state directory does all of it by itself. Another one is found by its own. */
function askTheOther(error: AppError, { issue, workflowPath, stateDir }: WorkOptions): AppError {
  const { path, pid } = error.data;
  if (typeof path !== "string" || basename(path) !== "daemon.lock") return error;
  const who = typeof pid === "number" ? `the daemon with pid ${pid}` : "another daemon";
  const whose = `--workflow ${shellWord(workflowPath)}${stateDir === null ? "" : ` --state-dir ${shellWord(stateDir)}`}`;
  const lines = [
    `${who} works on these tickets already, and does all of it by itself; nothing was done here. What it can be asked:`,
    `symphony retry ${shellWord(issue)} ${whose}`,
    `symphony events ${shellWord(issue)} --follow ${whose}`,
    `symphony explain ${shellWord(issue)} ${whose}`,
  ];
  return new AppError(error.code, lines.join("\n"), error.data, { cause: error });
}

/** A word that a shell takes as it is. */
function shellWord(text: string): string {
  return /^[\w@%+=:,./-]+$/.test(text) ? text : `'${text.replaceAll("'", "'\\''")}'`;
}

function resultJson(end: WorkEnd, runs: readonly RunJson[]): Readonly<Record<string, unknown>> {
  const sum = (count: (run: RunJson) => number): number => runs.reduce((total, run) => total + count(run), 0);
  return {
    issue_identifier: end.identifier,
    outcome: end.outcome,
    message: end.message,
    runs: runs.length,
    turns: sum((run) => run.turns),
    tokens: {
      input: sum((run) => run.tokens.input),
      cached_input: sum((run) => run.tokens.cached_input),
      output: sum((run) => run.tokens.output),
      total: sum((run) => run.tokens.total),
    },
  };
}
