/** Starts an app-server process and greets it; a start that fails leaves nothing behind. */
import { AppError } from "../../domain/errors.ts";
import type { Settings } from "../../domain/settings.ts";
import type { Host, ProcessIdentity } from "../../host/port.ts";
import type { Clock } from "../../lib/clock.ts";
import { SessionStartError } from "../port.ts";
import type { ChannelOptions } from "./channel.ts";
import { connect, type Connection, type SessionConnection } from "./connection.ts";
import { agentEnvironment, type DaemonEnv } from "./environment.ts";
import { failureOfLaunch, isStartRace } from "./failures.ts";
import { shakeHands, type Greeting } from "./handshake.ts";

/** Processes that start at once on one home may lose a race; it is over by the next try. */
const START_TRIES = 3;
const START_RETRY_MS = 200;

export interface LaunchDeps {
  readonly host: Host;
  readonly clock: Clock;
  readonly daemonEnv: DaemonEnv;
  /** The product's own version, told to the agent. */
  readonly clientVersion: string;
}

export interface LaunchRequest {
  readonly settings: Settings;
  readonly cwd: string;
  readonly runMarker: string;
  /** Ask for the experimental part of the protocol. */
  readonly experimentalApi: boolean;
  readonly handlers: Omit<ChannelOptions, "write" | "clock">;
  readonly signal: AbortSignal;
  /** A connection was made and nothing was said on it yet. Called again when a start is tried again. */
  connected(connection: SessionConnection): void;
  /** The process is on record when this returns; its command begins after that. */
  spawned(identity: ProcessIdentity): void;
}

export interface Launched extends Greeting {
  readonly connection: Connection;
}

/** Rejects with SessionStartError; by then the process tree is gone. */
export async function launch(deps: LaunchDeps, request: LaunchRequest): Promise<Launched> {
  for (let tries = 1; ; tries += 1) {
    try {
      return await greet(deps, request);
    } catch (error) {
      const again = tries < START_TRIES && isStartRace(error) && !request.signal.aborted;
      if (!again) throw new SessionStartError(failureOfLaunch(error, request.settings));
      await deps.clock.sleep(START_RETRY_MS * tries * (0.5 + Math.random()));
    }
  }
}

async function greet({ host, clock, daemonEnv, clientVersion }: LaunchDeps, request: LaunchRequest): Promise<Launched> {
  const { settings, cwd, runMarker, signal, experimentalApi, handlers } = request;
  if (signal.aborted) throw startCancelled();
  const env = agentEnvironment({ daemonEnv, settings, runMarker });
  const { spawned: record } = request;
  const spawn = { command: settings.codex.command, cwd, env, marker: runMarker, record };
  const connection = await connect({ host, clock, spawn, handlers });
  try {
    request.connected(connection);
    using _ = closeOnAbort(connection, signal);
    const greeting = await shakeHands({
      channel: connection.channel,
      clientVersion,
      experimentalApi,
      deadlineMs: settings.codex.startTimeoutMs,
    });
    return { connection, ...greeting };
  } catch (error) {
    await connection.stop();
    throw error;
  }
}

/** While it is held, an abort fails whatever is waited for on this connection. */
export function closeOnAbort({ channel }: SessionConnection, signal: AbortSignal): Disposable {
  const close = (): void => channel.close(startCancelled());
  if (signal.aborted) close();
  signal.addEventListener("abort", close, { once: true });
  return { [Symbol.dispose]: () => signal.removeEventListener("abort", close) };
}

/** What a start that is given up fails with. */
export function startCancelled(): AppError {
  return new AppError("turn_cancelled", "the start of the agent was cancelled");
}
