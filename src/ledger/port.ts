/** What the daemon writes into the ledger, and what is read from it. */
import type { DurableChange, DurableState } from "../domain/claim.ts";
import type { IssueId, RunId } from "../domain/ids.ts";
import type { JsonValue } from "../domain/issue.ts";
import type { ModelTokens, TokenCounts } from "../domain/tokens.ts";
import type { TranscriptItem } from "../domain/transcript.ts";
import type { EarlierWork } from "./earlier-work.ts";

/** A process as it is kept for reaping; the shape of the host's identity. */
export interface ProcessRecord {
  readonly pid: number;
  readonly processGroup: number;
  readonly startTime: string;
  readonly marker: string;
}

/** A run that may have left processes. */
export interface LiveProcess {
  readonly runId: RunId;
  readonly issueId: IssueId;
  readonly identity: ProcessRecord;
}

export interface TurnIntent {
  readonly runId: RunId;
  /** 1 for a run's first. */
  readonly turn: number;
  readonly intentId: string;
  readonly at: number;
}

export interface TurnStart {
  readonly runId: RunId;
  readonly turn: number;
  readonly threadId: string;
  readonly turnId: string;
  readonly at: number;
}

export interface TurnEndRecord {
  readonly runId: RunId;
  readonly turn: number;
  readonly status: "completed" | "failed" | "interrupted" | "needs_input";
  readonly error: string | null;
  readonly at: number;
}

/** An absolute thread total as the source reported it. */
export interface TokenReport {
  readonly runId: RunId;
  /** 0 before the run's first turn: then it can only be a repetition of what earlier runs used. */
  readonly turn: number;
  readonly threadId: string;
  readonly issueId: IssueId;
  readonly total: TokenCounts;
  readonly subAgent: boolean;
  /** The model of the turn; null where the agent didn't name it. */
  readonly model: string | null;
  /** True for a total that belongs to a turn of an earlier run, as an app-server sends it after a resume. */
  readonly replayed?: boolean;
  readonly at: number;
}

export interface ToolIntent {
  readonly runId: RunId;
  readonly turn: number;
  readonly callId: string;
  readonly name: string;
  readonly at: number;
}

export interface ToolEnd {
  readonly runId: RunId;
  readonly callId: string;
  readonly ok: boolean;
  readonly durationMs: number;
  readonly bytes: number;
  readonly at: number;
}

export interface EventRow {
  readonly runId: RunId;
  readonly issueId: IssueId;
  readonly at: number;
  readonly event: string;
  /** One line for a person. */
  readonly message: string | null;
  /** What is kept of it in full: one that is there already is not told again. */
  readonly item?: TranscriptItem | null;
}

/** The writing side; one per ledger file, guarded by lock.ts. What is durable when, and what a crash may cost: docs/ledger.md. */
export interface Ledger {
  readonly path: string;
  /** Made once per ledger; marks the workspaces that are ours. */
  readonly id: string;
  /** Claims, workspaces and pauses as the last commit left them. Throws `ledger_unusable` that names a row which can't be read. */
  loadState(): DurableState;
  /** All of it in one transaction that survives a power loss, or none. Every writing method throws `ledger_unusable` when it can't. */
  commit(change: DurableChange): void;

  processSpawned(runId: RunId, identity: ProcessRecord, at: number): void;
  /** Every process of the run has ended. */
  processEnded(runId: RunId, at: number): void;
  /**
   * Whatever an earlier daemon may have left: processes without an end, and runs without an end that may have been cut off between a
   * spawn and its row. Those have pid 0 and can be found by their marker, the run's id, alone.
   */
  liveProcesses(): readonly LiveProcess[];
  /** Every process that the issue's runs began, ended or not; pid 0 where only the marker is known. */
  processesOf(issueId: IssueId): readonly LiveProcess[];

  turnIntended(intent: TurnIntent): void;
  turnStarted(start: TurnStart): void;
  turnEnded(end: TurnEndRecord): void;
  /** Counts growth over the thread's mark (section 13.5) and answers it. A repetition adds nothing. */
  recordTokens(report: TokenReport): TokenCounts;
  /** Everything ever counted, and the summed time of ended runs. */
  totals(): { readonly tokens: TokenCounts; readonly endedMs: number };
  /** What was ever counted for an issue, by model. */
  tokensOfIssue(issueId: IssueId): readonly ModelTokens[];
  /** What was counted on the UTC day of `at`, by model. */
  tokensOfDay(at: number): readonly ModelTokens[];

  toolIntended(intent: ToolIntent): void;
  toolEnded(end: ToolEnd): void;
  /** Calls of the issue's last ended run that were begun and whose end nobody saw, in words for the agent. */
  callsInDoubt(issueId: IssueId): readonly string[];

  /** What the issue's ended runs did, as far as it is kept. */
  earlierWork(issueId: IssueId): EarlierWork;

  bindThread(binding: {
    readonly issueId: IssueId;
    readonly threadId: string;
    readonly binding: JsonValue;
    readonly at: number;
  }): void;
  threadBinding(issueId: IssueId): { readonly threadId: string; readonly binding: JsonValue } | null;
  unbindThread(issueId: IssueId): void;

  /**
   * Written with others within a quarter of a second; never throws. The newest of each run are kept. Answers its sequence number:
   * higher than any that was ever given out, over restarts too; it is the row's id.
   */
  appendEvent(event: EventRow): number;
  /** Writes the events that wait. */
  flush(): void;
  /** Flushes and closes; afterwards the file is whole by itself. Safe to call again. */
  close(): void;
}
