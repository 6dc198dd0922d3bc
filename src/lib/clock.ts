/** Time as a service: everything that waits does it through a Clock, so that tests own the time. */

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

/** A way to arm a timer: all that a sleep needs of a clock. */
type SetTimer = Clock["setTimer"];

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

/** Makes a clock's `sleep` of its `setTimer`. Nothing stays armed or attached once the promise is settled. */
export function createSleep(setTimer: SetTimer): Clock["sleep"] {
  return (delayMs, signal) => {
    const { promise, resolve, reject } = Promise.withResolvers<void>();
    const timer = setTimer(delayMs, () => {
      signal?.removeEventListener("abort", onAbort);
      resolve();
    });
    function onAbort(): void {
      timer.cancel();
      // The reason is whatever the caller aborted with, which need not be an Error.
      reject(signal?.reason);
    }
    if (signal?.aborted === true) onAbort();
    else signal?.addEventListener("abort", onAbort, { once: true });
    return promise;
  };
}

/** The machine's clock. */
export const systemClock: Clock = {
  now: () => Date.now(),
  setTimer: armTimer,
  sleep: createSleep(armTimer),
};
