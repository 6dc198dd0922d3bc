/** What agents did: events wait for each other and are written in batches; a disk that refuses them is tried again. */
import type { Clock, Timer } from "../lib/clock.ts";
import type { Log } from "../lib/log.ts";
import type { Connection } from "./database.ts";
import { createEventTable, type EventTable, type NumberedEvent } from "./event-table.ts";
import type { EventRow } from "./port.ts";
import { whole, type Writer } from "./writer.ts";

/** A row is seen by readers this much later at most; a burst costs one commit. */
const FLUSH_AFTER_MS = 250;
/** A batch of this size is written at once. */
const FLUSH_ROWS = 200;
/** Until a disk that refused a batch is tried again. */
const RETRY_AFTER_MS = 1000;
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

class EventBatch implements EventRows {
  readonly #deps: EventDeps;
  readonly #table: EventTable;
  #waiting: NumberedEvent[] = [];
  #lastId: number;
  #timer: Timer | null = null;
  #closed = false;
  #failing = false;

  constructor(deps: EventDeps) {
    this.#deps = deps;
    this.#table = createEventTable(deps.db, (text) => deps.redact(text));
    this.#lastId = firstFreeId(this.#table, deps.clock) - 1;
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
      this.#deps.writer.quick("writing events", () => this.#table.write(batch));
      this.#waiting = [];
      this.#failing = false;
      this.#deps.written();
    } catch (error) {
      this.#table.rolledBack();
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
}

/**
 * Numbers begin at the clock's milliseconds: nobody has so many events that an earlier daemon could have given out a higher one, even
 * where its rows were lost in a crash or have been pruned since. A clock that was set back is no harm while rows are there.
 */
function firstFreeId(table: EventTable, clock: Clock): number {
  return Math.max(table.lastId(), whole(clock.now())) + 1;
}

export function createEventRows(deps: EventDeps): EventRows {
  return new EventBatch(deps);
}
