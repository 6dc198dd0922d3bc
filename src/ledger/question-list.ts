/** Questions that agents asked, with whether they were answered; those of today wait in claims. */
import * as z from "zod";
import { parseRow } from "./claim-schema.ts";
import type { Connection } from "./database.ts";

export interface QuestionJson {
  /** The number of the event that asked it. */
  readonly sequence: number;
  readonly id: string;
  readonly run_id: string;
  readonly issue_id: string;
  readonly issue_identifier: string;
  /** command, file_change, permissions, elicitation or question. */
  readonly kind: string;
  /** One line; untrusted text. */
  readonly summary: string;
  readonly subject: string | null;
  readonly asked_at: string;
  readonly deadline_at: string | null;
  /** When the agent had a person's answer; null: it never did, or doesn't yet. */
  readonly answered_at: string | null;
}

export interface QuestionsQuery {
  /** A sequence number: only those that were asked before it. The last one of a page leads to the next. */
  readonly before?: number;
  /** Defaults to 100. */
  readonly limit?: number;
}

interface QuestionRow {
  readonly id: number;
  readonly item_id: string;
  readonly run_id: string;
  readonly issue_id: string;
  readonly issue_identifier: string;
  readonly at: number;
  readonly data: string;
  readonly answered_at: number | null;
}

/** An answer may have come in a later run, on another thread. */
export const QUESTIONS_SQL = `
  SELECT q.id, q.item_id, r.run_id, r.issue_id, r.issue_identifier, q.at, q.data, a.at AS answered_at
  FROM events AS q JOIN event_runs AS n ON n.number = q.run JOIN runs AS r ON r.run_id = n.run_id
    LEFT JOIN events AS a ON a.turn = q.turn AND a.item_id = q.item_id || '.answer'
  WHERE q.event = 'question_asked' AND q.turn IS NOT NULL AND q.id < @before ORDER BY q.id DESC LIMIT @limit`;

const questionData = z.object({
  kind: z.string(),
  summary: z.string(),
  subject: z.string().nullable(),
  deadline_at: z.number().nullable(),
});

/** Newest first. */
export function listQuestions(db: Connection, query: QuestionsQuery): readonly QuestionJson[] {
  const { before = Number.MAX_SAFE_INTEGER, limit = 100 } = query;
  const rows = db.prepare<[object], QuestionRow>(QUESTIONS_SQL).all({ before, limit });
  return rows.map(({ id, item_id, run_id, issue_id, issue_identifier, at, data, answered_at }) => {
    const { kind, summary, subject, deadline_at } = parseRow(questionData, { table: "events", key: String(id), data });
    return {
      sequence: id,
      id: item_id,
      run_id,
      issue_id,
      issue_identifier,
      kind,
      summary,
      subject,
      asked_at: new Date(at).toISOString(),
      deadline_at: instant(deadline_at),
      answered_at: instant(answered_at),
    };
  });
}

function instant(at: number | null): string | null {
  return at === null ? null : new Date(at).toISOString();
}
