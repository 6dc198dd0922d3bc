/** The rows of events: found by short numbers of their run and turn, each item once, the newest of each run. */
import type { RunId } from "../domain/ids.ts";
import type { TranscriptItem } from "../domain/transcript.ts";
import type { Connection } from "./database.ts";
import { redactRow, redactorOf } from "./event-texts.ts";
import type { EventRow } from "./port.ts";
import { whole } from "./writer.ts";

/** Rows kept of a run, about 2 MB as they come; the end of a run is what people read. */
export const EVENTS_PER_RUN = 1000;
/** Rows above that before the oldest go, so that not every batch deletes. */
const SLACK_ROWS = 100;
/** Runs and turns whose numbers are remembered: more than ever work at once. */
const MAX_REMEMBERED = 500;

/** An event and the id that its row will have. */
export interface NumberedEvent {
  readonly id: number;
  readonly event: EventRow;
}

export interface EventTable {
  /** The highest id in use; 0 when there is none. */
  lastId(): number;
  /** Within a transaction of the caller's. Leaves out items that are there already, and runs that nobody knows. */
  write(batch: readonly NumberedEvent[]): void;
  /** A transaction was rolled back, and numbers that were given out in it. */
  rolledBack(): void;
}

interface KnownRun {
  readonly number: number;
  rows: number;
}

/**
 * A plan is told again whenever it changes, and moves to its new place then. Everything else is final when it is told: when a resumed
 * thread tells it again, it belongs to the run that it was first told by.
 */
const MOVE_PLAN = `
  UPDATE events SET turn = NULL, item_id = NULL, data = NULL
  WHERE turn = ? AND item_id = ? AND run = ? AND event = 'plan' AND data <> ?`;

const INSERT = `
  INSERT INTO events (id, run, at, event, message, turn, item_id, data) VALUES (?, ?, ?, ?, ?, ?, ?, ?)
  ON CONFLICT (turn, item_id) WHERE turn IS NOT NULL DO NOTHING`;

class Events implements EventTable {
  readonly #redact: (text: string) => string;
  readonly #statements;
  readonly #runs = new Map<RunId, KnownRun>();
  readonly #turns = new Map<string, number>();

  constructor(db: Connection, redact: (text: string) => string) {
    this.#redact = redact;
    this.#statements = {
      last: db.prepare<[], number>("SELECT COALESCE(MAX(id), 0) FROM events").pluck(),
      insert: db.prepare(INSERT),
      movePlan: db.prepare(MOVE_PLAN),
      numberRun: db.prepare(
        `INSERT INTO event_runs (run_id, issue_id) SELECT run_id, issue_id FROM runs WHERE run_id = ?
         ON CONFLICT (run_id) DO NOTHING`,
      ),
      run: db.prepare<[string], KnownRun>(
        `SELECT r.number, (SELECT count(*) FROM events AS e WHERE e.run = r.number) AS rows
         FROM event_runs AS r WHERE r.run_id = ?`,
      ),
      numberTurn: db.prepare("INSERT INTO event_turns (thread_id, turn_id) VALUES (?, ?) ON CONFLICT DO NOTHING"),
      turn: db
        .prepare<[string, string], number>("SELECT number FROM event_turns WHERE thread_id = ? AND turn_id = ?")
        .pluck(),
      trim: db.prepare(
        `DELETE FROM events WHERE run = @run AND id <=
           (SELECT id FROM events WHERE run = @run ORDER BY id DESC LIMIT 1 OFFSET ${EVENTS_PER_RUN})`,
      ),
    };
  }

  lastId(): number {
    return this.#statements.last.get() ?? 0;
  }

  rolledBack(): void {
    this.#runs.clear();
    this.#turns.clear();
  }

  write(batch: readonly NumberedEvent[]): void {
    const redact = redactorOf(batch, this.#redact);
    const grown = new Set<KnownRun>();
    for (const { id, event } of batch) {
      const run = this.#run(event.runId);
      if (run === null || !this.#insert(id, run, redact === null ? event : redactRow(event, redact))) continue;
      run.rows += 1;
      grown.add(run);
    }
    for (const run of grown) this.#bound(run);
  }

  #insert(id: number, run: KnownRun, { at, event, message, item }: EventRow): boolean {
    const { insert, movePlan } = this.#statements;
    if (item === undefined || item === null) {
      return insert.run(id, run.number, whole(at), event, message, null, null, null).changes > 0;
    }
    const turn = this.#turn(item);
    const data = JSON.stringify(item.data);
    if (item.kind === "plan") movePlan.run(turn, item.itemId, run.number, data);
    return insert.run(id, run.number, whole(at), event, message, turn, item.itemId, data).changes > 0;
  }

  /** Null for a run that isn't there. */
  #run(runId: RunId): KnownRun | null {
    const known = this.#runs.get(runId);
    if (known !== undefined) return known;
    this.#statements.numberRun.run(runId);
    const run = this.#statements.run.get(runId) ?? null;
    if (run !== null) remember(this.#runs, runId, run);
    return run;
  }

  #turn({ threadId, turnId }: TranscriptItem): number {
    const key = `${threadId} ${turnId ?? ""}`;
    const known = this.#turns.get(key);
    if (known !== undefined) return known;
    this.#statements.numberTurn.run(threadId, turnId ?? "");
    const number = this.#statements.turn.get(threadId, turnId ?? "");
    if (number === undefined) throw new Error(`the turn ${key} has no number`);
    remember(this.#turns, key, number);
    return number;
  }

  #bound(run: KnownRun): void {
    if (run.rows <= EVENTS_PER_RUN + SLACK_ROWS) return;
    this.#statements.trim.run({ run: run.number });
    run.rows = EVENTS_PER_RUN;
  }
}

/** Forgets the one that was learnt first when there are too many: it is looked up again when it tells something. */
function remember<K, V>(known: Map<K, V>, key: K, value: V): void {
  known.set(key, value);
  const [oldest] = known.keys();
  if (known.size > MAX_REMEMBERED && oldest !== undefined) known.delete(oldest);
}

/** `redact` takes known secret values out of every text of a row. */
export function createEventTable(db: Connection, redact: (text: string) => string): EventTable {
  return new Events(db, redact);
}
