/** What agents did, coarsely: rows in batches, the newest of each run. */
import type { RunId } from "../domain/ids.ts";
import type { Clock, Timer } from "../lib/clock.ts";
import type { Log } from "../lib/log.ts";
import type { Connection } from "./database.ts";
import type { EventRow } from "./port.ts";
import { whole, type Writer } from "./writer.ts";

/** A row is seen by readers this much later at most; a burst costs one commit. */
const FLUSH_AFTER_MS = 250;
/** A batch of this size is written at once. */
const FLUSH_ROWS = 200;
/** Until a disk that refused a batch is tried again. */
const RETRY_AFTER_MS = 1000;
/** Rows kept of a run; a person who reads events wants the last ones. */
export const EVENTS_PER_RUN = 500;
/** Rows above that before the oldest go, so that not every batch deletes. */
const SLACK_ROWS = 100;
/** Rows that wait while the disk refuses them; the newest. */
const MAX_WAITING_ROWS = 5000;

export interface EventRows {
  append(event: EventRow): void;
  flush(): void;
  /** Flushes a last time and arms no timer any more. */
  close(): void;
}

export interface EventDeps {
  readonly db: Connection;
  readonly writer: Writer;
  readonly clock: Clock;
  readonly log: Log;
  redact(text: string): string;
  /** Called after each batch that was written; must not throw. */
  written(): void;
}

class EventBatch implements EventRows {
  readonly #deps: EventDeps;
  readonly #insert;
  readonly #count;
  readonly #trim;
  #waiting: EventRow[] = [];
  #timer: Timer | null = null;
  #closed = false;
  #failing = false;
  /** Rows per run, for runs that had an event since start. */
  readonly #counts = new Map<RunId, number>();

  constructor(deps: EventDeps) {
    this.#deps = deps;
    const { db } = deps;
    // A run that has been pruned meanwhile takes no more events.
    this.#insert = db.prepare(
      `INSERT INTO events (run_id, issue_id, at, event, message)
       SELECT @runId, @issueId, @at, @event, @message WHERE EXISTS (SELECT 1 FROM runs WHERE run_id = @runId)`,
    );
    this.#count = db.prepare<[string], number>("SELECT count(*) FROM events WHERE run_id = ?").pluck();
    this.#trim = db.prepare(
      `DELETE FROM events WHERE run_id = @runId AND id <=
         (SELECT id FROM events WHERE run_id = @runId ORDER BY id DESC LIMIT 1 OFFSET @keep)`,
    );
  }

  append(event: EventRow): void {
    if (this.#closed) return;
    this.#waiting.push(event);
    if (this.#waiting.length >= FLUSH_ROWS && !this.#failing) this.flush();
    else this.#timer ??= this.#deps.clock.setTimer(FLUSH_AFTER_MS, () => this.flush());
  }

  flush(): void {
    this.#timer?.cancel();
    this.#timer = null;
    const batch = this.#waiting;
    if (batch.length === 0) return;
    try {
      this.#deps.writer.quick("writing events", () => this.#write(batch));
      this.#waiting = [];
      this.#failing = false;
      this.#deps.written();
    } catch (error) {
      this.#counts.clear();
      if (!this.#failing) this.#deps.log.error({ err: error }, "events can't be written; the newest are kept");
      this.#failing = true;
      this.#waiting = batch.slice(-MAX_WAITING_ROWS);
      if (!this.#closed) this.#timer = this.#deps.clock.setTimer(RETRY_AFTER_MS, () => this.flush());
    }
  }

  close(): void {
    this.#closed = true;
    this.flush();
  }

  #write(batch: readonly EventRow[]): void {
    const { redact } = this.#deps;
    for (const { runId, issueId, at, event, message } of batch) {
      this.#insert.run({ runId, issueId, at: whole(at), event, message: message === null ? null : redact(message) });
    }
    for (const [runId, rows] of Map.groupBy(batch, (row) => row.runId)) this.#bound(runId, rows.length);
  }

  #bound(runId: RunId, added: number): void {
    const before = this.#counts.get(runId);
    const count = before === undefined ? (this.#count.get(runId) ?? 0) : before + added;
    if (count > EVENTS_PER_RUN + SLACK_ROWS) {
      this.#trim.run({ runId, keep: EVENTS_PER_RUN });
      this.#counts.set(runId, EVENTS_PER_RUN);
    } else {
      this.#counts.set(runId, count);
    }
  }
}

export function createEventRows(deps: EventDeps): EventRows {
  return new EventBatch(deps);
}
