/** What the outside sees of runs that are going on: the newest event, message and token counts. Display only; nothing is decided on it. */
import type { AgentEvent } from "../domain/events.ts";
import type { RunId } from "../domain/ids.ts";
import { addTokens, NO_TOKENS, type TokenCounts } from "../domain/tokens.ts";

/** How much of a message status shows. */
const MESSAGE_LIMIT = 500;

export interface LiveRun {
  readonly sessionId: string | null;
  readonly threadId: string | null;
  readonly agentPid: number | null;
  readonly lastEvent: string | null;
  readonly lastMessage: string | null;
  readonly lastEventAt: number | null;
  readonly tokens: TokenCounts;
}

const UNSEEN: LiveRun = {
  sessionId: null,
  threadId: null,
  agentPid: null,
  lastEvent: null,
  lastMessage: null,
  lastEventAt: null,
  tokens: NO_TOKENS,
};

export class LiveRuns {
  readonly #redact: (text: string) => string;
  readonly #runs = new Map<RunId, LiveRun>();
  #rateLimits: Readonly<Record<string, unknown>> | null = null;
  #totals: TokenCounts;
  #endedMs: number;

  /**
   * Starts from what the ledger has counted so far, so that a restart doesn't make usage vanish. `redact` takes known secret values
   * out of what is shown.
   */
  constructor(
    totals: { readonly tokens: TokenCounts; readonly endedMs: number },
    redact: (text: string) => string = (text) => text,
  ) {
    this.#redact = redact;
    this.#totals = totals.tokens;
    this.#endedMs = totals.endedMs;
  }

  get totals(): TokenCounts {
    return this.#totals;
  }

  /** Runtime of ended runs, in milliseconds; live ones come on top. */
  get endedMs(): number {
    return this.#endedMs;
  }

  /** The newest payload, as the agent sent it. */
  get rateLimits(): Readonly<Record<string, unknown>> | null {
    return this.#rateLimits;
  }

  get(runId: RunId): LiveRun {
    return this.#runs.get(runId) ?? UNSEEN;
  }

  addTokens(runId: RunId, growth: TokenCounts): void {
    this.#totals = addTokens(this.#totals, growth);
    this.#runs.set(runId, { ...this.get(runId), tokens: addTokens(this.get(runId).tokens, growth) });
  }

  see(runId: RunId, event: AgentEvent): void {
    if (event.kind === "rate_limits") this.#rateLimits = event.limits;
    const before = this.get(runId);
    const threadId = event.kind === "session_started" ? event.threadId : before.threadId;
    const sessionId =
      event.kind === "turn_started" && threadId !== null ? `${threadId}-${event.turnId}` : before.sessionId;
    const message = messageOf(event);
    this.#runs.set(runId, {
      ...before,
      threadId,
      sessionId,
      agentPid: event.agentPid ?? before.agentPid,
      lastEvent: event.kind,
      lastMessage: message === null ? before.lastMessage : this.#redact(message),
      lastEventAt: event.at,
    });
  }

  end(runId: RunId, runMs: number): void {
    this.#runs.delete(runId);
    this.#endedMs += runMs;
  }
}

/** The part of an event that a person reads; null where there is none. Untrusted text, bounded. */
export function messageOf(event: AgentEvent): string | null {
  switch (event.kind) {
    case "message":
    case "reasoning":
    case "plan":
    case "warning":
      return event.text.slice(0, MESSAGE_LIMIT);
    case "question_asked":
      return event.question.summary.slice(0, MESSAGE_LIMIT);
    case "command":
      return event.command.slice(0, MESSAGE_LIMIT);
    case "file_change":
      return event.changes
        .map(({ path }) => path)
        .join(", ")
        .slice(0, MESSAGE_LIMIT);
    case "model_rerouted":
      return `the model was changed from ${event.from ?? "its own"} to ${event.to}`;
    case "tool_call":
      return `${event.tool} ${event.ok ? "ok" : "failed"}`;
    case "turn_failed":
    case "startup_failed":
    case "turn_ended_with_error":
      return event.message.slice(0, MESSAGE_LIMIT);
    case "approval_auto_approved":
    case "approval_declined":
      return `${event.method}${event.subject === null ? "" : `: ${event.subject}`}`.slice(0, MESSAGE_LIMIT);
    default:
      return null;
  }
}
