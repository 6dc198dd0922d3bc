/** The audit of dynamic tool calls: intended before they run, ended afterwards; one without an end is in doubt. */
import type { IssueId } from "../domain/ids.ts";
import type { Connection } from "./database.ts";
import type { ToolEnd, ToolIntent } from "./port.ts";
import { whole } from "./writer.ts";

/** Statements over tool calls. Writes belong into a transaction of the caller's. */
export interface ToolCallRows {
  intended(intent: ToolIntent): void;
  ended(end: ToolEnd): void;
  inDoubt(issue: IssueId): readonly string[];
}

/** Only the last ended run: its successor has been told, and what it did about a call is in the tracker. */
const IN_DOUBT = `
  SELECT name, call_id, intended_at FROM tool_calls
  WHERE ended_at IS NULL AND run_id = (
    SELECT run_id FROM runs WHERE issue_id = ? AND ended_at IS NOT NULL ORDER BY started_at DESC, rowid DESC LIMIT 1)
  ORDER BY intended_at, call_id`;

export function prepareToolCallRows(db: Connection): ToolCallRows {
  const intend = db.prepare(
    `INSERT INTO tool_calls (run_id, call_id, turn, name, intended_at) VALUES (?, ?, ?, ?, ?)
     ON CONFLICT (run_id, call_id) DO NOTHING`,
  );
  const end = db.prepare(
    `UPDATE tool_calls SET ended_at = ?, ok = ?, duration_ms = ?, bytes = ?
     WHERE run_id = ? AND call_id = ? AND ended_at IS NULL`,
  );
  const inDoubt = db.prepare<[string], { name: string; call_id: string; intended_at: number }>(IN_DOUBT);
  return {
    intended({ runId, turn, callId, name, at }) {
      intend.run(runId, callId, turn, name, whole(at));
    },
    ended({ runId, callId, ok, durationMs, bytes, at }) {
      end.run(whole(at), Number(ok), whole(durationMs), bytes, runId, callId);
    },
    inDoubt: (issue) =>
      inDoubt
        .all(issue)
        .map((row) => `${row.name} (call ${row.call_id}, begun ${new Date(row.intended_at).toISOString()})`),
  };
}
