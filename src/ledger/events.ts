/** What agents did, one line per event, and the items that are kept in full: rows in batches, the newest of each run. */
import type { RunId } from "../domain/ids.ts";
import type { Clock, Timer } from "../lib/clock.ts";
import type { Log } from "../lib/log.ts";
import type { Connection } from "./database.ts";
import { ITEMS_PER_RUN, prepareItemRows, type ItemRows } from "./items.ts";
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
  /** Answers the event's sequence number. */
  append(event: EventRow): number;
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

/** An event and the id that its row will have. */
interface Numbered {
  readonly id: number;
  readonly event: EventRow;
}

class EventBatch implements EventRows {
  readonly #deps: EventDeps;
  readonly #items: ItemRows;
  readonly #insert;
  readonly #count;
  readonly #trim;
  #waiting: Numbered[] = [];
  #lastId: number;
  #timer: Timer | null = null;
  #closed = false;
  #failing = false;
  /** Rows per run, for runs that had an event since start. */
  readonly #counts = new Map<RunId, number>();
  readonly #itemCounts = new Map<RunId, number>();

  constructor(deps: EventDeps) {
    this.#deps = deps;
    const { db } = deps;
    this.#items = prepareItemRows(db, (text) => deps.redact(text));
    this.#lastId = firstFreeId(db, this.#items, deps.clock) - 1;
    // A run that has been pruned meanwhile takes no more events.
    this.#insert = db.prepare(
      `INSERT INTO events (id, run_id, issue_id, at, event, message)
       SELECT @id, @runId, @issueId, @at, @event, @message WHERE EXISTS (SELECT 1 FROM runs WHERE run_id = @runId)`,
    );
    this.#count = db.prepare<[string], number>("SELECT count(*) FROM events WHERE run_id = ?").pluck();
    this.#trim = db.prepare(
      `DELETE FROM events WHERE run_id = @runId AND id <=
         (SELECT id FROM events WHERE run_id = @runId ORDER BY id DESC LIMIT 1 OFFSET @keep)`,
    );
  }

  append(event: EventRow): number {
    this.#lastId += 1;
    const id = this.#lastId;
    if (this.#closed) return id;
    this.#waiting.push({ id, event });
    if (this.#waiting.length >= FLUSH_ROWS && !this.#failing) this.flush();
    else this.#timer ??= this.#deps.clock.setTimer(FLUSH_AFTER_MS, () => this.flush());
    return id;
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
      this.#itemCounts.clear();
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

  #write(batch: readonly Numbered[]): void {
    const { redact } = this.#deps;
    const written = new Map<RunId, number>();
    const items = new Map<RunId, number>();
    for (const { id, event } of batch) {
      const { runId, issueId, at, message, item } = event;
      if (item !== undefined && item !== null) {
        if (!this.#items.write(id, event, item)) continue;
        increase(items, runId);
      }
      const text = message === null ? null : redact(message);
      this.#insert.run({ id, runId, issueId, at: whole(at), event: event.event, message: text });
      increase(written, runId);
    }
    for (const [runId, rows] of written) this.#bound(runId, rows);
    for (const [runId, rows] of items) this.#boundItems(runId, rows);
  }

  #bound(runId: RunId, added: number): void {
    const before = this.#counts.get(runId);
    const count = before === undefined ? (this.#count.get(runId) ?? 0) : before + added;
    const isOver = count > EVENTS_PER_RUN + SLACK_ROWS;
    if (isOver) this.#trim.run({ runId, keep: EVENTS_PER_RUN });
    this.#counts.set(runId, isOver ? EVENTS_PER_RUN : count);
  }

  #boundItems(runId: RunId, added: number): void {
    const before = this.#itemCounts.get(runId);
    const count = before === undefined ? this.#items.count(runId) : before + added;
    const isOver = count > ITEMS_PER_RUN + SLACK_ROWS;
    if (isOver) this.#items.trim(runId);
    this.#itemCounts.set(runId, isOver ? ITEMS_PER_RUN : count);
  }
}

function increase(counts: Map<RunId, number>, runId: RunId): void {
  counts.set(runId, (counts.get(runId) ?? 0) + 1);
}

/**
 * Numbers begin at the clock's milliseconds: nobody has so many events that an earlier daemon could have given out a higher one, even
 * where its rows were lost in a crash or have been pruned since. A clock that was set back is no harm while rows are there.
 */
function firstFreeId(db: Connection, items: ItemRows, clock: Clock): number {
  const last = db.prepare<[], number>("SELECT COALESCE(MAX(id), 0) FROM events").pluck().get() ?? 0;
  return Math.max(last, items.lastId(), whole(clock.now())) + 1;
}

export function createEventRows(deps: EventDeps): EventRows {
  return new EventBatch(deps);
}
