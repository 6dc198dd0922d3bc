/** A real daemon in this process: a local board in a temporary folder, and the simulated agent. */
import { request } from "node:http";
import { join } from "node:path";
import { Daemon } from "../../src/daemon.ts";
import { systemClock } from "../../src/lib/clock.ts";
import { createLog, type SecretLog } from "../../src/lib/log.ts";
import { writeBoard, type BoardFiles } from "../e2e/board.ts";
import { captureLog, type CapturedLog } from "./captured-log.ts";
import { makeTempDir } from "./temp-dir.ts";

export type Snapshot = Readonly<Record<string, unknown>>;

export interface Answer {
  readonly status: number;
  readonly text: string;
}

/** Stopped, and its folder removed, when it is disposed. */
export interface DaemonBench extends AsyncDisposable {
  readonly dir: string;
  readonly captured: CapturedLog;
  snapshot(): Snapshot;
  /** Resolves once `check` holds for a snapshot; looks again whenever the daemon's state moves or an agent says something. */
  until(check: (snapshot: Snapshot) => boolean): Promise<void>;
  /** Asks over the control socket. */
  ask(method: string, path: string): Promise<Answer>;
  /** Stops this daemon and starts another on the same files. */
  restart(): Promise<void>;
}

export interface BenchOptions {
  readonly log?: SecretLog;
  /** Adds to the files before the start. */
  arrange?(dir: string): Promise<void>;
}

function ask(socketPath: string, method: string, path: string): Promise<Answer> {
  const answer = Promise.withResolvers<Answer>();
  const outgoing = request({ socketPath, method, path }, (incoming) => {
    let text = "";
    incoming.setEncoding("utf8").on("data", (chunk: string) => {
      text += chunk;
    });
    incoming.on("end", () => answer.resolve({ status: incoming.statusCode ?? 0, text }));
  });
  outgoing.on("error", answer.reject);
  outgoing.end();
  return answer.promise;
}

/** Writes the files and starts. */
export async function startDaemon(files: BoardFiles, options: BenchOptions = {}): Promise<DaemonBench> {
  const temp = await makeTempDir();
  const workflowPath = await writeBoard(temp.path, files);
  await options.arrange?.(temp.path);
  const captured = captureLog();
  const log = options.log ?? Object.assign(captured.log, { addSecrets: () => undefined });
  const where = { workflowPath, stateDir: null, port: null, host: null, env: process.env };
  const build = (): Daemon => new Daemon({ ...where, version: "0", clock: systemClock, log });
  let daemon = build();
  await daemon.start();
  return {
    dir: temp.path,
    captured,
    snapshot: () => daemon.orchestrator.snapshot(),
    async until(check) {
      const reached = Promise.withResolvers<void>();
      const look = (): void => {
        if (check(daemon.orchestrator.snapshot())) reached.resolve();
      };
      const forget = daemon.orchestrator.observe({ changed: look, agentEvent: look });
      look();
      await reached.promise;
      forget();
    },
    ask: (method, path) => ask(join(temp.path, "state", "control.sock"), method, path),
    async restart() {
      await daemon.stop();
      daemon = build();
      await daemon.start();
    },
    async [Symbol.asyncDispose]() {
      daemon.kill();
      await daemon.stop();
      await temp.dispose();
    },
  };
}

/** The real log with a sink that can't be written: a file whose folder is gone. */
export async function brokenLog(): Promise<SecretLog> {
  await using gone = await makeTempDir();
  const log = createLog({ level: "trace", stderr: "off" });
  log.addFile({ path: join(gone.path, "log"), maxBytes: 1, keep: 1 });
  return log;
}
