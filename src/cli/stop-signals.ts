/** What the signals of a terminal, a service manager or an impatient person ask for: the first drains, the second kills. */
import { constants } from "node:os";
import type { Clock } from "../lib/clock.ts";

const STOP_SIGNALS = ["SIGINT", "SIGTERM", "SIGHUP"] as const;
export type StopSignal = (typeof STOP_SIGNALS)[number];

/**
 * npm and a shell hand on what the terminal has sent to the whole process group already: two of the same signal that arrive this
 * close together are one request (contract.md).
 */
const ECHO_MS = 500;

export interface StopHandlers {
  /** The first request. */
  drain(signal: StopSignal): void;
  /** The second; later ones are ignored. */
  kill(signal: StopSignal): void;
  /** SIGHUP without a terminal: service managers and log rotation use it to say "read your files again". */
  hangup(): void;
}

export interface StopSignalOptions {
  readonly clock: Clock;
  /** With one, SIGHUP says that the terminal has gone, and is a request to stop. */
  readonly terminal: boolean;
}

/** The exit code that shells give to a process that a signal has ended. */
export function signalExitCode(signal: StopSignal): number {
  return 128 + constants.signals[signal];
}

/** Listens until it is disposed. */
export function listenForStop(handlers: StopHandlers, options: StopSignalOptions): Disposable {
  const requests = new StopRequests(handlers, options.clock);
  const onSignal = (signal: NodeJS.Signals): void => {
    if (signal === "SIGHUP" && !options.terminal) handlers.hangup();
    else if (isStopSignal(signal)) requests.add(signal);
  };
  for (const signal of STOP_SIGNALS) process.on(signal, onSignal);
  return {
    [Symbol.dispose]: () => {
      for (const signal of STOP_SIGNALS) process.removeListener(signal, onSignal);
    },
  };
}

function isStopSignal(signal: NodeJS.Signals): signal is StopSignal {
  return STOP_SIGNALS.some((stop) => stop === signal);
}

/** Tells a second request from the echo of the first. */
class StopRequests {
  readonly #handlers: StopHandlers;
  readonly #clock: Clock;
  #asked = 0;
  #last: { readonly signal: StopSignal; readonly at: number } | null = null;

  constructor(handlers: StopHandlers, clock: Clock) {
    this.#handlers = handlers;
    this.#clock = clock;
  }

  add(signal: StopSignal): void {
    const at = this.#clock.now();
    const isEcho = this.#last?.signal === signal && Math.abs(at - this.#last.at) < ECHO_MS;
    if (isEcho) return;
    this.#last = { signal, at };
    this.#asked += 1;
    if (this.#asked === 1) this.#handlers.drain(signal);
    else if (this.#asked === 2) this.#handlers.kill(signal);
  }
}
