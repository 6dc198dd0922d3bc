/** What a decision asks of the world. Effects run after the commit, and report back as events. */
import type { StopReason, WaitReason, WorkspaceRecord } from "../domain/claim.ts";
import type { IssueId, RunId } from "../domain/ids.ts";
import type { InboxItem, OperatorMessage, QuestionAnswer } from "../domain/inbox.ts";
import type { Issue } from "../domain/issue.ts";

export type Effect =
  | {
      readonly kind: "poll";
      readonly poll: number;
      readonly states: readonly string[];
      readonly ids: readonly IssueId[];
    }
  | { readonly kind: "refresh"; readonly check: number; readonly ids: readonly IssueId[] }
  | {
      readonly kind: "start_run";
      readonly runId: RunId;
      readonly issue: Issue;
      readonly attempt: number | null;
      readonly threadId: string | null;
      readonly workspace: WorkspaceRecord | null;
      readonly why: WaitReason;
      /** The last run's error in words, for the guidance of a resumed thread. */
      readonly error: string | null;
      /** What a person said and no agent has yet. */
      readonly inbox: readonly InboxItem[];
    }
  /** Let the turn that is running end by itself, and start no other. */
  | { readonly kind: "finish_run"; readonly runId: RunId; readonly why: StopReason }
  | { readonly kind: "stop_run"; readonly runId: RunId; readonly why: StopReason }
  /** Into the running turn, else into the run's next one. */
  | { readonly kind: "deliver"; readonly runId: RunId; readonly message: OperatorMessage }
  | {
      readonly kind: "answer_question";
      readonly runId: RunId;
      readonly questionId: string;
      readonly answer: QuestionAnswer;
    }
  /** End the turn that is running; the run goes on. */
  | { readonly kind: "interrupt_turn"; readonly runId: RunId }
  | { readonly kind: "compact_thread"; readonly runId: RunId }
  | { readonly kind: "clean"; readonly record: WorkspaceRecord; readonly issue: Issue }
  /** Look once for directories of terminal issues that the ledger doesn't know. */
  | { readonly kind: "sweep" }
  | {
      readonly kind: "log";
      readonly level: "info" | "warn";
      readonly message: string;
      readonly fields: Readonly<Record<string, unknown>>;
    };
