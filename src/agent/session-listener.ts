/** Turns what a session reports into the run's rows and events. A row that can't be written ends the run: nothing goes on unrecorded. */
import type { AgentEventBody } from "../domain/events.ts";
import type { JsonValue } from "../domain/issue.ts";
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
  const { request, listener, journal, clock } = deps;
  const { runId, issue } = request;
  let agentPid: number | null = null;
  let threadId = request.threadId;
  let announced = false;
  /** The thread's; its sub-agents' is not told, so that they count as working with the same. */
  let model: string | null = null;

  function record(event: AgentEventBody): void {
    if (event.kind === "session_started") ({ threadId, model } = event);
    if (event.kind === "turn_started") {
      if (threadId !== null) noteTurn(threadId, event.turnId);
      deps.turnStarted();
    }
    if (event.kind === "tokens") {
      const { kind: _, ...report } = event;
      const usage = { ...report, runId, turn: deps.turn(), issueId: issue.id, model, at: clock.now() };
      listener.tokens(journal.recordTokens(usage), model);
    }
  }

  function noteTurn(thread: string, turnId: string): void {
    journal.turnStarted({ runId, turn: deps.turn(), threadId: thread, turnId, at: clock.now() });
    if (announced) return;
    announced = true;
    journal.bindThread({ issueId: issue.id, threadId: thread, binding: deps.binding(), at: clock.now() });
    listener.threadStarted(thread);
  }

  /** The session's callbacks must not throw into the protocol; a failed write decides the run instead. */
  function guarded(write: () => void): void {
    try {
      write();
    } catch (error) {
      deps.fail(error);
    }
  }

  return {
    event(event) {
      guarded(() => record(event));
      listener.agentEvent({ ...event, at: clock.now(), agentPid });
    },
    alive: (open) => listener.alive(open),
    spawned(identity) {
      agentPid = identity.pid;
      guarded(() => journal.processSpawned(runId, identity, clock.now()));
    },
    question: (question) => listener.question(question),
    answered: (questionId) => listener.took(questionId),
  };
}
