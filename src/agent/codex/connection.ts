/** One app-server process with its channel: starts it, ties the pipes to the channel, and tells how it ended. */
import { AppError } from "../../domain/errors.ts";
import type { AgentProcess, Host, ProcessExit, SpawnRequest } from "../../host/port.ts";
import type { Clock } from "../../lib/clock.ts";
import { Channel, type ChannelOptions, type SessionChannel } from "./channel.ts";
import { tailOf } from "./reading.ts";

/** Output may still be in the pipe when the process has ended; somebody else may also hold the pipe open for ever. */
const DRAIN_MS = 500;
const STDERR_CHARS = 1000;

export interface ConnectionRequest {
  readonly host: Host;
  readonly clock: Clock;
  readonly spawn: SpawnRequest;
  readonly handlers: Omit<ChannelOptions, "write" | "clock">;
}

/** What one session works through: a process of its own, or its part of a shared one. */
export interface SessionConnection {
  readonly channel: SessionChannel;
  /** Closes the channel and resolves when nothing that works for the session is left. Safe to call again. */
  stop(): Promise<void>;
}

export interface Connection extends SessionConnection {
  readonly channel: Channel;
  readonly process: AgentProcess;
  /** Resolves with the exit once the channel is closed because of it. Never rejects. */
  readonly ended: Promise<ProcessExit>;
}

/** Starts the process. Rejects as Host.spawn does. */
export async function connect({ host, clock, spawn, handlers }: ConnectionRequest): Promise<Connection> {
  const process = await host.spawn(spawn);
  const channel = new Channel({ ...handlers, clock, write: (line) => writeLine(process, line) });
  const drained = Promise.withResolvers<void>();
  process.stdout.on("data", (chunk: Uint8Array) => channel.feed(chunk));
  process.stdout.once("close", () => drained.resolve());
  process.stdout.once("end", () => drained.resolve());
  process.stdout.once("error", () => drained.resolve());

  async function followExit(): Promise<ProcessExit> {
    const exit = await process.exited;
    const patience = clock.setTimer(DRAIN_MS, () => drained.resolve());
    await drained.promise;
    patience.cancel();
    channel.end();
    channel.close(exitError(exit, process.stderrTail()));
    return exit;
  }

  async function followOutput(): Promise<void> {
    await drained.promise;
    // Without its output the process can't answer: it gets the same time to end by itself, so that its exit status is told.
    const error = new AppError("port_exit", "the agent closed its output without ending");
    const patience = clock.setTimer(DRAIN_MS, () => channel.close(error));
    await process.exited;
    patience.cancel();
  }

  const ended = followExit();
  void followOutput();
  return {
    channel,
    process,
    ended,
    async stop() {
      channel.close(new AppError("port_exit", "the session was closed"));
      await process.stop();
    },
  };
}

function writeLine(process: AgentProcess, line: string): void {
  if (process.stdin.destroyed || process.stdin.writableEnded) throw new Error("the agent's input is closed");
  process.stdin.write(line);
}

function exitError(exit: ProcessExit, stderr: string): AppError {
  const tail = tailOf(plainText(stderr), STDERR_CHARS);
  const how = exit.signal === null ? `with status ${exit.code ?? "unknown"}` : `by ${exit.signal}`;
  const words = tail === "" ? "" : `; its last words: ${tail}`;
  return new AppError("port_exit", `the agent's process ended ${how}${words}`, { ...exit, stderr: tail });
}

/** Without terminal colours and blank lines. */
function plainText(stderr: string): string {
  return stderr
    .replaceAll(new RegExp(String.raw`\u001b\[[0-9;?]*[A-Za-z]`, "g"), "")
    .split("\n")
    .map((line) => line.trim())
    .filter((line) => line !== "")
    .join(" | ");
}
