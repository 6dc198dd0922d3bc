/** Issues that were ever claimed, by when they were last seen. */
import type { Connection } from "./database.ts";

export interface IssueJson {
  readonly issue_id: string;
  readonly issue_identifier: string;
  readonly title: string;
  /** As last seen, which may be long ago. */
  readonly state: string;
  readonly seen_at: string;
  readonly runs: number;
  /** The newest run; all null where none is left or none began. */
  readonly last_run_id: string | null;
  readonly last_outcome: string | null;
  readonly last_started_at: string | null;
}

export interface IssuesQuery {
  /** An issue's id: only those that were seen before it. The last one of a page leads to the next; an unknown one to none. */
  readonly before?: string;
  /** Defaults to 100. */
  readonly limit?: number;
}

interface IssueRow extends Omit<IssueJson, "seen_at" | "last_started_at"> {
  readonly seen_at: number;
  readonly last_started_at: number | null;
}

/** For a page alone each issue's runs are counted and its newest looked up. */
export function issuesSql(isPage: boolean): string {
  const filter = isPage ? "WHERE (seen_at, rowid) < (SELECT seen_at, rowid FROM issues WHERE issue_id = @before)" : "";
  return `
    WITH i AS (SELECT rowid AS place, * FROM issues ${filter} ORDER BY seen_at DESC, rowid DESC LIMIT @limit)
    SELECT i.issue_id, i.identifier AS issue_identifier, i.title, i.state, i.seen_at,
      (SELECT count(*) FROM runs AS r WHERE r.issue_id = i.issue_id) AS runs,
      l.run_id AS last_run_id, l.outcome AS last_outcome, l.started_at AS last_started_at
    FROM i LEFT JOIN runs AS l ON l.run_id =
      (SELECT run_id FROM runs AS n WHERE n.issue_id = i.issue_id ORDER BY n.started_at DESC, n.rowid DESC LIMIT 1)
    ORDER BY i.seen_at DESC, i.place DESC`;
}

/** Those that were seen last come first. */
export function listIssues(db: Connection, { before, limit = 100 }: IssuesQuery): readonly IssueJson[] {
  const statement = db.prepare<[object], IssueRow>(issuesSql(before !== undefined));
  const rows = statement.all(before === undefined ? { limit } : { limit, before });
  return rows.map((row) => ({
    ...row,
    seen_at: new Date(row.seen_at).toISOString(),
    last_started_at: row.last_started_at === null ? null : new Date(row.last_started_at).toISOString(),
  }));
}
