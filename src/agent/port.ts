/** What a run needs of any coding agent. The app-server backend is in codex/. */
import type { AgentEventBody } from "../domain/events.ts";
import type { FailureClass, Question } from "../domain/outcome.ts";
import type { Settings } from "../domain/settings.ts";
import type { ToolResult, ToolSpec } from "../domain/tool.ts";
import type { ProcessIdentity } from "../host/port.ts";

/** What a session reports while it lives. All are called synchronously and must not throw. */
export interface SessionListener {
  event(event: AgentEventBody): void;
  /**
   * Output arrived from the agent. `open` counts the commands, tool calls and questions that are open now. Reconnect notices are
   * not life and don't come here.
   */
  alive(open: number): void;
  /** The process exists and nothing has been said to it yet: the ledger must hold its identity before the handshake. */
  spawned(identity: ProcessIdentity): void;
  /** A question that policy leaves to a person was opened (`ask`), or settled (null). */
  question(question: Question | null): void;
}

export interface SessionRequest {
  readonly settings: Settings;
  /** Absolute, resolved, checked to be inside the root. */
  readonly workspacePath: string;
  readonly title: string;
  /** The thread to resume, or null for a fresh one. */
  readonly threadId: string | null;
  readonly runMarker: string;
  readonly tools: readonly ToolSpec[];
  /** Executes a dynamic tool call; never rejects. */
  callTool(name: string, callId: string, args: unknown): Promise<ToolResult>;
  readonly listener: SessionListener;
  /** Ends the start when it aborts. */
  readonly signal: AbortSignal;
}

export type TurnEnd =
  | { readonly kind: "completed" }
  | { readonly kind: "interrupted" }
  | {
      readonly kind: "failed";
      readonly class: FailureClass;
      readonly message: string;
      readonly retryable: boolean;
      readonly freshThread: boolean;
      readonly resetsAt: number | null;
    }
  | { readonly kind: "needs_input"; readonly question: Question };

export interface TurnRequest {
  readonly prompt: string;
  /** Sent as clientUserMessageId, kept in the ledger first. */
  readonly intentId: string;
}

export interface AgentSession {
  readonly threadId: string;
  /** False when a fresh thread was started, whatever was asked for. */
  readonly resumed: boolean;
  /** Runs one turn to its end. Never rejects: a dead process or a broken protocol is a failed turn. */
  runTurn(request: TurnRequest): Promise<TurnEnd>;
  /** Adds a message to the running turn. Rejects when there is none. */
  steer(text: string): Promise<void>;
  /** Interrupts the running turn, if any, and ends its background commands. */
  interrupt(): Promise<void>;
  /** Closes the session and ends its whole process tree. Safe to call again. */
  close(): Promise<void>;
}

/** A failed start: what class it is decides what becomes of the run. */
export class SessionStartError extends Error {
  override readonly name = "SessionStartError";
  readonly failure: Extract<TurnEnd, { kind: "failed" }>;

  constructor(failure: Extract<TurnEnd, { kind: "failed" }>) {
    super(failure.message);
    this.failure = failure;
  }
}

export interface AgentBackend {
  readonly name: string;
  /**
   * Starts or resumes. A thread that can't be resumed is replaced by a fresh one (`resumed: false`) when the reason allows it.
   * Rejects with SessionStartError; by then the process tree is gone.
   */
  open(request: SessionRequest): Promise<AgentSession>;
  /** Ends what the backend keeps beyond its sessions. */
  close(): Promise<void>;
}
