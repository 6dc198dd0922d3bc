/** What the ledger forgets, and when: details of old runs go, runs and every token count stay. */
import type { Connection } from "./database.ts";
import type { Writer } from "./writer.ts";

/** Details of runs are looked at while they are news; after three months a run's row says what is left to say. */
export const DETAILS_KEPT_MS = 90 * 24 * 60 * 60 * 1000;
/** About 250 MB of events with their items at most, whatever their age. */
const MAX_EVENTS = 200_000;
/** Rows per transaction: the daemon must not wait long for a clean-up. */
const BATCH_ROWS = 2000;

/** Rows that went, by table. */
export interface Pruned {
  readonly events: number;
  readonly turns: number;
  readonly tool_calls: number;
  readonly processes: number;
  readonly token_marks: number;
}

/** Ended long ago; a run that goes on keeps everything. */
const OLD_RUNS = "SELECT run_id FROM runs WHERE ended_at < @before";

/** Events get ids in the order in which they came, so the oldest stand first. */
const OLD_EVENTS = `
  DELETE FROM events WHERE id IN (
    SELECT id FROM (SELECT id, at FROM events ORDER BY id LIMIT ${BATCH_ROWS}) WHERE at < @before)`;

const SURPLUS_EVENTS = `
  DELETE FROM events WHERE id IN (
    SELECT id FROM events ORDER BY id LIMIT min(${BATCH_ROWS}, max(0, (SELECT count(*) FROM events) - ${MAX_EVENTS})))`;

/** Numbers of turns whose items are gone. */
const UNUSED_TURNS = `
  DELETE FROM event_turns WHERE number IN (
    SELECT number FROM event_turns AS t WHERE NOT EXISTS (SELECT 1 FROM events AS e WHERE e.turn = t.number)
    LIMIT ${BATCH_ROWS})`;

/** The mark of a thread that can still be resumed is what its next growth is counted over. */
const OLD_MARKS = `
  DELETE FROM token_marks WHERE thread_id IN (
    SELECT thread_id FROM token_marks AS m
    WHERE updated_at < @before
      AND NOT EXISTS (SELECT 1 FROM threads AS t WHERE t.thread_id = m.thread_id)
      AND NOT EXISTS (SELECT 1 FROM claims AS c WHERE c.thread_id = m.thread_id)
    LIMIT ${BATCH_ROWS})`;

function oldDetails(table: "turns" | "tool_calls" | "processes", key: string): string {
  return `
    DELETE FROM ${table} WHERE (run_id, ${key}) IN (
      SELECT run_id, ${key} FROM ${table} WHERE run_id IN (${OLD_RUNS}) LIMIT ${BATCH_ROWS})`;
}

/** Deletes what is older than `before` (epoch ms), in small transactions. */
export function prune(db: Connection, writer: Writer, before: number): Pruned {
  function sweep(sql: string): number {
    const statement = db.prepare(sql);
    const once = (): number => writer.quick("pruning", () => statement.run({ before: Math.round(before) }).changes);
    let total = 0;
    for (let gone = once(); gone > 0; gone = once()) total += gone;
    return total;
  }
  const events = sweep(OLD_EVENTS) + sweep(SURPLUS_EVENTS);
  sweep(UNUSED_TURNS);
  return {
    events,
    turns: sweep(oldDetails("turns", "turn")),
    tool_calls: sweep(oldDetails("tool_calls", "call_id")),
    processes: sweep(oldDetails("processes", "pid")),
    token_marks: sweep(OLD_MARKS),
  };
}
