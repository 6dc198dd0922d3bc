/** What a run needs of any coding agent. The app-server backend is in codex/. */
import type { AgentEventBody } from "../domain/events.ts";
import type { QuestionAnswer } from "../domain/inbox.ts";
import type { Issue } from "../domain/issue.ts";
import type { FailureClass, Question } from "../domain/outcome.ts";
import type { Settings } from "../domain/settings.ts";
import type { ToolResult, ToolSpec } from "../domain/tool.ts";
import type { ProcessIdentity } from "../host/port.ts";
import type { ThreadBinding } from "./thread-binding.ts";

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
  /** The agent has taken the answer to this question, or the grant of this id: it counts no second time. */
  answered(questionId: string): void;
}

/** An answer that came when its request was already gone: used once, by the next request of this kind about this subject. */
export interface Grant {
  /** The answered question's. */
  readonly id: string;
  readonly kind: Question["kind"];
  readonly subject: string | null;
  readonly answer: QuestionAnswer;
}

export interface SessionRequest {
  readonly settings: Settings;
  /** Absolute, resolved, checked to be inside the root. */
  readonly workspacePath: string;
  /** Whose work it is: what the log says about the session names it. */
  readonly issue: Pick<Issue, "id" | "identifier">;
  /** The thread to resume, or null for a fresh one. */
  readonly threadId: string | null;
  /** What the bound thread rests on; null: unknown. Where it doesn't fit any more, a fresh thread is started. */
  readonly binding?: ThreadBinding | null;
  /** For this session alone; the thread goes back to its own in the next that names none. */
  readonly model?: string;
  /** Reasoning effort, as `model`. */
  readonly effort?: string;
  /** What a fresh thread is told above its prompts. A resumed thread keeps what it was told at its start. */
  readonly developerInstructions?: string;
  /** Ends what earlier runs of this ticket may have left running: asked when the bound thread is in use. Never rejects. */
  endEarlier?(): Promise<void>;
  readonly runMarker: string;
  readonly tools: readonly ToolSpec[];
  readonly grants?: readonly Grant[];
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
  /** Absolute paths of pictures on the agent's host. */
  readonly images?: readonly string[];
  /** Holds for this turn and, as the app-server has it, for the thread's later ones. */
  readonly model?: string;
  /** Reasoning effort, as `model`. */
  readonly effort?: string;
}

export interface AgentSession {
  readonly threadId: string;
  /** False when a fresh thread was started, whatever was asked for. */
  readonly resumed: boolean;
  /** Why the bound thread was left for a fresh one; null when it wasn't, or when none was bound. */
  readonly replaced: string | null;
  /** What the thread rests on, to be kept with its id. */
  readonly binding: ThreadBinding;
  /** The agent's own version, null when it didn't say one. */
  readonly agentVersion: string | null;
  /** Runs one turn to its end. Never rejects: a dead process or a broken protocol is a failed turn. */
  runTurn(request: TurnRequest): Promise<TurnEnd>;
  /** Adds a message to the running turn. Rejects when there is none. */
  steer(text: string): Promise<void>;
  /** Interrupts the running turn, if any, and ends its background commands. Never hangs and never rejects: the turn ends in any case. */
  interrupt(): Promise<void>;
  /** Lets the agent shorten its context, as a turn of its own without a `turn_started`. Never rejects. */
  compact(): Promise<TurnEnd>;
  /** Settles an open question; false when it isn't open (any more). */
  answer(questionId: string, answer: QuestionAnswer): boolean;
  /** Closes the session and ends its whole process tree. Safe to call again. */
  close(): Promise<void>;
}

export type TurnFailure = Extract<TurnEnd, { kind: "failed" }>;

/** A failed start: what class it is decides what becomes of the run. */
export class SessionStartError extends Error {
  override readonly name = "SessionStartError";
  readonly failure: TurnFailure;

  constructor(failure: TurnFailure) {
    super(failure.message);
    this.failure = failure;
  }
}

/** What a look at the agent without a thread says. `unknown`: this agent has no way to tell. */
export interface AgentCheck {
  readonly version: string | null;
  readonly login: { readonly state: "ok" | "missing" | "unknown"; readonly message: string };
  /** Whether a sandboxed command can run here at all; in containers it often can't, and every command would fail quietly. */
  readonly sandbox: { readonly state: "ok" | "broken" | "unknown"; readonly message: string };
  /** What works otherwise than one would think, one sentence each. */
  readonly warnings: readonly string[];
}

export interface CheckRequest {
  readonly settings: Settings;
  /** Where the agent's process is started; any directory that exists. */
  readonly cwd: string;
  readonly runMarker: string;
  /** The look's process exists: its identity must be kept before it is spoken to. */
  spawned(identity: ProcessIdentity): void;
  /** Called as soon as that much is known, where somebody waits for it: the rest of the look takes longer. */
  loginFound?(login: AgentCheck["login"]): void;
  readonly signal: AbortSignal;
}

export interface AgentBackend {
  readonly name: string;
  /**
   * Starts or resumes. A thread that can't be resumed is replaced by a fresh one (`resumed: false`) when the reason allows it.
   * Rejects with SessionStartError; by then the process tree is gone.
   */
  open(request: SessionRequest): Promise<AgentSession>;
  /** Starts the agent, asks for its login and for a sandboxed no-op, and ends it. Rejects with SessionStartError. */
  check(request: CheckRequest): Promise<AgentCheck>;
  /** Ends what the backend keeps beyond its sessions. */
  close(): Promise<void>;
}
