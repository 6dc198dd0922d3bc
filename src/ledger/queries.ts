/** The ledger's reading side: what `runs`, `usage` and the API answer, beside a running daemon or without one. */
import type { IssueId } from "../domain/ids.ts";
import { systemClock, type Clock } from "../lib/clock.ts";
import { countEnded, listDays, type DayJson, type OutcomeCount } from "./daily.ts";
import { findDamage, openExisting, type Connection } from "./database.ts";
import { listEvents, type EventEntryJson, type EventsQuery } from "./event-list.ts";
import { guarded } from "./failure.ts";
import { listIssues, type IssueJson, type IssuesQuery } from "./issue-list.ts";
import { listQuestions, type QuestionJson, type QuestionsQuery } from "./question-list.ts";
import { runDetail, type RunDetailJson } from "./run-detail.ts";
import { countRuns, listRuns, type RunFilters, type RunJson, type RunsQuery } from "./run-list.ts";
import { sumUsage, type UsageJson, type UsageQuery } from "./usage.ts";

/** The last thing seen of an issue that was ever claimed. */
export interface SeenIssue {
  readonly issue_id: string;
  readonly identifier: string;
  readonly title: string;
  readonly state: string;
}

/** One row of `recent_events`. */
export interface EventJson {
  readonly at: string;
  readonly event: string;
  readonly message: string | null;
}

/** Events that a person reads at once. */
const RECENT_EVENTS = 50;

/** Every method throws `ledger_unusable` when the file can't be read. */
export interface LedgerReader {
  readonly path: string;
  /** Newest first. */
  runs(query?: RunsQuery): readonly RunJson[];
  /** How many runs there are that pass the filters. */
  runCount(query?: RunFilters): number;
  /** One run with its turns and tool calls; null when there is none of this id. */
  run(runId: string): RunDetailJson | null;
  /** Events with their items, oldest first; a page of a run, of an issue or of all. */
  events(query: EventsQuery): readonly EventEntryJson[];
  /** Issues that were ever claimed, those seen last first. */
  issues(query?: IssuesQuery): readonly IssueJson[];
  /** Questions that were ever asked, newest first. */
  questions(query?: QuestionsQuery): readonly QuestionJson[];
  /** Outcomes and durations by UTC day, oldest first; `days` includes today. */
  days(days: number): readonly DayJson[];
  /** Ended runs by outcome, over its whole life. */
  outcomes(): readonly OutcomeCount[];
  usage(query: UsageQuery): UsageJson;
  /** Newest last; `limit` defaults to 50. */
  recentEvents(issueId: IssueId, limit?: number): readonly EventJson[];
  /** The newest that has this identifier; null when no claim ever had. */
  issueByIdentifier(identifier: string): SeenIssue | null;
  /** SQLite's quick check: the first problems, empty when there are none. */
  damage(): readonly string[];
  close(): void;
}

function recentEvents(db: Connection, issueId: IssueId, limit: number): readonly EventJson[] {
  const rows = db
    .prepare<[string, number], { at: number; event: string; message: string | null }>(
      `SELECT e.at, e.event, e.message FROM event_runs AS r CROSS JOIN events AS e ON e.run = r.number
       WHERE r.issue_id = ? ORDER BY r.number DESC, e.id DESC LIMIT ?`,
    )
    .all(issueId, limit);
  return rows.toReversed().map(({ at, event, message }) => ({ at: new Date(at).toISOString(), event, message }));
}

function issueByIdentifier(db: Connection, identifier: string): SeenIssue | null {
  return (
    db
      .prepare<[string], SeenIssue>(
        "SELECT issue_id, identifier, title, state FROM issues WHERE identifier = ? ORDER BY seen_at DESC LIMIT 1",
      )
      .get(identifier) ?? null
  );
}

/** Opens a ledger for reading. Throws `ledger_unusable` when there is none or it can't be read, `ledger_newer` when it is too new. */
export function openLedgerReader(path: string, clock: Clock = systemClock): LedgerReader {
  const db = openExisting(path, { readonly: true });
  const read = <T>(action: () => T): T => guarded(path, "reading", action);
  return {
    path,
    runs: (query = {}) => read(() => listRuns(db, query)),
    runCount: (query = {}) => read(() => countRuns(db, query)),
    run: (runId) => read(() => runDetail(db, runId)),
    events: (query) => read(() => listEvents(db, query)),
    issues: (query = {}) => read(() => listIssues(db, query)),
    questions: (query = {}) => read(() => listQuestions(db, query)),
    days: (days) => read(() => listDays(db, days, clock.now())),
    outcomes: () => read(() => countEnded(db)),
    usage: (query) => read(() => sumUsage(db, query, clock.now())),
    recentEvents: (issueId, limit = RECENT_EVENTS) => read(() => recentEvents(db, issueId, limit)),
    issueByIdentifier: (identifier) => read(() => issueByIdentifier(db, identifier)),
    damage: () => read(() => findDamage(db)),
    close: () => db.close(),
  };
}
