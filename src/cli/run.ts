/** `symphony [WORKFLOW.md]`: the daemon, from start to signal. */
import { AppError, errorMessage } from "../domain/errors.ts";
import { Daemon } from "../daemon.ts";
import { systemClock } from "../lib/clock.ts";
import { createLog, type LogLevel, type RootLog } from "../lib/log.ts";
import type { LogFile } from "../lib/rotating-file.ts";
import { packageVersion } from "./package-version.ts";
import { ServiceManager } from "./service-manager.ts";
import { listenForStop, signalExitCode, type StopSignal } from "./stop-signals.ts";

export interface RunOptions {
  /** Absolute. */
  readonly workflowPath: string;
  readonly stateDir: string | null;
  readonly logLevel: LogLevel;
  readonly logFile: string | null;
  readonly port: number | null;
  readonly host: string | null;
}

/** Of a log file when nothing else is said. */
const LOG_FILE_BYTES = 10_000_000;
const LOG_FILES_KEPT = 5;

/** Runs until it is told to stop; answers the exit code. Rejects with an AppError when it can't start. */
export async function runDaemon(options: RunOptions): Promise<number> {
  const isTerminal = process.stderr.isTTY;
  const log = createLog({
    level: options.logLevel,
    stderr: isTerminal ? "pretty" : "json",
    colour: isTerminal && process.stderr.hasColors(),
  });
  try {
    if (options.logFile !== null) addLogFile(log, "--log-file", { path: options.logFile });
    return await runToTheEnd(options, log);
  } finally {
    await log.close();
  }
}

async function runToTheEnd(options: RunOptions, log: RootLog): Promise<number> {
  const version = packageVersion();
  const { workflowPath, stateDir, port, host } = options;
  await using ends = new AsyncDisposableStack();
  const manager = new ServiceManager({ env: process.env, clock: systemClock, log });
  ends.defer(() => manager.close());
  const daemon = new Daemon({ workflowPath, stateDir, port, host, env: process.env, version, clock: systemClock, log });
  const asked = Promise.withResolvers<void>();
  let killedBy: StopSignal | null = null;
  using signals = new DisposableStack();
  signals.use(
    listenForStop(
      {
        drain: (signal) => {
          log.info({ signal }, "stopping: running turns may end; the same signal again stops at once");
          asked.resolve();
        },
        kill: (signal) => {
          log.warn({ signal }, "stopping at once");
          killedBy = signal;
          daemon.kill();
        },
        hangup: () => log.info("SIGHUP: nothing to do, the workflow file is read whenever it changes"),
      },
      { clock: systemClock, terminal: process.stdin.isTTY || process.stderr.isTTY },
    ),
  );
  await daemon.start();
  ends.defer(() => daemon.stop());
  if (options.logFile === null) addConfiguredLogFile(daemon, log);
  log.info({ version, workflow: workflowPath, ledger: daemon.files.ledger, pid: process.pid }, "daemon started");
  if (process.stderr.isTTY) process.stderr.write(welcome(daemon));
  manager.ready();
  await asked.promise;
  manager.stopping();
  const stopped = daemon.stop();
  // A second signal may have come before there was anything to stop.
  if (killedBy !== null) daemon.kill();
  await stopped;
  log.info("daemon stopped");
  return killedBy === null ? 0 : signalExitCode(killedBy);
}

/** `log.file` of the workflow, which is known only once that is read. */
function addConfiguredLogFile(daemon: Daemon, log: RootLog): void {
  const { file, maxBytes, keep } = daemon.settings.log;
  if (file === null) return;
  addLogFile(log, "log.file", {
    path: file,
    ...(maxBytes === null ? {} : { maxBytes }),
    ...(keep === null ? {} : { keep }),
  });
}

function addLogFile(log: RootLog, key: string, file: Partial<LogFile> & Pick<LogFile, "path">): void {
  try {
    log.addFile({ maxBytes: LOG_FILE_BYTES, keep: LOG_FILES_KEPT, ...file });
  } catch (error) {
    throw new AppError(
      "usage",
      `${key}: ${file.path} can't be written: ${errorMessage(error)}; name another file, or mend its folder`,
      { path: file.path },
      { cause: error },
    );
  }
}

/** For a person who has just started it by hand. */
function welcome({ settings, files, dashboardUrl }: Daemon): string {
  const { tracker, polling, workflowPath } = settings;
  return [
    `symphony works on the tickets of ${workflowPath} (${tracker.kind}, every ${polling.intervalMs / 1000} s).`,
    `State is in ${files.dir}; elsewhere: symphony runs, symphony usage. Ctrl-C stops once running turns have ended, twice at once.`,
    ...(dashboardUrl === null ? [] : [`The dashboard, with the right to act: ${dashboardUrl}`]),
    "",
  ].join("\n");
}
