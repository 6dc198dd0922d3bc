/** What a run is given and what it tells: the border between the runner and the orchestrator. */
import type { RunPhase, StopReason, WaitReason, WorkspaceRecord } from "../domain/claim.ts";
import type { AgentEvent } from "../domain/events.ts";
import type { IssueId, RunId } from "../domain/ids.ts";
import type { InboxItem, OperatorMessage, QuestionAnswer } from "../domain/inbox.ts";
import type { Issue, JsonValue } from "../domain/issue.ts";
import type { Question, RunResult } from "../domain/outcome.ts";
import type { Settings } from "../domain/settings.ts";
import type { TokenCounts } from "../domain/tokens.ts";
import type { Tool } from "../domain/tool.ts";
import type { ProcessIdentity } from "../host/port.ts";
import type { EarlierWork } from "../ledger/earlier-work.ts";
import type { PromptTemplate } from "../workflow/template.ts";
import type { Pictures } from "./pictures/gather.ts";

/** One run, bound to the settings, tools and template that were in force when it was dispatched. */
export interface RunRequest {
  readonly runId: RunId;
  readonly issue: Issue;
  readonly attempt: number | null;
  readonly why: WaitReason;
  /** The last run's error in words, for the guidance of a resumed thread. */
  readonly error: string | null;
  /** The bound thread, or null for a fresh one. */
  readonly threadId: string | null;
  /** The directory that this issue id already has. */
  readonly workspace: WorkspaceRecord | null;
  readonly settings: Settings;
  readonly prompt: PromptTemplate;
  readonly tools: readonly Tool[];
  readonly callsInDoubt: readonly string[];
  /** What a person said and no agent has yet. */
  readonly inbox: readonly InboxItem[];
  /** For this run alone: its thread goes back to its own model with the next run that names none. */
  readonly model?: string;
  /** Reasoning effort, as `model`. */
  readonly effort?: string;
  /** What the agent is told for this run beside the ticket; untouched by the template. */
  readonly developerInstructions?: string;
  /** The pictures of the description, for a thread that is told it. Never rejects. Absent where the tracker has none. */
  pictures?(signal: AbortSignal): Promise<Pictures>;
  /** The newest settings: hooks follow a reload, the session doesn't. */
  currentSettings(): Settings;
  /** Whether the ticket is still active and routable, by the newest settings. */
  mayContinue(issue: Issue): boolean;
  /** The budget that this run or its issue has spent, with its numbers; null: it may go on. Throws when that can't be told. */
  budgetSpent(): string | null;
  /** Whether another issue of ours has this directory (compared without letter case). */
  isTaken(path: string): boolean;
  /** The ticket as the tracker has it now; null when a complete answer lacks it. Rejects when it can't be read. */
  readIssue(id: IssueId, signal: AbortSignal): Promise<Issue | null>;
}

/** What a run tells while it goes on. Called synchronously; must not throw. */
export interface RunListener {
  prepared(workspace: WorkspaceRecord): void;
  phase(phase: RunPhase, turn: number): void;
  /** The first turn of the thread has started: only now can it be resumed (measured: a thread without turns can't). */
  threadStarted(threadId: string): void;
  issueSeen(issue: Issue): void;
  alive(open: number): void;
  turnCompleted(): void;
  question(question: Question | null): void;
  /** The agent has what this inbox item says. */
  took(itemId: string): void;
  agentEvent(event: AgentEvent): void;
  /** Growth over what was counted for this thread before, and the model that it was spent on. */
  tokens(growth: TokenCounts, model: string | null): void;
}

/** The rows that a run writes itself. Each returns when the row is committed, and throws when it can't be. */
export interface RunJournal {
  processSpawned(runId: RunId, identity: ProcessIdentity, at: number): void;
  processEnded(runId: RunId, at: number): void;
  turnIntended(turn: {
    readonly runId: RunId;
    readonly turn: number;
    readonly intentId: string;
    readonly at: number;
  }): void;
  turnStarted(turn: {
    readonly runId: RunId;
    readonly turn: number;
    readonly threadId: string;
    readonly turnId: string;
    readonly at: number;
  }): void;
  turnEnded(turn: {
    readonly runId: RunId;
    readonly turn: number;
    readonly status: "completed" | "failed" | "interrupted" | "needs_input";
    readonly error: string | null;
    readonly at: number;
  }): void;
  recordTokens(usage: {
    readonly runId: RunId;
    readonly turn: number;
    readonly threadId: string;
    readonly issueId: IssueId;
    readonly total: TokenCounts;
    readonly subAgent: boolean;
    /** The total is a turn's of an earlier run. */
    readonly replayed: boolean;
    readonly model: string | null;
    readonly at: number;
  }): TokenCounts;
  toolIntended(call: {
    readonly runId: RunId;
    readonly turn: number;
    readonly callId: string;
    readonly name: string;
    readonly at: number;
  }): void;
  toolEnded(call: {
    readonly runId: RunId;
    readonly callId: string;
    readonly ok: boolean;
    readonly durationMs: number;
    readonly bytes: number;
    readonly at: number;
  }): void;
  /** What the issue's ended runs did. */
  earlierWork(issueId: IssueId): EarlierWork;
  threadBinding(issueId: IssueId): { readonly threadId: string; readonly binding: JsonValue } | null;
  bindThread(binding: {
    readonly issueId: IssueId;
    readonly threadId: string;
    readonly binding: JsonValue;
    readonly at: number;
  }): void;
}

/** A run that is going on. */
export interface Run {
  /** Resolves when nothing of the run is left: session closed, processes gone, after_run over. Never rejects. */
  readonly done: Promise<RunResult>;
  /** Lets the turn that is running end by itself and starts no other. */
  finish(why: StopReason): void;
  /** Ends the run now. The first reason wins. */
  stop(why: StopReason): void;
  /** Says it in the running turn, else in the next one; {@link RunListener.took} tells when the agent has it. */
  deliver(message: OperatorMessage): void;
  /** Settles the open question; when it isn't open any more, nothing happens, and the next run has the answer. */
  answer(questionId: string, answer: QuestionAnswer): void;
  /** Ends the turn that is running; the run goes on with the next. */
  interrupt(): void;
  /** Lets the agent shorten its context once its turn has ended. */
  compact(): void;
}
