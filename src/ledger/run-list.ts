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

/** What a run may be filtered by: its outcome, or that it goes on. */
export const RUN_OUTCOMES = [
  "running",
  "succeeded",
  "failed",
  "timed_out",
  "stalled",
  "cancelled",
  "needs_input",
] as const;

export type RunFilter = (typeof RUN_OUTCOMES)[number];

export interface RunsQuery {
  /** An issue's identifier or id. */
  readonly issue?: string;
  readonly outcome?: RunFilter;
  /** A run's id: only runs that began before it. The last one of a page leads to the next; an unknown one to none. */
  readonly before?: string;
  readonly limit?: number;
}

/** What a count is of: pages don't matter to it. */
export type RunFilters = Pick<RunsQuery, "issue" | "outcome">;

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

/** A column of the runs `r`: the turns that have begun. A run that goes on, or that was cut off, has them as rows alone. */
export const TURNS_BEGUN = `
  CASE WHEN r.ended_at IS NULL
    THEN MAX(r.turns, (SELECT count(*) FROM turns AS t WHERE t.run_id = r.run_id AND t.turn_id IS NOT NULL))
    ELSE r.turns END AS turns`;

function whereSql(where: readonly string[]): string {
  return where.length === 0 ? "" : `WHERE ${where.join(" AND ")}`;
}

/** Tokens are summed for the page alone, however many runs there are. */
function runsSql(where: readonly string[]): string {
  return `
    WITH r AS (SELECT rowid AS place, * FROM runs ${whereSql(where)} ORDER BY started_at DESC, rowid DESC LIMIT @limit)
    SELECT r.run_id, r.issue_id, r.issue_identifier, r.attempt, r.outcome, r.class, r.error, r.thread_id, ${TURNS_BEGUN},
      r.started_at, r.ended_at, count(u.run_id) AS figures,
      COALESCE(SUM(u.input), 0) AS input, COALESCE(SUM(u.cached_input), 0) AS cached_input,
      COALESCE(SUM(u.output), 0) AS output, COALESCE(SUM(u.reasoning), 0) AS reasoning
    FROM r LEFT JOIN token_usage AS u USING (run_id)
    GROUP BY r.run_id ORDER BY r.started_at DESC, r.place DESC`;
}

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
export function listRuns(db: Connection, query: RunsQuery): readonly RunJson[] {
  const { sql, values } = runsStatement(query);
  return db.prepare<[Readonly<Record<string, string | number>>], RunRow>(sql).all(values).map(toJson);
}

/** How many there are in all, whatever page is asked for. */
export function countRuns(db: Connection, query: RunFilters): number {
  const { where, values } = filtersOf(query);
  const sql = `SELECT count(*) AS runs FROM runs ${whereSql(where)}`;
  return db.prepare<[Readonly<Record<string, string>>], { runs: number }>(sql).get(values)?.runs ?? 0;
}

/** One run; null when there is none of this id. */
export function findRun(db: Connection, run: string): RunJson | null {
  const row = db.prepare<[object], RunRow>(runsSql(["run_id = @run"])).get({ run, limit: 1 });
  return row === undefined ? null : toJson(row);
}

/** The statement of a page and its values: only the filters that are asked for, so that each finds its index. */
export function runsStatement({ limit, ...filters }: RunsQuery): {
  readonly sql: string;
  readonly values: Readonly<Record<string, string | number>>;
} {
  const { where, values } = filtersOf(filters);
  return { sql: runsSql(where), values: { ...values, limit: limit ?? -1 } };
}

function filtersOf({ issue, outcome, before }: Omit<RunsQuery, "limit">): {
  readonly where: readonly string[];
  readonly values: Readonly<Record<string, string>>;
} {
  const where: string[] = [];
  const values: Record<string, string> = {};
  if (issue !== undefined) {
    where.push("(issue_identifier = @issue OR issue_id = @issue)");
    values["issue"] = issue;
  }
  if (outcome === "running") where.push("ended_at IS NULL");
  else if (outcome !== undefined) {
    where.push("outcome = @outcome");
    values["outcome"] = outcome;
  }
  if (before !== undefined) {
    where.push("(started_at, rowid) < (SELECT started_at, rowid FROM runs WHERE run_id = @before)");
    values["before"] = before;
  }
  return { where, values };
}
