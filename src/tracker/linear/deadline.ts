/** A time limit for one exchange, kept by the Clock. */
import { AppError } from "../../domain/errors.ts";
import type { Clock } from "../../lib/clock.ts";

/**
 * Runs `work` with a signal that aborts after `ms` (tracker_request, reason `timeout`), or with one of `outer`'s reasons as soon as
 * that aborts. Rejects with the abort's reason, whatever `work` makes of it.
 */
export async function withDeadline<Result>(
  clock: Clock,
  ms: number,
  work: (signal: AbortSignal) => Promise<Result>,
  outer: readonly AbortSignal[] = [],
): Promise<Result> {
  const deadline = new AbortController();
  const signal = AbortSignal.any([deadline.signal, ...outer]);
  signal.throwIfAborted();
  const timer = clock.setTimer(ms, () => {
    const data = { reason: "timeout", retryable: true };
    deadline.abort(new AppError("tracker_request", `Linear did not answer within ${ms / 1_000} s`, data));
  });
  try {
    return await work(signal);
  } catch (error) {
    signal.throwIfAborted();
    throw error;
  } finally {
    timer.cancel();
  }
}
