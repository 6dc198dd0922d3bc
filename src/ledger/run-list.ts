/** Runs as `runs --json` shows them (contract.md). */
import type { Connection } from "./database.ts";

/** What a run, or several, used. */
export interface TokensJson {
  readonly input: number;
  readonly cached_input: number;
  readonly output: number;
  readonly reasoning: number;
  /** input + output. */
  readonly total: number;
  /** False when the source gave no usable figure: the zeros mean "unknown". */
  readonly fresh: boolean;
}

export interface RunJson {
  readonly run_id: string;
  readonly issue_id: string;
  readonly issue_identifier: string;
  /** Null on an issue's first run. */
  readonly attempt: number | null;
  /** succeeded, failed, timed_out, stalled, cancelled, needs_input; null while it goes on. */
  readonly outcome: string | null;
  /** A failure's class, or who cancelled: tracker, operator, shutdown. */
  readonly class: string | null;
  readonly error: string | null;
  readonly thread_id: string | null;
  /** Turns that have begun. */
  readonly turns: number;
  readonly started_at: string;
  readonly ended_at: string | null;
  readonly tokens: TokensJson;
}

export interface RunsQuery {
  /** An issue's identifier or id. */
  readonly issue?: string;
  readonly limit?: number;
}

interface RunRow {
  readonly run_id: string;
  readonly issue_id: string;
  readonly issue_identifier: string;
  readonly attempt: number | null;
  readonly outcome: string | null;
  readonly class: string | null;
  readonly error: string | null;
  readonly thread_id: string | null;
  readonly turns: number;
  readonly started_at: number;
  readonly ended_at: number | null;
  readonly figures: number;
  readonly input: number;
  readonly cached_input: number;
  readonly output: number;
  readonly reasoning: number;
}

/** A run that goes on, or that was cut off, has its turns only as rows. */
const RUNS = `
  SELECT r.run_id, r.issue_id, r.issue_identifier, r.attempt, r.outcome, r.class, r.error, r.thread_id,
    MAX(r.turns, (SELECT count(*) FROM turns AS t WHERE t.run_id = r.run_id AND t.turn_id IS NOT NULL)) AS turns,
    r.started_at, r.ended_at, count(u.run_id) AS figures,
    COALESCE(SUM(u.input), 0) AS input, COALESCE(SUM(u.cached_input), 0) AS cached_input,
    COALESCE(SUM(u.output), 0) AS output, COALESCE(SUM(u.reasoning), 0) AS reasoning
  FROM runs AS r LEFT JOIN token_usage AS u USING (run_id)
  WHERE @issue IS NULL OR r.issue_identifier = @issue OR r.issue_id = @issue
  GROUP BY r.run_id ORDER BY r.started_at DESC, r.rowid DESC LIMIT @limit`;

function toJson(row: RunRow): RunJson {
  const { figures, input, cached_input, output, reasoning, started_at, ended_at, ...rest } = row;
  return {
    ...rest,
    started_at: new Date(started_at).toISOString(),
    ended_at: ended_at === null ? null : new Date(ended_at).toISOString(),
    tokens: { input, cached_input, output, reasoning, total: input + output, fresh: figures > 0 },
  };
}

/** Newest first, all of them unless a limit is given. */
export function listRuns(db: Connection, { issue, limit }: RunsQuery): readonly RunJson[] {
  const rows = db
    .prepare<[{ issue: string | null; limit: number }], RunRow>(RUNS)
    .all({ issue: issue ?? null, limit: limit ?? -1 });
  return rows.map(toJson);
}
