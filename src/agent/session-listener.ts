/** Turns what a session reports into the run's rows and events. A row that can't be written ends the run: nothing goes on unrecorded. */
import type { AgentEventBody } from "../domain/events.ts";
import type { JsonValue } from "../domain/issue.ts";
import type { Question } from "../domain/outcome.ts";
import type { ProcessIdentity } from "../host/port.ts";
import type { Clock } from "../lib/clock.ts";
import type { SessionListener } from "./port.ts";
import type { RunJournal, RunListener, RunRequest } from "./run-port.ts";

export interface SessionListenerDeps {
  readonly request: RunRequest;
  readonly listener: RunListener;
  readonly journal: RunJournal;
  readonly clock: Clock;
  /** Number of the turn that is running. */
  turn(): number;
  /** What the session's thread rests on. */
  binding(): JsonValue;
  /** The agent works on the turn that it was given. */
  turnStarted(): void;
  fail(error: unknown): void;
}

export function createSessionListener(deps: SessionListenerDeps): SessionListener {
  return new RunSessionListener(deps);
}

class RunSessionListener implements SessionListener {
  readonly #deps: SessionListenerDeps;
  #agentPid: number | null = null;
  #threadId: string | null;
  #isBound = false;
  /** The thread's; its sub-agents' is not told, so that they count as working with the same. A reroute within a turn changes no count. */
  #model: string | null = null;
  /** The question that is shown. */
  #askedId: string | null = null;

  constructor(deps: SessionListenerDeps) {
    this.#deps = deps;
    this.#threadId = deps.request.threadId;
  }

  event(event: AgentEventBody): void {
    this.#guarded(() => this.#record(event));
    this.#tell(event);
  }

  alive(open: number): void {
    this.#deps.listener.alive(open);
  }

  spawned(identity: ProcessIdentity): void {
    const { journal, request, clock } = this.#deps;
    this.#agentPid = identity.pid;
    this.#guarded(() => journal.processSpawned(request.runId, identity, clock.now()));
  }

  question(question: Question | null): void {
    if (question !== null && question.id !== this.#askedId) this.#tell({ kind: "question_asked", question });
    this.#askedId = question?.id ?? null;
    this.#deps.listener.question(question);
  }

  answered(questionId: string): void {
    this.#tell({ kind: "question_answered", questionId });
    this.#deps.listener.took(questionId);
  }

  #record(event: AgentEventBody): void {
    switch (event.kind) {
      case "session_started":
        this.#threadId = event.threadId;
        this.#model = event.model;
        return;
      case "turn_started":
        if (this.#threadId !== null) this.#noteTurn(this.#threadId, event.turnId);
        return this.#deps.turnStarted();
      case "tokens":
        return this.#count(event);
      default:
        return;
    }
  }

  #noteTurn(threadId: string, turnId: string): void {
    const { request, listener, journal, clock, turn, binding } = this.#deps;
    const { runId, issue } = request;
    journal.turnStarted({ runId, turn: turn(), threadId, turnId, at: clock.now() });
    if (this.#isBound) return;
    this.#isBound = true;
    journal.bindThread({ issueId: issue.id, threadId, binding: binding(), at: clock.now() });
    listener.threadStarted(threadId);
  }

  #count({ kind: _, ...report }: Extract<AgentEventBody, { kind: "tokens" }>): void {
    const { request, listener, journal, clock, turn } = this.#deps;
    const model = this.#model;
    const usage = { ...report, runId: request.runId, turn: turn(), issueId: request.issue.id, model, at: clock.now() };
    listener.tokens(journal.recordTokens(usage), model);
  }

  #tell(event: AgentEventBody): void {
    this.#deps.listener.agentEvent({ ...event, at: this.#deps.clock.now(), agentPid: this.#agentPid });
  }

  /** The session's callbacks must not throw into the protocol; a failed write decides the run instead. */
  #guarded(write: () => void): void {
    try {
      write();
    } catch (error) {
      this.#deps.fail(error);
    }
  }
}
