/** What an agent session tells the world while it works; the runtime events of section 10 and the finer ones beside them. */
import type { Question } from "./outcome.ts";
import type { TokenCounts } from "./tokens.ts";

/** Where an item stands in the agent's own history: the same whenever it is told again. */
export interface ItemRef {
  readonly threadId: string;
  /** Null where the agent named none. */
  readonly turnId: string | null;
  readonly itemId: string;
}

/** What an agent did to one file. */
export interface FileChange {
  readonly path: string;
  /** `add`, `update`, `delete`; open to what a newer agent says. */
  readonly change: string;
  /** As the agent gave it, cut; "" where it gave none or no room was left. */
  readonly diff: string;
}

/** The event itself. Text in it is the agent's and untrusted: bounded by whoever makes it, escaped by whoever shows it. */
export type AgentEventBody =
  | {
      readonly kind: "session_started";
      readonly threadId: string;
      readonly resumed: boolean;
      /** The model that the thread works with; null when the agent didn't name it. */
      readonly model: string | null;
      readonly agentVersion: string | null;
    }
  | { readonly kind: "startup_failed"; readonly message: string }
  | { readonly kind: "turn_started"; readonly turnId: string }
  | { readonly kind: "turn_completed"; readonly turnId: string }
  | { readonly kind: "turn_failed"; readonly turnId: string; readonly message: string }
  | { readonly kind: "turn_cancelled"; readonly turnId: string }
  | { readonly kind: "turn_ended_with_error"; readonly message: string }
  | { readonly kind: "turn_input_required"; readonly method: string }
  /** A question that policy leaves to a person. */
  | { readonly kind: "question_asked"; readonly question: Question }
  /** The agent has a person's answer to it, or used the answer that an earlier run was given. */
  | { readonly kind: "question_answered"; readonly questionId: string }
  | { readonly kind: "approval_auto_approved"; readonly method: string; readonly subject: string | null }
  | { readonly kind: "approval_declined"; readonly method: string; readonly subject: string | null }
  | { readonly kind: "unsupported_tool_call"; readonly tool: string }
  | {
      readonly kind: "tool_call";
      readonly tool: string;
      readonly callId: string;
      readonly ok: boolean;
      readonly durationMs: number;
      readonly bytes: number;
      /** Set for a tool of the agent's own; ours are in the audit of tool calls. */
      readonly item?: ItemRef;
    }
  | { readonly kind: "message"; readonly text: string; readonly item?: ItemRef }
  | { readonly kind: "reasoning"; readonly text: string; readonly item?: ItemRef }
  | { readonly kind: "plan"; readonly text: string; readonly item?: ItemRef }
  | {
      readonly kind: "command";
      readonly command: string;
      /** Null where it has none: it was refused or cut off. */
      readonly exitCode: number | null;
      readonly durationMs: number | null;
      readonly outputTail: string;
      readonly item?: ItemRef;
    }
  | { readonly kind: "file_change"; readonly changes: readonly FileChange[]; readonly item?: ItemRef }
  | { readonly kind: "compaction" }
  /** Another model than the thread's answered, or answers from now on. */
  | { readonly kind: "model_rerouted"; readonly from: string | null; readonly to: string }
  | { readonly kind: "warning"; readonly text: string }
  | {
      readonly kind: "tokens";
      readonly threadId: string;
      readonly total: TokenCounts;
      /** A sub-agent's thread: its tokens are not inside the run's own thread total (measured). */
      readonly subAgent: boolean;
      /** A turn of an earlier session reached it: an app-server repeats the old total after a resume. */
      readonly replayed: boolean;
    }
  | { readonly kind: "rate_limits"; readonly limits: Readonly<Record<string, unknown>> }
  | { readonly kind: "notification"; readonly method: string }
  | { readonly kind: "other_message"; readonly method: string }
  | { readonly kind: "malformed"; readonly sample: string };

/** An event with its UTC time (epoch ms) and the agent's process id, null before there is one. */
export type AgentEvent = AgentEventBody & { readonly at: number; readonly agentPid: number | null };
