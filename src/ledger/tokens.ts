/** Token counts: growth over each thread's persisted mark, added up by run, turn and day. */
import type { IssueId } from "../domain/ids.ts";
import { NO_TOKENS, tokenGrowth, type ModelTokens, type TokenCounts } from "../domain/tokens.ts";
import type { Connection } from "./database.ts";
import type { TokenReport } from "./port.ts";
import { whole, type Writer } from "./writer.ts";

/** Counting, and the sums that are asked for while the daemon runs. */
export interface TokenCounter {
  /** Commits by itself; answers the growth. */
  record(report: TokenReport): TokenCounts;
  all(): TokenCounts;
  ofIssue(issueId: IssueId): readonly ModelTokens[];
  /** Of the UTC day of `at`. */
  ofDay(at: number): readonly ModelTokens[];
}

/** The UTC day that usage is booked on, as `YYYY-MM-DD`. */
export function utcDay(at: number): string {
  return new Date(at).toISOString().slice(0, 10);
}

/** Columns of both token tables as TokenCounts. */
const SUMS = `
  COALESCE(SUM(input), 0) AS input, COALESCE(SUM(cached_input), 0) AS cachedInput,
  COALESCE(SUM(output), 0) AS output, COALESCE(SUM(reasoning), 0) AS reasoning`;

/** A source's figure: never negative, never a fraction, whatever it sent. */
function clean(total: TokenCounts): TokenCounts {
  const count = (value: number): number => (Number.isFinite(value) ? Math.max(0, Math.trunc(value)) : 0);
  return {
    input: count(total.input),
    cachedInput: count(total.cachedInput),
    output: count(total.output),
    reasoning: count(total.reasoning),
  };
}

function same(a: TokenCounts, b: TokenCounts): boolean {
  return a.input === b.input && a.cachedInput === b.cachedInput && a.output === b.output && a.reasoning === b.reasoning;
}

/**
 * What a repeated total adds: only what an earlier run used unseen. Where it is lower, the source lost its newest figures in a crash
 * and counts on from there; those tokens were counted when they were first reported.
 */
function replayGrowth(mark: TokenCounts, total: TokenCounts): TokenCounts {
  const grow = (before: number, now: number): number => Math.max(0, now - before);
  return {
    input: grow(mark.input, total.input),
    cachedInput: grow(mark.cachedInput, total.cachedInput),
    output: grow(mark.output, total.output),
    reasoning: grow(mark.reasoning, total.reasoning),
  };
}

interface ModelRow extends TokenCounts {
  readonly model: string | null;
}

function byModel({ model, ...tokens }: ModelRow): ModelTokens {
  return { model, tokens };
}

function prepareStatements(db: Connection) {
  return {
    mark: db.prepare<[string], TokenCounts>(
      "SELECT input, cached_input AS cachedInput, output, reasoning FROM token_marks WHERE thread_id = ?",
    ),
    setMark: db.prepare(
      `INSERT INTO token_marks (thread_id, issue_id, sub_agent, input, cached_input, output, reasoning, updated_at)
       VALUES (@threadId, @issueId, @subAgent, @input, @cachedInput, @output, @reasoning, @at)
       ON CONFLICT (thread_id) DO UPDATE SET input = excluded.input, cached_input = excluded.cached_input,
         output = excluded.output, reasoning = excluded.reasoning, updated_at = excluded.updated_at`,
    ),
    add: db.prepare(
      `INSERT INTO token_usage (run_id, turn, thread_id, day, issue_id, model, input, cached_input, output, reasoning)
       VALUES (@runId, @turn, @threadId, @day, @issueId, @model, @input, @cachedInput, @output, @reasoning)
       ON CONFLICT (run_id, turn, thread_id, day) DO UPDATE SET model = COALESCE(excluded.model, model), input = input + excluded.input,
         cached_input = cached_input + excluded.cached_input, output = output + excluded.output,
         reasoning = reasoning + excluded.reasoning`,
    ),
    all: db.prepare<[], TokenCounts>(`SELECT ${SUMS} FROM token_usage`),
    ofIssue: db.prepare<[string], ModelRow>(`SELECT model, ${SUMS} FROM token_usage WHERE issue_id = ? GROUP BY model`),
    ofDay: db.prepare<[string], ModelRow>(`SELECT model, ${SUMS} FROM token_usage WHERE day = ? GROUP BY model`),
  };
}

export function createTokenCounter(db: Connection, writer: Writer): TokenCounter {
  const sql = prepareStatements(db);
  /** The marks in the database; nobody else writes them. */
  const marks = new Map<string, TokenCounts>();

  function record(report: TokenReport): TokenCounts {
    const { runId, turn, threadId, issueId, model, at } = report;
    const total = clean(report.total);
    const mark = marks.get(threadId) ?? sql.mark.get(threadId);
    if (mark !== undefined && same(mark, total)) {
      marks.set(threadId, mark);
      return NO_TOKENS;
    }
    const replayed = report.replayed === true || turn === 0;
    const growth = (replayed ? replayGrowth : tokenGrowth)(mark ?? NO_TOKENS, total);
    writer.quick("counting tokens", () => {
      sql.setMark.run({ threadId, issueId, subAgent: Number(report.subAgent), ...total, at: whole(at) });
      // A row of zeros says that a figure came; a repetition isn't one.
      if (mark !== undefined && same(growth, NO_TOKENS)) return;
      sql.add.run({ runId, turn, threadId, day: utcDay(at), issueId, model, ...growth });
    });
    marks.set(threadId, total);
    return growth;
  }

  return {
    record,
    all: () => sql.all.get() ?? NO_TOKENS,
    ofIssue: (issueId) => sql.ofIssue.all(issueId).map(byModel),
    ofDay: (at) => sql.ofDay.all(utcDay(at)).map(byModel),
  };
}
