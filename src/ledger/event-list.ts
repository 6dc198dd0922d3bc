/** Pages of what agents did, in the order of their sequence numbers: the same numbers that a live listener is told. */
import type { JsonValue } from "../domain/issue.ts";
import { jsonSchema, parseRow } from "./claim-schema.ts";
import type { Connection } from "./database.ts";

/** What an event stands for, in full (capped); untrusted text. The fields of `data` by kind: docs/ledger.md. */
export interface ItemJson {
  /** Null for questions, which outlive their thread. */
  readonly thread_id: string | null;
  /** Null where the agent named none. */
  readonly turn_id: string | null;
  readonly item_id: string;
  readonly kind: string;
  readonly data: JsonValue;
}

export interface EventEntryJson {
  /** Rises, with gaps; never given out twice. */
  readonly sequence: number;
  readonly run_id: string;
  readonly issue_id: string;
  readonly at: string;
  readonly event: string;
  readonly message: string | null;
  readonly item: ItemJson | null;
}

export interface EventsQuery {
  readonly run?: string;
  /** The issue's id. */
  readonly issue?: string;
  /** The first ones after this sequence number: what a reader asks who goes on where it stopped. */
  readonly after?: number;
  /** The last ones before this sequence number. Without `after` and `before`: the newest. */
  readonly before?: number;
  /** Defaults to 100, is 1000 at most. */
  readonly limit?: number;
}

const DEFAULT_LIMIT = 100;
const MAX_LIMIT = 1000;

interface EventRow {
  readonly id: number;
  readonly run_id: string;
  readonly issue_id: string;
  readonly at: number;
  readonly event: string;
  readonly message: string | null;
  readonly thread_id: string | null;
  readonly turn_id: string | null;
  readonly item_id: string | null;
  readonly data: string | null;
}

/** Oldest first, whatever was asked for. */
export function listEvents(db: Connection, query: EventsQuery): readonly EventEntryJson[] {
  const { sql, values } = eventsStatement(query);
  const rows = db.prepare<[Readonly<Record<string, string | number>>], EventRow>(sql).all(values).map(toJson);
  return query.after === undefined ? rows.toReversed() : rows;
}

const COLUMNS = `
  SELECT e.id, r.run_id, r.issue_id, e.at, e.event, e.message, t.thread_id, t.turn_id, e.item_id, e.data`;

/**
 * The statement of a page and its values: only the filters that are asked for, so that each finds its index. CROSS JOIN has SQLite read
 * the runs first, in the order of the page: that of (run, id) is that of the ids alone where all runs are of one issue.
 */
export function eventsStatement({ run, issue, after, before, limit }: EventsQuery): {
  readonly sql: string;
  readonly values: Readonly<Record<string, string | number>>;
} {
  const where: string[] = [];
  const values: Record<string, string | number> = {
    limit: Math.min(MAX_LIMIT, Math.max(1, Math.trunc(limit ?? DEFAULT_LIMIT))),
  };
  const filter = (condition: string, name: string, value: string | number | undefined): void => {
    if (value === undefined) return;
    where.push(condition);
    values[name] = value;
  };
  filter("r.run_id = @run", "run", run);
  // A run has one issue: with both, the run alone is looked for.
  filter("r.issue_id = @issue", "issue", run === undefined ? issue : undefined);
  const isOfAll = where.length === 0;
  filter("e.id > @after", "after", after);
  filter("e.id < @before", "before", before);
  const direction = after === undefined ? "DESC" : "ASC";
  const sql = `${COLUMNS}
    FROM ${isOfAll ? "events AS e CROSS JOIN event_runs AS r" : "event_runs AS r CROSS JOIN events AS e"} ON r.number = e.run
      LEFT JOIN event_turns AS t ON t.number = e.turn
    ${where.length === 0 ? "" : `WHERE ${where.join(" AND ")}`}
    ORDER BY ${isOfAll ? "" : `r.number ${direction}, `}e.id ${direction} LIMIT @limit`;
  return { sql, values };
}

function toJson(row: EventRow): EventEntryJson {
  const { id, run_id, issue_id, at, event, message } = row;
  return { sequence: id, run_id, issue_id, at: new Date(at).toISOString(), event, message, item: itemOf(row) };
}

function itemOf({ id, event, thread_id, turn_id, item_id, data }: EventRow): ItemJson | null {
  if (thread_id === null || item_id === null || data === null) return null;
  return {
    thread_id: thread_id === "" ? null : thread_id,
    turn_id: turn_id === "" ? null : turn_id,
    item_id,
    kind: kindOf(event),
    data: parseRow(jsonSchema, { table: "events", key: String(id), data }),
  };
}

/** An item is called as its event is, questions apart. */
function kindOf(event: string): string {
  switch (event) {
    case "question_asked":
      return "question";
    case "question_answered":
      return "answer";
    default:
      return event;
  }
}
