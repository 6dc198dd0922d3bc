/** Asks a running daemon over its control socket. */
import { request } from "node:http";
import { AppError, errorMessage } from "../domain/errors.ts";
import { reachableSocketPath } from "../http/socket-path.ts";
import { stateFiles } from "../ledger/state-files.ts";
import { findStateDirectory } from "../workflow/state-directory.ts";

/** Whose daemon is meant. */
export interface DaemonAddress {
  readonly workflow: string;
  readonly stateDir: string | null;
}

/** Far more than a daemon needs for an answer from memory. */
const ANSWER_TIMEOUT_MS = 10_000;

/** The JSON that the daemon answers. Throws AppError daemon_unreachable when none runs or it doesn't answer. */
export async function askDaemon(address: DaemonAddress, method: "GET" | "POST", path: string): Promise<unknown> {
  const directory = findStateDirectory(address.workflow, { flag: address.stateDir, env: process.env });
  const socketPath = reachableSocketPath(stateFiles(directory).socket, process.env);
  const body = await exchange(socketPath, method, path);
  try {
    return JSON.parse(body) as unknown;
  } catch (error) {
    throw new AppError(
      "daemon_unreachable",
      `the daemon at ${socketPath} answered no JSON`,
      { socketPath },
      { cause: error },
    );
  }
}

function exchange(socketPath: string, method: string, path: string): Promise<string> {
  const answer = Promise.withResolvers<string>();
  const outgoing = request({ socketPath, method, path, timeout: ANSWER_TIMEOUT_MS }, (incoming) => {
    let text = "";
    incoming.setEncoding("utf8");
    incoming.on("data", (chunk: string) => {
      text += chunk;
    });
    incoming.on("end", () => answer.resolve(text));
    incoming.on("error", (error) => answer.reject(unreachable(socketPath, error)));
  });
  outgoing.on("timeout", () => outgoing.destroy(new Error(`no answer within ${ANSWER_TIMEOUT_MS} ms`)));
  outgoing.on("error", (error) => answer.reject(unreachable(socketPath, error)));
  outgoing.end();
  return answer.promise;
}

function unreachable(socketPath: string, error: Error): AppError {
  const isAbsent = "code" in error && (error.code === "ENOENT" || error.code === "ECONNREFUSED");
  const message = isAbsent
    ? `no daemon runs here (${socketPath}); start one with: symphony WORKFLOW.md`
    : `the daemon at ${socketPath} can't be asked: ${errorMessage(error)}`;
  return new AppError("daemon_unreachable", message, { socketPath }, { cause: error });
}
