/** One run in full: its turns with what each used and said last, and its tool calls. */
import * as z from "zod";
import { parseRow } from "./claim-schema.ts";
import type { Connection } from "./database.ts";
import { findRun, type RunJson, type TokensJson } from "./run-list.ts";

export interface TurnJson {
  /** 1 for a run's first. */
  readonly turn: number;
  readonly thread_id: string | null;
  readonly turn_id: string | null;
  /** completed, failed, interrupted, needs_input; null while it goes on. */
  readonly status: string | null;
  readonly error: string | null;
  readonly started_at: string | null;
  readonly ended_at: string | null;
  readonly tokens: TokensJson;
  /** What the agent said last, in full up to 16,000 characters; untrusted text. */
  readonly final_message: string | null;
}

export interface ToolCallJson {
  readonly call_id: string;
  readonly turn: number;
  readonly name: string;
  readonly started_at: string;
  /** Null while it goes on, and for ever where the daemon was killed meanwhile: then it is in doubt. */
  readonly ended_at: string | null;
  readonly ok: boolean | null;
  readonly duration_ms: number | null;
  readonly bytes: number | null;
}

export interface RunDetailJson extends RunJson {
  /** Whether the workspace's HEAD or diff changed; null when it can't be told. */
  readonly changed: boolean | null;
  readonly turn_list: readonly TurnJson[];
  readonly tool_calls: readonly ToolCallJson[];
}

/** Each in the order of time; null when there is no run of this id. */
export function runDetail(db: Connection, run: string): RunDetailJson | null {
  const json = findRun(db, run);
  if (json === null) return null;
  const changed = db.prepare<[string], number | null>("SELECT changed FROM runs WHERE run_id = ?").pluck().get(run);
  return {
    ...json,
    changed: changed === null || changed === undefined ? null : changed === 1,
    turn_list: turnsOf(db, run),
    tool_calls: toolCallsOf(db, run),
  };
}

interface TurnRow {
  readonly turn: number;
  readonly thread_id: string | null;
  readonly turn_id: string | null;
  readonly status: string | null;
  readonly error: string | null;
  readonly started_at: number | null;
  readonly ended_at: number | null;
  readonly figures: number;
  readonly input: number;
  readonly cached_input: number;
  readonly output: number;
  readonly reasoning: number;
  readonly final: string | null;
}

/** The end of a turn repeats its last message; the last one that came is the same. */
const TURNS = `
  SELECT t.turn, t.thread_id, t.turn_id, t.status, t.error, t.started_at, t.ended_at, count(u.run_id) AS figures,
    COALESCE(SUM(u.input), 0) AS input, COALESCE(SUM(u.cached_input), 0) AS cached_input,
    COALESCE(SUM(u.output), 0) AS output, COALESCE(SUM(u.reasoning), 0) AS reasoning,
    (SELECT e.data FROM event_turns AS n JOIN events AS e ON e.turn = n.number
      WHERE n.thread_id = t.thread_id AND n.turn_id = t.turn_id AND e.event = 'message' ORDER BY e.id DESC LIMIT 1) AS final
  FROM turns AS t LEFT JOIN token_usage AS u ON u.run_id = t.run_id AND u.turn = t.turn
  WHERE t.run_id = ? GROUP BY t.turn ORDER BY t.turn`;

function turnsOf(db: Connection, run: string): readonly TurnJson[] {
  const rows = db.prepare<[string], TurnRow>(TURNS).all(run);
  return rows.map(({ figures, input, cached_input, output, reasoning, final, started_at, ended_at, ...rest }) => ({
    ...rest,
    started_at: instant(started_at),
    ended_at: instant(ended_at),
    tokens: { input, cached_input, output, reasoning, total: input + output, fresh: figures > 0 },
    final_message: final === null ? null : parseRow(messageData, { table: "events", key: run, data: final }).text,
  }));
}

const messageData = z.object({ text: z.string() });

interface ToolCallRow extends Omit<ToolCallJson, "started_at" | "ended_at" | "ok"> {
  readonly intended_at: number;
  readonly ended_at: number | null;
  readonly ok: number | null;
}

function toolCallsOf(db: Connection, run: string): readonly ToolCallJson[] {
  const rows = db
    .prepare<[string], ToolCallRow>(
      `SELECT call_id, turn, name, intended_at, ended_at, ok, duration_ms, bytes FROM tool_calls
       WHERE run_id = ? ORDER BY intended_at, call_id`,
    )
    .all(run);
  return rows.map(({ call_id, turn, name, intended_at, ended_at, ok, duration_ms, bytes }) => ({
    call_id,
    turn,
    name,
    started_at: new Date(intended_at).toISOString(),
    ended_at: instant(ended_at),
    ok: ok === null ? null : ok === 1,
    duration_ms,
    bytes,
  }));
}

function instant(at: number | null): string | null {
  return at === null ? null : new Date(at).toISOString();
}
