/** The transcript: each item of an agent's history once per thread, turn and item, the newest of each run. */
import type { RunId } from "../domain/ids.ts";
import type { JsonValue } from "../domain/issue.ts";
import type { TranscriptItem } from "../domain/transcript.ts";
import type { Connection } from "./database.ts";
import type { EventRow } from "./port.ts";
import { whole } from "./writer.ts";

/** Items kept of a run, about 2 MB as they come; the end of a run is what people read. */
export const ITEMS_PER_RUN = 1000;

/** Statements over items. Writes belong into a transaction of the caller's. */
export interface ItemRows {
  /** The highest id in use; 0 when there is none. */
  lastId(): number;
  /** False when nothing was written: the item is there already, or its run is gone. */
  write(id: number, event: EventRow, item: TranscriptItem): boolean;
  count(run: RunId): number;
  /** Lets the oldest items of a run go. */
  trim(run: RunId): void;
}

/**
 * A plan is told again whenever it changes, and moves to its new place then. Everything else is final when it is told: when a resumed
 * thread tells it again, it belongs to the run that it was first told by.
 */
const WRITE = `
  INSERT INTO items (id, run_id, issue_id, thread_id, turn_id, item_id, kind, at, data)
  SELECT @id, @runId, @issueId, @threadId, @turnId, @itemId, @kind, @at, @data
  WHERE EXISTS (SELECT 1 FROM runs WHERE run_id = @runId)
  ON CONFLICT (thread_id, turn_id, item_id) DO UPDATE SET id = excluded.id, at = excluded.at, data = excluded.data
    WHERE kind = 'plan' AND run_id = excluded.run_id AND data <> excluded.data`;

/** `redact` takes known secret values out of every text of an item. */
export function prepareItemRows(db: Connection, redact: (text: string) => string): ItemRows {
  const last = db.prepare<[], number>("SELECT COALESCE(MAX(id), 0) FROM items").pluck();
  const write = db.prepare(WRITE);
  const count = db.prepare<[string], number>("SELECT count(*) FROM items WHERE run_id = ?").pluck();
  const trim = db.prepare(
    `DELETE FROM items WHERE run_id = @run AND id <=
       (SELECT id FROM items WHERE run_id = @run ORDER BY id DESC LIMIT 1 OFFSET ${ITEMS_PER_RUN})`,
  );
  return {
    lastId: () => last.get() ?? 0,
    write(id, { runId, issueId, at }, { threadId, turnId, itemId, kind, data }) {
      const columns = { id, runId, issueId, threadId, turnId: turnId ?? "", itemId, kind, at: whole(at) };
      return write.run({ ...columns, data: JSON.stringify(redacted(data, redact)) }).changes > 0;
    },
    count: (run) => count.get(run) ?? 0,
    trim: (run) => void trim.run({ run }),
  };
}

/** Before it is written as JSON: a secret with a quote in it would be spelled otherwise there. */
function redacted(value: JsonValue, redact: (text: string) => string): JsonValue {
  if (typeof value === "string") return redact(value);
  if (value === null || typeof value !== "object") return value;
  if (isList(value)) return value.map((entry) => redacted(entry, redact));
  return Object.fromEntries(Object.entries(value).map(([key, entry]) => [key, redacted(entry, redact)]));
}

/** Array.isArray doesn't narrow a readonly array. */
function isList(value: JsonValue): value is readonly JsonValue[] {
  return Array.isArray(value);
}
