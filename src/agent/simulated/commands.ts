/** Shell commands of the simulated agent: each in a process group of its own, killed with the agent or by a clean-up. */
import { type ChildProcess, spawn } from "node:child_process";
import { systemClock } from "../../lib/clock.ts";

/** Output that an item keeps; the real server keeps 1 MiB of head and tail. */
const MAX_OUTPUT_CHARS = 1_048_576;

/** How long the rest of the output is waited for once the command itself has ended. */
const PIPE_GRACE_MS = 200;

export interface CommandEnd {
  /** -1 when it was killed. */
  readonly exitCode: number;
  readonly output: string;
  readonly durationMs: number;
}

export interface RunningCommand {
  readonly pid: number;
  readonly ended: Promise<CommandEnd>;
}

export interface CommandRequest {
  readonly threadId: string;
  readonly itemId: string;
  readonly command: string;
  readonly cwd: string;
  readonly env: Readonly<Record<string, string>>;
  onOutput(text: string): void;
}

/** Commits are made in the agent's own name unless the environment names somebody. */
const GIT_IDENTITY: Readonly<Record<string, string>> = {
  GIT_AUTHOR_NAME: "Simulated agent",
  GIT_AUTHOR_EMAIL: "simulated-agent@localhost",
  GIT_COMMITTER_NAME: "Simulated agent",
  GIT_COMMITTER_EMAIL: "simulated-agent@localhost",
};

function killGroup(child: ChildProcess): void {
  try {
    if (child.pid !== undefined) process.kill(-child.pid, "SIGKILL");
  } catch {
    // The group is already gone.
  }
}

/** All commands of this process that still run. */
export class Commands {
  readonly #running = new Map<
    ChildProcess,
    { readonly request: CommandRequest; readonly ended: Promise<CommandEnd> }
  >();

  run(request: CommandRequest): RunningCommand {
    const startedAt = Date.now();
    const child = spawn("/bin/bash", ["-c", request.command], {
      cwd: request.cwd,
      env: { ...GIT_IDENTITY, ...process.env, ...request.env },
      stdio: ["ignore", "pipe", "pipe"],
      detached: true,
    });
    let output = "";
    const take = (text: string): void => {
      output = (output + text).slice(0, MAX_OUTPUT_CHARS);
      request.onOutput(text);
    };
    for (const stream of [child.stdout, child.stderr]) stream.setEncoding("utf8").on("data", take);
    const { promise, resolve } = Promise.withResolvers<CommandEnd>();
    this.#running.set(child, { request, ended: promise });
    const end = (exitCode: number, more = ""): void => {
      this.#running.delete(child);
      resolve({ exitCode, output: output + more, durationMs: Date.now() - startedAt });
    };
    child.on("error", (error) => end(-1, `Failed to create unified exec process: ${error.message}`));
    child.on("close", (code) => end(code ?? -1));
    // What the command left in the background may hold its pipes for ever.
    child.on("exit", (code) => systemClock.setTimer(PIPE_GRACE_MS, () => end(code ?? -1)));
    return { pid: child.pid ?? 0, ended: promise };
  }

  /** What `thread/backgroundTerminals/list` shows of one thread's commands. */
  list(threadId: string): readonly Readonly<Record<string, unknown>>[] {
    const mine = [...this.#running].filter(([, { request }]) => request.threadId === threadId);
    return mine.map(([child, { request }]) => {
      const { itemId, command, cwd } = request;
      const unknowns = { osPid: null, cpuPercent: null, rssKb: null };
      return { itemId, processId: String(child.pid), command, cwd, ...unknowns };
    });
  }

  /** Kills what one thread left running. Resolves when all of it has ended. */
  async clean(threadId: string): Promise<void> {
    const mine = [...this.#running].filter(([, { request }]) => request.threadId === threadId);
    for (const [child] of mine) killGroup(child);
    await Promise.all(mine.map(([, { ended }]) => ended));
  }

  killAll(): void {
    for (const child of this.#running.keys()) killGroup(child);
  }
}
