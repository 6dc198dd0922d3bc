/** Reads single tickets in batches: workers that end a turn at about the same time share one request. */
import type { IssueId } from "../domain/ids.ts";
import type { Issue } from "../domain/issue.ts";
import type { Clock } from "../lib/clock.ts";
import type { Tracker } from "../tracker/port.ts";

/** How long the first reader waits for others; small beside any turn. */
const WINDOW_MS = 20;

interface Batch {
  readonly ids: Set<IssueId>;
  readonly answer: Promise<ReadonlyMap<IssueId, Issue>>;
}

export class IssueReader {
  readonly #tracker: Tracker;
  readonly #clock: Clock;
  #open: Batch | null = null;

  constructor(tracker: Tracker, clock: Clock) {
    this.#tracker = tracker;
    this.#clock = clock;
  }

  /** The ticket as it is now, or null when a complete answer lacks it. Rejects with the tracker's error, or the signal's reason. */
  async read(id: IssueId, signal: AbortSignal): Promise<Issue | null> {
    signal.throwIfAborted();
    this.#open ??= this.#openBatch();
    this.#open.ids.add(id);
    const aborted = Promise.withResolvers<never>();
    const onAbort = (): void => aborted.reject(signal.reason);
    signal.addEventListener("abort", onAbort, { once: true });
    try {
      return (await Promise.race([this.#open.answer, aborted.promise])).get(id) ?? null;
    } finally {
      signal.removeEventListener("abort", onAbort);
    }
  }

  #openBatch(): Batch {
    const ids = new Set<IssueId>();
    const window = Promise.withResolvers<void>();
    this.#clock.setTimer(WINDOW_MS, window.resolve);
    const answer = window.promise.then(async () => {
      this.#open = null;
      const issues = await this.#tracker.fetchIssuesByIds([...ids]);
      return new Map(issues.map((issue) => [issue.id, issue]));
    });
    // Every reader may have left by the time it fails.
    answer.catch(() => {});
    return { ids, answer };
  }
}
