/** Waiting times, in milliseconds. Jitter comes from a seed, so that the same decision always waits the same. */

/** Section 8: a clean exit with the ticket still active goes on after one second. */
export const CONTINUATION_DELAY_MS = 1000;
/** Section 8: the first wait after a failure. */
export const FIRST_RETRY_MS = 10_000;
const JITTER_SHARE = 0.1;

/** A number in [0, 1) from a seed and a salt (FNV-1a, then a finalizer): cheap, and different for each salt. */
export function chance(seed: number, salt: string): number {
  let hash = (0x811c9dc5 ^ seed) >>> 0;
  for (let index = 0; index < salt.length; index += 1) {
    hash = Math.imul(hash ^ salt.charCodeAt(index), 0x01000193) >>> 0;
  }
  hash = Math.imul(hash ^ (hash >>> 15), 0x2c1b3c6d) >>> 0;
  hash = Math.imul(hash ^ (hash >>> 12), 0x297a2d39) >>> 0;
  return ((hash ^ (hash >>> 15)) >>> 0) / 2 ** 32;
}

/** `min(10 s * 2^(attempt-1), cap)` plus up to 10 % jitter, never above the cap (section 8 and our addition). `attempt` >= 1. */
export function retryDelayMs(attempt: number, capMs: number, jitter: number): number {
  const base = Math.min(FIRST_RETRY_MS * 2 ** (Math.max(1, attempt) - 1), capMs);
  return Math.min(Math.round(base * (1 + JITTER_SHARE * jitter)), capMs);
}

const POLL_RETRY_CAP_MS = 300_000;

/** A tracker that fails is asked less and less: the interval doubles up to five minutes, with jitter, never below the interval. */
export function pollRetryDelayMs(failures: number, intervalMs: number, jitter: number): number {
  const cap = Math.max(POLL_RETRY_CAP_MS, intervalMs);
  const base = Math.min(intervalMs * 2 ** Math.min(Math.max(0, failures - 1), 20), cap);
  return Math.round(Math.min(base * (1 + JITTER_SHARE * jitter), cap));
}

const LIMIT_FIRST_MS = 15 * 60_000;
const LIMIT_CAP_MS = 60 * 60_000;

/** A usage limit whose reset nobody stated: 15 minutes, doubling to one hour. `step` counts from 0. */
export function unknownLimitMs(step: number): number {
  return Math.min(LIMIT_FIRST_MS * 2 ** Math.min(step, 10), LIMIT_CAP_MS);
}

/** An agent that isn't logged in is probed every five minutes. */
export const AUTH_PROBE_MS = 5 * 60_000;

/** A throttled tracker that doesn't say until when (absent headers mean a default wait). */
export const UNKNOWN_THROTTLE_MS = 60_000;
