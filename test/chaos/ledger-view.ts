/** What a round's checks ask a ledger. */
import Database from "better-sqlite3";

export interface RunRow {
  readonly run_id: string;
  readonly ticket: string;
  readonly attempt: number | null;
  readonly outcome: string | null;
  readonly class: string | null;
  readonly thread_id: string | null;
  /** Turns that the agent has begun. */
  readonly begun: number;
  readonly ended_at: number | null;
}

/** Tokens that were counted for a thread, input and output together. */
export interface ThreadRow {
  readonly thread_id: string;
  readonly counted: number;
  readonly mark: number;
}

export interface LedgerView {
  /** In the order in which they started. */
  readonly runs: readonly RunRow[];
  readonly threads: readonly ThreadRow[];
  readonly claims: readonly { readonly ticket: string; readonly kind: string; readonly why: string | null }[];
  readonly workspaces: readonly string[];
  readonly openProcesses: number;
  /** Whether the daemon that had it last has closed it. */
  readonly isClosed: boolean;
}

const RUNS = `
  SELECT run_id, issue_identifier AS ticket, attempt, outcome, class, thread_id, ended_at,
    (SELECT count(*) FROM turns AS t WHERE t.run_id = r.run_id AND t.turn_id IS NOT NULL) AS begun
  FROM runs AS r ORDER BY started_at, rowid`;

const THREADS = `
  SELECT thread_id, SUM(u.input + u.output) AS counted, m.input + m.output AS mark
  FROM token_usage AS u JOIN token_marks AS m USING (thread_id) GROUP BY thread_id`;

/** Reads all of it at once, beside a daemon or without one. Throws when the ledger can't be read. */
export function readLedger(path: string): LedgerView {
  const db = new Database(path, { readonly: true, fileMustExist: true });
  try {
    return {
      runs: db.prepare<[], RunRow>(RUNS).all(),
      threads: db.prepare<[], ThreadRow>(THREADS).all(),
      claims: db
        .prepare<[], LedgerView["claims"][number]>("SELECT issue_id AS ticket, kind, why FROM claims ORDER BY 1")
        .all(),
      workspaces: db.prepare<[], string>("SELECT issue_id FROM workspaces ORDER BY 1").pluck().all(),
      openProcesses: Number(db.prepare("SELECT count(*) FROM processes WHERE ended_at IS NULL").pluck().get()),
      isClosed: db.prepare("SELECT stopped_at FROM daemon").pluck().get() !== null,
    };
  } finally {
    db.close();
  }
}

/** All rows of the tables that decide what happens next, as text for a trace. */
export function ledgerAsText(path: string): string {
  const db = new Database(path, { readonly: true, fileMustExist: true });
  try {
    return ["claims", "pauses", "workspaces", "runs", "processes"]
      .map((table) => {
        const rows = db.prepare(`SELECT * FROM ${table}`).all();
        return [`${table}:`, ...rows.map((row) => `  ${JSON.stringify(row)}`)].join("\n");
      })
      .join("\n");
  } finally {
    db.close();
  }
}
