/** Asks a running daemon over its control socket. */
import { accessSync, constants, statSync } from "node:fs";
import { request, type IncomingMessage } from "node:http";
import { resolve } from "node:path";
import { AppError, errorMessage, isAppError } from "../domain/errors.ts";
import { reachableSocketPath } from "../http/socket-path.ts";
import { systemClock, type Clock } from "../lib/clock.ts";
import { stateFiles } from "../ledger/state-files.ts";
import { findStateDirectory } from "../workflow/state-directory.ts";

/** Whether this error of {@link askDaemon} means that no daemon listens there at all. */
export function isNoDaemon(error: unknown): boolean {
  return isAppError(error, "daemon_unreachable") && error.data["isAbsent"] === true;
}

/** Whose daemon is meant. */
export interface DaemonAddress {
  readonly workflow: string;
  readonly stateDir: string | null;
}

/** One request; a body goes as JSON. */
export interface DaemonRequest {
  readonly method: "GET" | "POST";
  readonly path: string;
  readonly body?: unknown;
}

/** One server-sent event. */
export interface StreamEvent {
  readonly event: string;
  readonly data: unknown;
}

/** Far more than a daemon needs for an answer from memory. */
const ANSWER_TIMEOUT_MS = 10_000;
/** A person who sees nothing for longer wonders what is going on. */
const NOTICE_MS = 1_500;

/**
 * The JSON that the daemon answers. Throws AppError `daemon_unreachable` when none runs or it doesn't answer, and `request_refused`, with the
 * daemon's own words, when it doesn't do what is asked.
 */
export async function askDaemon(
  address: DaemonAddress,
  asked: DaemonRequest,
  clock: Clock = systemClock,
): Promise<unknown> {
  const { socketPath, answer } = await send(address, asked, clock);
  const json = parseAnswer(socketPath, await readAll(socketPath, answer));
  refuseErrors(answer.statusCode ?? 0, json);
  return json;
}

/** The events of the daemon's stream until it ends or the signal aborts; throws as {@link askDaemon}. */
export async function* followDaemon(
  address: DaemonAddress,
  after: number | null,
  signal: AbortSignal,
): AsyncGenerator<StreamEvent, void> {
  const path = after === null ? "/api/v1/stream" : `/api/v1/stream?after=${after}`;
  const { socketPath, answer } = await send(address, { method: "GET", path }, systemClock);
  if (answer.statusCode !== 200) {
    refuseErrors(answer.statusCode ?? 0, parseAnswer(socketPath, await readAll(socketPath, answer)));
  }
  const stop = (): void => void answer.destroy();
  signal.addEventListener("abort", stop, { once: true });
  if (signal.aborted) stop();
  try {
    let text = "";
    for await (const chunk of answer.setEncoding("utf8")) {
      text += String(chunk);
      const frames = text.split("\n\n");
      text = frames.pop() ?? "";
      for (const frame of frames) {
        const event = parseFrame(frame);
        if (event !== null) yield event;
      }
    }
  } catch (error) {
    // Cut off by us, or by a daemon that ends: either way the stream is over.
    if (!signal.aborted && !isCutOff(error)) throw unreachable(socketPath, error);
  } finally {
    signal.removeEventListener("abort", stop);
    answer.destroy();
  }
}

interface Reached {
  readonly socketPath: string;
  /** Its beginning has come. */
  readonly answer: IncomingMessage;
}

/** Sends the request, and says on stderr whom it waits for when that takes long. */
async function send(
  { workflow, stateDir }: DaemonAddress,
  { method, path, body }: DaemonRequest,
  clock: Clock,
): Promise<Reached> {
  const files = stateFiles(findStateDirectory(workflow, { flag: stateDir, env: process.env }));
  const socketPath = reachableSocketPath(files.socket, process.env);
  const answer = Promise.withResolvers<IncomingMessage>();
  const headers = body === undefined ? {} : { "content-type": "application/json" };
  const outgoing = request({ socketPath, method, path, headers }, answer.resolve);
  outgoing.on("error", (error) => {
    const isLost = stateDir === null && !isReadable(workflow);
    answer.reject(isLost && isAbsent(error) ? lost(workflow, socketPath, error) : unreachable(socketPath, error));
  });
  outgoing.end(body === undefined ? undefined : JSON.stringify(body));
  const onSilence = async (): Promise<void> => {
    // Loaded here alone: it brings the database along, and most answers come at once.
    const { readLockOwner } = await import("../ledger/lock.ts");
    const daemon = nameOf(readLockOwner(files.lock)?.pid ?? null);
    process.stderr.write(`symphony: waiting for ${daemon}, which doesn't answer\n`);
    await clock.sleep(ANSWER_TIMEOUT_MS - NOTICE_MS, isOver.signal);
    answer.reject(silent(daemon, socketPath, method));
    outgoing.destroy();
  };
  const isOver = new AbortController();
  const notice = clock.setTimer(NOTICE_MS, () => void onSilence().catch(answer.reject));
  try {
    return { socketPath, answer: await answer.promise };
  } finally {
    notice.cancel();
    isOver.abort(new Error("the answer has come"));
  }
}

function nameOf(pid: number | null): string {
  return pid === null ? "the daemon" : `the daemon with pid ${pid}`;
}

/** It has taken the connection and says nothing. What it was asked for has reached it all the same. */
function silent(daemon: string, socketPath: string, method: DaemonRequest["method"]): AppError {
  const later = method === "GET" ? "" : "; should it go on, it may still do what was asked";
  return new AppError(
    "daemon_unreachable",
    `${daemon} has not answered within ${ANSWER_TIMEOUT_MS / 1000} s (${socketPath}): it is suspended (kill -CONT), or overloaded (its log says more)${later}`,
    { socketPath },
  );
}

async function readAll(socketPath: string, answer: IncomingMessage): Promise<string> {
  try {
    let text = "";
    for await (const chunk of answer.setEncoding("utf8")) text += String(chunk);
    return text;
  } catch (error) {
    throw unreachable(socketPath, error);
  }
}

function parseAnswer(socketPath: string, text: string): unknown {
  try {
    return JSON.parse(text);
  } catch (error) {
    const message = `the daemon at ${socketPath} answered no JSON`;
    throw new AppError("daemon_unreachable", message, { socketPath }, { cause: error });
  }
}

/** `ready` answers 503 without an error: that is its answer. */
function refuseErrors(status: number, json: unknown): void {
  if (status < 400 || typeof json !== "object" || json === null || !("error" in json)) return;
  const { error } = json;
  const isEnvelope = typeof error === "object" && error !== null && "message" in error && "code" in error;
  const message = isEnvelope ? String(error.message) : `the daemon answered ${status}`;
  throw new AppError("request_refused", message, { status, code: isEnvelope ? error.code : null });
}

function parseFrame(frame: string): StreamEvent | null {
  const event = /^event: (.*)$/m.exec(frame)?.[1];
  const data = /^data: (.*)$/m.exec(frame)?.[1];
  if (event === undefined || data === undefined) return null;
  return { event, data: JSON.parse(data) as unknown };
}

function codeOf(error: unknown): unknown {
  return error instanceof Error && "code" in error ? error.code : null;
}

function isCutOff(error: unknown): boolean {
  return ["ECONNRESET", "ERR_STREAM_PREMATURE_CLOSE"].some((code) => code === codeOf(error));
}

function isAbsent(error: unknown): boolean {
  return ["ENOENT", "ECONNREFUSED"].some((code) => code === codeOf(error));
}

function isReadable(workflow: string): boolean {
  try {
    accessSync(workflow, constants.R_OK);
    return statSync(workflow).isFile();
  } catch {
    return false;
  }
}

/** Without the file, its `state.dir` isn't known: a daemon may well run elsewhere. */
function lost(workflow: string, socketPath: string, cause: unknown): AppError {
  const message = `${resolve(workflow)} is no file that can be read, so its daemon can't be found (looked at ${socketPath}); name the file with --workflow, or the state directory with --state-dir`;
  return new AppError("daemon_unreachable", message, { workflow, socketPath, isAbsent: true }, { cause });
}

function unreachable(socketPath: string, error: unknown): AppError {
  const message = isAbsent(error)
    ? `no daemon runs here (${socketPath}); start one with: symphony WORKFLOW.md, or name its file with --workflow`
    : `the daemon at ${socketPath} can't be asked: ${errorMessage(error)}`;
  return new AppError("daemon_unreachable", message, { socketPath, isAbsent: isAbsent(error) }, { cause: error });
}
