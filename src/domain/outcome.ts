/** How a run ends: one union, decided once, first reason wins. */
import type { Issue } from "./issue.ts";

/**
 * What kind of failure a run met; decides what happens next (docs/operating.md, failure table).
 * `agent` covers a failed turn, an exit and a protocol error.
 */
export type FailureClass =
  | "agent"
  | "hook"
  | "workspace"
  | "template"
  | "launch"
  | "usage_limit"
  | "auth"
  | "context_overflow"
  | "config_refused"
  | "budget"
  /** A row of the run couldn't be written: no fault of its. */
  | "ledger"
  | "internal";

/** Who ended a run before its time. */
export type CancelledBy = "tracker" | "operator" | "shutdown";

/** Something that only a person can settle. */
export interface Question {
  readonly id: string;
  readonly kind: "command" | "file_change" | "permissions" | "elicitation" | "question";
  /** One line for a person; untrusted text. */
  readonly summary: string;
  /** The command, path or server that the answer is about, when the request names one. */
  readonly subject: string | null;
  /** The request's parameters as received, bounded, for a careful reader. */
  readonly detail: string;
  readonly askedAt: number;
  readonly deadlineAt: number | null;
}

export type RunOutcome =
  | { readonly kind: "succeeded" }
  | {
      readonly kind: "failed";
      readonly class: FailureClass;
      readonly message: string;
      readonly retryable: boolean;
      /** The bound thread can't be used again. */
      readonly freshThread: boolean;
      /** When a usage limit resets, epoch ms, where the source said so. */
      readonly resetsAt: number | null;
    }
  | { readonly kind: "timed_out"; readonly message: string }
  | { readonly kind: "stalled"; readonly message: string }
  | { readonly kind: "cancelled"; readonly by: CancelledBy; readonly message: string }
  | { readonly kind: "needs_input"; readonly question: Question };

/** What a workspace looked like: HEAD and a hash of the uncommitted work. Null where it is no git repository and empty. */
export interface Fingerprint {
  readonly head: string | null;
  readonly diff: string | null;
}

/** All that a finished run tells the scheduler and the ledger. */
export interface RunResult {
  readonly outcome: RunOutcome;
  /** The issue as last seen, which may be newer than the claim's. Null: a complete answer lacked it. */
  readonly issue: Issue | null;
  readonly turns: number;
  readonly threadId: string | null;
  /** True when the workspace's HEAD or diff changed between start and end; null when it can't be told. */
  readonly changed: boolean | null;
}

/** A failed outcome with the usual flags: retryable, on the same thread. */
export function failed(
  failureClass: FailureClass,
  message: string,
  extra: { readonly retryable?: boolean; readonly freshThread?: boolean; readonly resetsAt?: number | null } = {},
): RunOutcome {
  return {
    kind: "failed",
    class: failureClass,
    message,
    retryable: extra.retryable ?? true,
    freshThread: extra.freshThread ?? false,
    resetsAt: extra.resetsAt ?? null,
  };
}
