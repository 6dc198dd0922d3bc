/** Reads the ticket between turns: a failed read is tried again in place, and never taken for "ticket gone". */
import { isAppError } from "../domain/errors.ts";
import type { Issue } from "../domain/issue.ts";
import type { Clock } from "../lib/clock.ts";
import type { Log } from "../lib/log.ts";

/** The agent sits idle meanwhile, and nothing is lost. */
const FIRST_WAIT_MS = 1000;
const WAIT_CAP_MS = 30_000;

export interface Reread {
  readonly clock: Clock;
  readonly log: Log;
  /** Aborts when the run is to end. */
  readonly signal: AbortSignal;
  read(): Promise<Issue | null>;
}

/** The ticket as it is now; null when a complete answer lacks it; "aborted" when the run was ended first. Never rejects. */
export async function rereadIssue({ clock, log, signal, read }: Reread): Promise<Issue | null | "aborted"> {
  for (let waitMs = FIRST_WAIT_MS; !signal.aborted; waitMs = Math.min(waitMs * 2, WAIT_CAP_MS)) {
    try {
      return await read();
    } catch (error) {
      if (signal.aborted) break;
      log.warn({ err: error }, "reading the issue between turns failed; trying again");
      await clock.sleep(Math.max(waitMs, msUntilReset(error, clock.now())), signal).catch(() => {
        // Only the signal ends a sleep early, and the loop looks at it next.
      });
    }
  }
  return "aborted";
}

/** A throttled tracker says when it answers again. */
function msUntilReset(error: unknown, now: number): number {
  const resetAt = isAppError(error, "tracker_rate_limited") ? error.data["resetAt"] : undefined;
  return typeof resetAt === "number" ? resetAt - now : 0;
}
