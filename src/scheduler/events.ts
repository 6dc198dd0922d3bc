/** Everything that can happen to the scheduler. There is no other way in. */
import type { DurableState, RunPhase, WorkspaceRecord } from "../domain/claim.ts";
import type { IssueId, RunId } from "../domain/ids.ts";
import type { QuestionAnswer } from "../domain/inbox.ts";
import type { Issue } from "../domain/issue.ts";
import type { Question, RunResult } from "../domain/outcome.ts";

/** A failed tracker read, sanitized. */
export interface ReadFailure {
  readonly code: string;
  readonly message: string;
  /** When a throttled tracker answers again, epoch ms; null where nothing was said. */
  readonly resetAt: number | null;
}

/** What a person asks for; what each word does is in docs/operating.md. */
export type OperatorCommand =
  | { readonly kind: "pause" }
  /** Ends the operator's pause and a drain. */
  | { readonly kind: "resume" }
  /** No new dispatch, runs go on to their own ends; forgotten by a restart. */
  | { readonly kind: "drain" }
  | { readonly kind: "refresh" }
  | { readonly kind: "stop"; readonly issueId: IssueId }
  | { readonly kind: "retry"; readonly issueId: IssueId }
  | { readonly kind: "release"; readonly issueId: IssueId }
  /** Release, and unbind the thread. */
  | { readonly kind: "reset"; readonly issueId: IssueId }
  | { readonly kind: "answer"; readonly questionId: string; readonly answer: QuestionAnswer }
  | { readonly kind: "steer"; readonly issueId: IssueId; readonly text: string }
  /** Ends the turn that is running; the run goes on with the next. */
  | { readonly kind: "interrupt"; readonly issueId: IssueId }
  | { readonly kind: "compact"; readonly issueId: IssueId };

/** Why a command was refused; the message names the mend. */
export type RefusalCode =
  | "issue_not_claimed"
  | "question_gone"
  | "already_answered"
  | "not_running"
  | "is_running"
  | "is_blocked"
  | "is_cleaning"
  | "is_stopping"
  | "bad_text"
  | "daemon_starting"
  | "daemon_stopping"
  | "ledger_unavailable";

/** What a person is told about a command: what it does now, or why it does nothing. */
export type OperatorResult =
  | { readonly accepted: true; readonly message: string }
  | { readonly accepted: false; readonly code: RefusalCode; readonly message: string };

export type Event =
  /** The first event: what the ledger held. Processes of earlier runs are gone by now. */
  | {
      readonly kind: "boot";
      readonly durable: DurableState;
      /** The identifier of the one ticket that is started; what is claimed besides keeps its claim and waits. Not given: all are. */
      readonly only?: string | null;
      /** A look at the agent is on its way: until its `agent_checked` nothing starts. */
      readonly agentLook?: boolean;
    }
  /** Timers were late by `ms`: the process was stopped, or the machine suspended. */
  | { readonly kind: "stood_still"; readonly ms: number }
  /** The machine's clock was put back by `ms`. */
  | { readonly kind: "clock_set_back"; readonly ms: number }
  /** Something may be due at `env.now`. A stale fire finds nothing due, and so does nothing. */
  | { readonly kind: "timer" }
  | {
      readonly kind: "polled";
      readonly poll: number;
      readonly candidates: readonly Issue[];
      readonly tracked: readonly Issue[];
      /** The ids that were asked for: one that is in neither list is gone. */
      readonly trackedIds: readonly IssueId[];
    }
  | { readonly kind: "poll_failed"; readonly poll: number; readonly failure: ReadFailure }
  | {
      readonly kind: "refreshed";
      readonly check: number;
      readonly ids: readonly IssueId[];
      readonly issues: readonly Issue[];
    }
  | {
      readonly kind: "refresh_failed";
      readonly check: number;
      readonly ids: readonly IssueId[];
      readonly failure: ReadFailure;
    }
  /** A directory of a terminal issue that the ledger doesn't know was found under the root at start. */
  | { readonly kind: "workspace_found"; readonly record: WorkspaceRecord; readonly issue: Issue }
  | { readonly kind: "run_prepared"; readonly runId: RunId; readonly workspace: WorkspaceRecord }
  | { readonly kind: "run_phase"; readonly runId: RunId; readonly phase: RunPhase; readonly turn: number }
  | { readonly kind: "run_thread"; readonly runId: RunId; readonly threadId: string }
  | { readonly kind: "run_activity"; readonly runId: RunId; readonly at: number; readonly open: number }
  | { readonly kind: "run_issue"; readonly runId: RunId; readonly issue: Issue }
  /** A turn completed well: proof that neither login nor usage limit stands in the way. */
  | { readonly kind: "run_turn_completed"; readonly runId: RunId }
  | { readonly kind: "run_question"; readonly runId: RunId; readonly question: Question | null }
  /** The agent has what the inbox item says. */
  | { readonly kind: "run_took"; readonly runId: RunId; readonly itemId: string }
  | { readonly kind: "run_budget"; readonly runId: RunId; readonly message: string }
  | { readonly kind: "run_ended"; readonly runId: RunId; readonly result: RunResult }
  | { readonly kind: "cleaned"; readonly issueId: IssueId }
  | { readonly kind: "clean_failed"; readonly issueId: IssueId; readonly message: string }
  | { readonly kind: "operator"; readonly command: OperatorCommand }
  /** A look at the agent has ended. `missing`: it is not logged in, so that no run can go well. */
  | { readonly kind: "agent_checked"; readonly login: "ok" | "missing" | "unknown"; readonly message: string }
  /** The tracker says that something has changed, in a delivery that was verified. It carries no state. */
  | { readonly kind: "tracker_changed" }
  | { readonly kind: "settings_changed" }
  | { readonly kind: "workflow_broken"; readonly message: string }
  | { readonly kind: "workflow_mended" }
  /** Runs are interrupted and nothing starts until `until`, epoch ms. */
  | { readonly kind: "budget_day_spent"; readonly until: number; readonly message: string }
  /** The day has budget left after all: a limit was raised. */
  | { readonly kind: "budget_day_renewed" }
  /** The daemon is asked to stop: turns may end by themselves within `shutdown.drain_ms`, and no other starts. */
  | { readonly kind: "shutdown" }
  /** The daemon stops: every run is stopped at once, whatever grace it had. */
  | { readonly kind: "stop_runs" };
