/** The scheduler's durable state as rows: claims with the issues they are about, workspaces, pauses. */
import type { Claim, DurableChange, DurableState, Pause, PauseKind, WorkspaceRecord } from "../domain/claim.ts";
import { assertNever } from "../domain/errors.ts";
import { issueId, type IssueId } from "../domain/ids.ts";
import type { Issue } from "../domain/issue.ts";
import { issueSchema, parseRow, pauseSchema, storedClaimSchema } from "./claim-schema.ts";
import type { Connection } from "./database.ts";
import { whole, wholeOrNull } from "./writer.ts";

/** Statements over claims, issues, workspaces and pauses. Writes belong into a transaction of the caller's. */
export interface ClaimRows {
  load(): DurableState;
  /** Notes the newest sight of an issue; rows refer to it. */
  seeIssue(issue: Issue, at: number): void;
  write(change: DurableChange, at: number): void;
  /** The transaction around the last writes came to nothing: what was written in it is not there. */
  rolledBack(): void;
}

interface ClaimRow {
  readonly issue_id: string;
  readonly data: string;
  readonly issue: string;
}

interface WorkspaceRow {
  readonly issue_id: string;
  readonly identifier: string;
  readonly path: string;
  readonly host: string;
  readonly created_at: number;
}

function loadClaims(db: Connection): Map<IssueId, Claim> {
  const rows = db
    .prepare<[], ClaimRow>(
      "SELECT c.issue_id, c.data, i.data AS issue FROM claims AS c JOIN issues AS i USING (issue_id) ORDER BY c.issue_id",
    )
    .all();
  return new Map(
    rows.map((row) => {
      const key = row.issue_id;
      const stored = parseRow(storedClaimSchema, { table: "claims", key, data: row.data });
      const issue = parseRow(issueSchema, { table: "issues", key, data: row.issue });
      return [issueId(key), { ...stored, issue }];
    }),
  );
}

function loadWorkspaces(db: Connection): Map<IssueId, WorkspaceRecord> {
  const rows = db.prepare<[], WorkspaceRow>("SELECT * FROM workspaces ORDER BY issue_id").all();
  return new Map(
    rows.map((row) => {
      const { identifier, path, host } = row;
      const id = issueId(row.issue_id);
      return [id, { issueId: id, identifier, path, host, createdAt: row.created_at }];
    }),
  );
}

function loadPauses(db: Connection): Map<PauseKind, Pause> {
  const rows = db.prepare<[], { kind: string; data: string }>("SELECT kind, data FROM pauses ORDER BY since").all();
  return new Map(
    rows.map(({ kind, data }) => {
      const pause = parseRow(pauseSchema, { table: "pauses", key: kind, data });
      return [pause.kind, pause];
    }),
  );
}

/** What a claim is queried by; the rest is in its JSON. */
function claimColumns(claim: Claim): readonly [string | null, string | null, number | null, string | null] {
  switch (claim.kind) {
    case "running":
      return [claim.runId, claim.threadId, null, claim.stopping?.why ?? null];
    case "waiting":
      return [null, claim.threadId, wholeOrNull(claim.dueAt), claim.why];
    case "blocked":
      return [null, claim.threadId, null, claim.why];
    case "cleaning":
      return [null, null, null, null];
    default:
      return assertNever(claim);
  }
}

function prepareStatements(db: Connection) {
  return {
    setIssue: db.prepare(
      `INSERT INTO issues (issue_id, identifier, title, state, data, seen_at) VALUES (?, ?, ?, ?, ?, ?)
       ON CONFLICT (issue_id) DO UPDATE SET identifier = excluded.identifier, title = excluded.title,
         state = excluded.state, data = excluded.data, seen_at = excluded.seen_at`,
    ),
    setClaim: db.prepare(
      `INSERT INTO claims (issue_id, kind, run_id, thread_id, due_at, why, data, updated_at) VALUES (?, ?, ?, ?, ?, ?, ?, ?)
       ON CONFLICT (issue_id) DO UPDATE SET kind = excluded.kind, run_id = excluded.run_id,
         thread_id = excluded.thread_id, due_at = excluded.due_at, why = excluded.why, data = excluded.data,
         updated_at = excluded.updated_at`,
    ),
    dropClaim: db.prepare("DELETE FROM claims WHERE issue_id = ?"),
    setWorkspace: db.prepare(
      `INSERT INTO workspaces (issue_id, identifier, path, host, created_at) VALUES (?, ?, ?, ?, ?)
       ON CONFLICT (issue_id) DO UPDATE SET identifier = excluded.identifier, path = excluded.path,
         host = excluded.host, created_at = excluded.created_at`,
    ),
    dropWorkspace: db.prepare("DELETE FROM workspaces WHERE issue_id = ?"),
    setPause: db.prepare(
      `INSERT INTO pauses (kind, since, until, data) VALUES (?, ?, ?, ?)
       ON CONFLICT (kind) DO UPDATE SET since = excluded.since, until = excluded.until, data = excluded.data`,
    ),
    dropPause: db.prepare("DELETE FROM pauses WHERE kind = ?"),
  };
}

/** `redact` takes known secret values out of every text that is kept. */
export function prepareClaimRows(db: Connection, redact: (text: string) => string): ClaimRows {
  const sql = prepareStatements(db);
  /** Text by text: a replacement inside finished JSON could break it. */
  const toJson = (value: Omit<Claim, "issue"> | Issue | Pause): string =>
    JSON.stringify(value, (_key, part: unknown) => (typeof part === "string" ? redact(part) : part));
  /** The issue object last written per id: scheduling passes the same one on until the tracker shows a newer. */
  const written = new Map<IssueId, Issue>();

  function seeIssue(issue: Issue, at: number): void {
    if (written.get(issue.id) === issue) return;
    sql.setIssue.run(issue.id, issue.identifier, redact(issue.title), issue.state, toJson(issue), whole(at));
    written.set(issue.id, issue);
  }

  function writeClaim(id: IssueId, claim: Claim, at: number): void {
    const { issue, ...stored } = claim;
    seeIssue(issue, at);
    sql.setClaim.run(id, claim.kind, ...claimColumns(claim), toJson(stored), whole(at));
  }

  return {
    load: () => ({ claims: loadClaims(db), workspaces: loadWorkspaces(db), pauses: loadPauses(db) }),
    seeIssue,
    rolledBack: () => written.clear(),
    write({ claims, workspaces, pauses }, at) {
      for (const [id, claim] of claims) {
        if (claim === null) sql.dropClaim.run(id);
        else writeClaim(id, claim, at);
      }
      for (const [id, record] of workspaces) {
        if (record === null) sql.dropWorkspace.run(id);
        else sql.setWorkspace.run(id, record.identifier, record.path, record.host, whole(record.createdAt));
      }
      for (const [kind, pause] of pauses) {
        if (pause === null) sql.dropPause.run(kind);
        else sql.setPause.run(kind, whole(pause.since), wholeOrNull(pause.until), toJson(pause));
      }
    },
  };
}
