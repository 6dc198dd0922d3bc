/** Processes that runs began, so that a later daemon can end what an unclean stop left. */
import { issueId, runId, type IssueId, type RunId } from "../domain/ids.ts";
import type { Connection } from "./database.ts";
import type { LiveProcess, ProcessRecord } from "./port.ts";
import { whole } from "./writer.ts";

/** Statements over processes. Writes belong into a transaction of the caller's. */
export interface ProcessRows {
  spawned(id: RunId, identity: ProcessRecord, at: number): void;
  ended(id: RunId, at: number): void;
  live(): readonly LiveProcess[];
  ofIssue(issue: IssueId): readonly LiveProcess[];
}

interface LiveRow {
  readonly run_id: string;
  readonly issue_id: string;
  readonly pid: number;
  readonly process_group: number;
  readonly start_time: string;
  readonly marker: string;
}

/** A run without an end and without a process row may have been cut off between the two; its marker is its id. */
const LIVE = `
  SELECT p.run_id, r.issue_id, p.pid, p.process_group, p.start_time, p.marker
  FROM processes AS p JOIN runs AS r USING (run_id) WHERE p.ended_at IS NULL
  UNION ALL
  SELECT r.run_id, r.issue_id, 0, 0, '', r.run_id FROM runs AS r
  WHERE r.ended_at IS NULL AND NOT EXISTS (SELECT 1 FROM processes AS p WHERE p.run_id = r.run_id AND p.ended_at IS NULL)
  ORDER BY 1`;

/** Whatever the issue's runs began, ended or not, and each run's marker. */
const OF_ISSUE = `
  SELECT p.run_id, r.issue_id, p.pid, p.process_group, p.start_time, p.marker
  FROM processes AS p JOIN runs AS r USING (run_id) WHERE r.issue_id = @issue
  UNION ALL
  SELECT run_id, issue_id, 0, 0, '', run_id FROM runs
  WHERE issue_id = @issue AND NOT EXISTS (SELECT 1 FROM processes AS p WHERE p.run_id = runs.run_id)
  ORDER BY 1`;

function toProcess(row: LiveRow): LiveProcess {
  return {
    runId: runId(row.run_id),
    issueId: issueId(row.issue_id),
    identity: { pid: row.pid, processGroup: row.process_group, startTime: row.start_time, marker: row.marker },
  };
}

export function prepareProcessRows(db: Connection): ProcessRows {
  const insert = db.prepare(
    `INSERT INTO processes (run_id, pid, process_group, start_time, marker, spawned_at) VALUES (?, ?, ?, ?, ?, ?)
     ON CONFLICT (run_id, pid, start_time) DO NOTHING`,
  );
  const end = db.prepare("UPDATE processes SET ended_at = ? WHERE run_id = ? AND ended_at IS NULL");
  const live = db.prepare<[], LiveRow>(LIVE);
  const ofIssue = db.prepare<[{ issue: string }], LiveRow>(OF_ISSUE);
  return {
    spawned(id, { pid, processGroup, startTime, marker }, at) {
      insert.run(id, pid, processGroup, startTime, marker, whole(at));
    },
    ended(id, at) {
      end.run(whole(at), id);
    },
    live: () => live.all().map(toProcess),
    ofIssue: (issue) => ofIssue.all({ issue }).map(toProcess),
  };
}
