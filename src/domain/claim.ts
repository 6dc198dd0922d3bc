/**
 * The scheduler's durable facts: what is claimed and why. Plain data, so that the ledger can keep it and the scheduler move it.
 * The transitions are in scheduler/.
 */
import type { IssueId, RunId } from "./ids.ts";
import type { InboxItem } from "./inbox.ts";
import type { Issue } from "./issue.ts";
import type { FailureClass, Question, RunResult } from "./outcome.ts";

/** Every kind of claim. */
export const CLAIM_KINDS = ["running", "waiting", "blocked", "cleaning"] as const satisfies readonly Claim["kind"][];

/** Where a run is. `stopping` carries its reason in {@link RunningClaim.stopping}. */
export type RunPhase = "preparing" | "launching" | "turn" | "between" | "finishing" | "stopping";

/** Why a running claim is being stopped, and so what becomes of it. */
export type StopReason =
  /** The ticket turned terminal: clean its workspace. */
  | "terminal"
  /** Inactive, unroutable, or gone from a complete answer: release, keep the workspace. */
  | "unroutable"
  | "stalled"
  | "turn_timeout"
  | "operator_stop"
  | "operator_release"
  /** A release that unbinds the thread. */
  | "operator_reset"
  | "budget"
  /** The day's budget: waits for the next day, no attempt counted. */
  | "day_budget"
  | "shutdown";

/** Counts whole runs without progress, over continuation, failure and recovery (`agent.max_idle_runs`). */
export interface IdleCount {
  readonly runs: number;
  /** The normalized state at the last whole run's end; a difference is progress. */
  readonly state: string;
}

/** A stop that is under way. */
export interface Stopping {
  readonly why: StopReason;
  readonly since: number;
  /** When the grace ends and the turn is interrupted, epoch ms; null once that has been asked for. */
  readonly interruptAt: number | null;
  /** The numbers behind a budget stop, for the person who reads why. */
  readonly detail: string | null;
}

/** Entered by a dispatch; left by the run's own end, whatever that is. */
export interface RunningClaim {
  readonly kind: "running";
  readonly runId: RunId;
  /** Null on the first run, then what a template sees as `attempt`. */
  readonly attempt: number | null;
  readonly issue: Issue;
  readonly phase: RunPhase;
  readonly host: string;
  readonly threadId: string | null;
  readonly startedAt: number;
  readonly lastEventAt: number;
  /** Commands, tool calls and questions that are open: silence is life while there are any. */
  readonly open: number;
  readonly turn: number;
  /** An approval or question that waits for a person while the run is kept alive. */
  readonly question: Question | null;
  readonly stopping: Stopping | null;
  readonly idle: IdleCount;
  /** What a person said and the agent doesn't have yet; goes along from claim to claim, and is forgotten with the last. */
  readonly inbox: readonly InboxItem[];
}

/** Why a ticket waits. `dispatch`: a fresh candidate being looked at once more before its first run; never kept on disk. */
export type WaitReason =
  | "dispatch"
  | "continuation"
  | "failure"
  | "stalled"
  | "timed_out"
  | "usage_limit"
  | "auth"
  | "day_budget"
  | "shutdown"
  | "recovered"
  | "operator_retry"
  | "unblocked"
  | "answered";

/** Entered by a run's end or an operator; left by a dispatch, a release or a clean-up. */
export interface WaitingClaim {
  readonly kind: "waiting";
  readonly attempt: number | null;
  readonly issue: Issue;
  /** Epoch ms; null = due, needs a slot. */
  readonly dueAt: number | null;
  readonly why: WaitReason;
  /** The last error in words, for status; null when the last run went well. */
  readonly error: string | null;
  readonly threadId: string | null;
  /** Number of the refresh that is on its way for this claim; an answer with another number is stale. */
  readonly check: number | null;
  readonly idle: IdleCount;
  /** As {@link RunningClaim.inbox}. */
  readonly inbox: readonly InboxItem[];
}

/** Every reason for a block. */
export const BLOCK_REASONS = ["operator", "no_progress", "needs_input", "budget", "not_retryable"] as const;

export type BlockReason = (typeof BLOCK_REASONS)[number];

/** Needs a human; survives restarts. Left when the issue's state or labels change, or a person acts. */
export interface BlockedClaim {
  readonly kind: "blocked";
  readonly why: BlockReason;
  /** One sentence for a person: what happened, with numbers where there are any. */
  readonly message: string;
  readonly class: FailureClass | null;
  readonly since: number;
  readonly attempt: number | null;
  readonly issue: Issue;
  readonly question: Question | null;
  readonly threadId: string | null;
  /** As {@link RunningClaim.inbox}. */
  readonly inbox: readonly InboxItem[];
}

/** before_remove and deletion are under way; `issue` is the newest sight of it meanwhile, decided on when cleaned. */
export interface CleaningClaim {
  readonly kind: "cleaning";
  readonly path: string;
  readonly issue: Issue;
  readonly since: number;
}

export type Claim = RunningClaim | WaitingClaim | BlockedClaim | CleaningClaim;

/** A workspace directory that we made or adopted, bound to its issue by id (a renamed identifier keeps its first path). */
export interface WorkspaceRecord {
  readonly issueId: IssueId;
  readonly identifier: string;
  readonly path: string;
  readonly host: string;
  readonly createdAt: number;
}

/** Every kind of pause, in the order in which they are named to people. */
export const PAUSE_KINDS = ["operator", "usage_limit", "auth", "budget", "tracker", "workflow", "ledger"] as const;

export type PauseKind = (typeof PAUSE_KINDS)[number];

/** While any pause holds, nothing new is dispatched. */
export interface Pause {
  readonly kind: PauseKind;
  readonly since: number;
  /** When it ends or is probed, epoch ms; null = until something else ends it. */
  readonly until: number | null;
  readonly message: string;
  /** How often in a row the same limit was met: a wait that nobody stated doubles. */
  readonly step: number;
  /** The one ticket that is let through to see whether the limit is over. */
  readonly probe: IssueId | null;
}

/** What the ledger writes about runs in the same transaction as the claims. */
export type RunFact =
  | {
      readonly kind: "run_started";
      readonly runId: RunId;
      readonly issue: Issue;
      readonly attempt: number | null;
      readonly threadId: string | null;
      readonly at: number;
    }
  | { readonly kind: "run_ended"; readonly runId: RunId; readonly result: RunResult; readonly at: number };

/** All that is written beside the state itself. `thread_unbound`: the issue's next run starts on a fresh thread. */
export type Fact = RunFact | { readonly kind: "thread_unbound"; readonly issueId: IssueId };

/** Everything that one decision changes durably. A null value deletes the row. */
export interface DurableChange {
  readonly claims: ReadonlyMap<IssueId, Claim | null>;
  readonly workspaces: ReadonlyMap<IssueId, WorkspaceRecord | null>;
  readonly pauses: ReadonlyMap<PauseKind, Pause | null>;
  readonly facts: readonly Fact[];
}

/** What a boot finds in the ledger. */
export interface DurableState {
  readonly claims: ReadonlyMap<IssueId, Claim>;
  readonly workspaces: ReadonlyMap<IssueId, WorkspaceRecord>;
  readonly pauses: ReadonlyMap<PauseKind, Pause>;
}
