/** Waiting for something that no event announces. */
import { setTimeout as pause } from "node:timers/promises";

/** Generous: a loaded machine may take seconds to start a process. Only a test that fails waits this long. */
const DEADLINE_MS = 90_000;
/** What is looked at costs something itself, so the longer it takes, the rarer the looks. */
const FIRST_POLL_MS = 5;
const LAST_POLL_MS = 50;

/** An answer that isn't "not yet". */
type Ready<T> = Exclude<T, undefined | null | false>;

function isReady<T>(answer: T): answer is Ready<T> {
  return answer !== undefined && answer !== null && answer !== false;
}

/** Asks `probe` until it answers something other than undefined, null or false, and answers that. Fails by naming `what`. */
export async function until<T>(
  what: string,
  probe: () => T | Promise<T>,
  deadlineMs: number = DEADLINE_MS,
): Promise<Ready<T>> {
  const deadline = performance.now() + deadlineMs;
  for (let pollMs = FIRST_POLL_MS; ; pollMs = Math.min(pollMs * 1.5, LAST_POLL_MS)) {
    const answer = await probe();
    if (isReady(answer)) return answer;
    if (performance.now() > deadline) throw new Error(`gave up waiting until ${what}`);
    await pause(pollMs);
  }
}
