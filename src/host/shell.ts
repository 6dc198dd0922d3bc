/** Starting bash in a session of its own, and learning at once who it is. */
import { spawn, type ChildProcess, type StdioOptions } from "node:child_process";
import { statSync } from "node:fs";
import { AppError, errorMessage } from "../domain/errors.ts";
import { loginShell, OWNER_VARIABLE } from "./login-shell.ts";
import type { ProcessExit, ProcessIdentity, SpawnRequest } from "./port.ts";
import { yieldToDaemon } from "./priority.ts";
import type { ProcessTable } from "./process-table.ts";
import type { TreeDeps } from "./process-tree.ts";

/** What a command is started with. */
export interface ShellDeps extends TreeDeps {
  /** Ledger of the daemon that starts it; null before there is one. */
  readonly owner: string | null;
}

/** A started bash. */
export interface StartedShell {
  readonly child: ChildProcess;
  readonly identity: ProcessIdentity;
  readonly exited: Promise<ProcessExit>;
}

/** Its exit; null when it outlives the end of its tree, which only another user's process does (`sudo`). */
export async function exitAfterEnd(shell: StartedShell, table: ProcessTable): Promise<ProcessExit | null> {
  const row = await table.read(shell.identity.pid);
  const survives = row?.startTime === shell.identity.startTime && !row.zombie;
  return survives ? null : shell.exited;
}

/** A missing directory and a missing bash are the same ENOENT to spawn, and different things to mend. */
function startError(request: { readonly cwd: string }, error: unknown): AppError {
  const directory = statSync(request.cwd, { throwIfNoEntry: false })?.isDirectory() === true;
  if (!directory) {
    return new AppError(
      "invalid_workspace_cwd",
      `starting a command: ${request.cwd} is not a directory`,
      { cwd: request.cwd },
      { cause: error },
    );
  }
  return new AppError(
    "codex_not_found",
    `starting bash failed: ${errorMessage(error)}; commands need bash on the PATH`,
    { cwd: request.cwd },
    { cause: error },
  );
}

/** Starts bash as the leader of a new session and learns who it is before anything else happens. */
export async function startShell(
  request: SpawnRequest,
  stdio: StdioOptions,
  context: ShellDeps,
): Promise<StartedShell> {
  const { owner } = context;
  const env = owner === null ? request.env : { ...request.env, [OWNER_VARIABLE]: owner };
  const { command, marker } = request;
  const shell = loginShell({ command, env, marker, held: request.record !== undefined });
  let child: ChildProcess;
  try {
    child = spawn(shell.file, shell.args, {
      cwd: request.cwd,
      env: shell.env,
      detached: true,
      stdio,
    });
  } catch (error) {
    throw startError(request, error);
  }
  const exited = new Promise<ProcessExit>((resolve) => {
    child.once("exit", (code, signal) => resolve({ code, signal }));
  });
  const { pid } = child;
  if (pid === undefined) {
    const error = await new Promise<unknown>((resolve) => child.once("error", resolve));
    throw startError(request, error);
  }
  yieldToDaemon(pid);
  child.on("error", (error) => context.log.warn({ pid, err: errorMessage(error) }, "child process error"));
  // A child that can't be looked at now is still found by its marker.
  const row = await context.table.read(pid).catch(() => null);
  const identity = { pid, processGroup: pid, startTime: row?.startTime ?? "", marker };
  return { child, identity, exited };
}
