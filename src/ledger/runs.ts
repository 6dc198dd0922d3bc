/** Runs and their turns as rows. */
import type { RunFact } from "../domain/claim.ts";
import { assertNever } from "../domain/errors.ts";
import type { RunOutcome } from "../domain/outcome.ts";
import type { Connection } from "./database.ts";
import type { TurnEndRecord, TurnIntent, TurnStart } from "./port.ts";
import { whole } from "./writer.ts";

/** Statements over runs and turns. Writes belong into a transaction of the caller's. */
export interface RunRows {
  write(fact: RunFact): void;
  turnIntended(intent: TurnIntent): void;
  turnStarted(start: TurnStart): void;
  turnEnded(end: TurnEndRecord): void;
}

/** An outcome in columns: its word, what kind of it, and why in words. */
interface OutcomeColumns {
  readonly outcome: string;
  /** The failure's class, or who cancelled. */
  readonly class: string | null;
  readonly error: string | null;
}

function outcomeColumns(outcome: RunOutcome): OutcomeColumns {
  switch (outcome.kind) {
    case "succeeded":
      return { outcome: outcome.kind, class: null, error: null };
    case "failed":
      return { outcome: outcome.kind, class: outcome.class, error: outcome.message };
    case "timed_out":
    case "stalled":
      return { outcome: outcome.kind, class: null, error: outcome.message };
    case "cancelled":
      return { outcome: outcome.kind, class: outcome.by, error: outcome.message };
    case "needs_input":
      return { outcome: outcome.kind, class: null, error: outcome.question.summary };
    default:
      return assertNever(outcome);
  }
}

function prepareStatements(db: Connection) {
  return {
    // A commit that failed after it was written is tried again.
    start: db.prepare(
      `INSERT INTO runs (run_id, issue_id, issue_identifier, attempt, thread_id, started_at) VALUES (?, ?, ?, ?, ?, ?)
       ON CONFLICT (run_id) DO NOTHING`,
    ),
    // The first end counts.
    end: db.prepare(
      `UPDATE runs SET outcome = @outcome, class = @class, error = @error, changed = @changed,
         turns = MAX(@turns, (SELECT count(*) FROM turns AS t WHERE t.run_id = @runId AND t.turn_id IS NOT NULL)),
         thread_id = COALESCE(@threadId, thread_id), ended_at = @at
       WHERE run_id = @runId AND ended_at IS NULL`,
    ),
    endOpenTurns: db.prepare(
      `UPDATE turns SET status = 'interrupted', ended_at = ? WHERE run_id = ? AND ended_at IS NULL`,
    ),
    bindThread: db.prepare("UPDATE runs SET thread_id = ? WHERE run_id = ?"),
    intend: db.prepare(
      `INSERT INTO turns (run_id, turn, intent_id, intended_at) VALUES (?, ?, ?, ?)
       ON CONFLICT (run_id, turn) DO UPDATE SET intent_id = excluded.intent_id, intended_at = excluded.intended_at`,
    ),
    startTurn: db.prepare("UPDATE turns SET thread_id = ?, turn_id = ?, started_at = ? WHERE run_id = ? AND turn = ?"),
    endTurn: db.prepare(
      `UPDATE turns SET status = ?, error = ?, ended_at = ? WHERE run_id = ? AND turn = ? AND ended_at IS NULL`,
    ),
  };
}

/** `redact` takes known secret values out of error texts. */
export function prepareRunRows(db: Connection, redact: (text: string) => string): RunRows {
  const sql = prepareStatements(db);
  const clean = (text: string | null): string | null => (text === null ? null : redact(text));

  function write(fact: RunFact): void {
    const { runId } = fact;
    const at = whole(fact.at);
    if (fact.kind === "run_started") {
      const { issue, attempt, threadId } = fact;
      sql.start.run(runId, issue.id, issue.identifier, attempt, threadId, at);
      return;
    }
    const { outcome, changed, turns, threadId } = fact.result;
    const columns = outcomeColumns(outcome);
    const changedFlag = changed === null ? null : Number(changed);
    sql.end.run({ ...columns, error: clean(columns.error), changed: changedFlag, turns, threadId, at, runId });
    sql.endOpenTurns.run(at, runId);
  }

  return {
    write,
    turnIntended({ runId, turn, intentId, at }) {
      sql.intend.run(runId, turn, intentId, whole(at));
    },
    turnStarted({ runId, turn, threadId, turnId, at }) {
      sql.startTurn.run(threadId, turnId, whole(at), runId, turn);
      sql.bindThread.run(threadId, runId);
    },
    turnEnded({ runId, turn, status, error, at }) {
      sql.endTurn.run(status, clean(error), whole(at), runId, turn);
    },
  };
}
