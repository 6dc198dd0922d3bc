/** Time as a service: everything that waits does it through a Clock, so that tests own the time. */
import { setTimeout as wait } from "node:timers/promises";

/** A timer that has been armed. Cancelling twice, or after it fired, does nothing. */
export interface Timer {
  cancel(): void;
}

export interface Clock {
  /** Epoch milliseconds. */
  now(): number;
  /** Calls `fire` once, after `delayMs`; negative delays fire at the next turn of the event loop. */
  setTimer(delayMs: number, fire: () => void): Timer;
  /** Resolves after `delayMs`; rejects with the signal's reason when that aborts first. */
  sleep(delayMs: number, signal?: AbortSignal): Promise<void>;
}

/** setTimeout's own limit; a longer wait wraps around to 1 ms, so it is cut and armed again. */
const MAX_DELAY_MS = 2 ** 31 - 1;

function armTimer(delayMs: number, fire: () => void): Timer {
  let handle: NodeJS.Timeout;
  const arm = (left: number): void => {
    const step = Math.min(Math.max(left, 0), MAX_DELAY_MS);
    handle = setTimeout(() => (left > step ? arm(left - step) : fire()), step);
  };
  arm(delayMs);
  return { cancel: () => clearTimeout(handle) };
}

/** The machine's clock. */
export const systemClock: Clock = {
  now: () => Date.now(),
  setTimer: armTimer,
  async sleep(delayMs, signal) {
    await wait(Math.min(Math.max(delayMs, 0), MAX_DELAY_MS), undefined, signal === undefined ? {} : { signal });
  },
};
