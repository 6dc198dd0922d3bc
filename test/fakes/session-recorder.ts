/** A session request whose listener writes everything down. */
import { randomUUID } from "node:crypto";
import type { SessionListener, SessionRequest } from "../../src/agent/port.ts";
import type { AgentEventBody } from "../../src/domain/events.ts";
import { issueId } from "../../src/domain/ids.ts";
import type { Question } from "../../src/domain/outcome.ts";
import type { ProcessIdentity } from "../../src/host/port.ts";
import { makeSettings } from "../support/issues.ts";

/** What a session told its listener. */
export class SessionRecorder implements SessionListener {
  readonly events: AgentEventBody[] = [];
  readonly open: number[] = [];
  readonly questions: (Question | null)[] = [];
  /** Ids of answers and grants that the agent has taken. */
  readonly answers: string[] = [];
  readonly identities: ProcessIdentity[] = [];

  event(event: AgentEventBody): void {
    this.events.push(event);
  }

  alive(open: number): void {
    this.open.push(open);
  }

  spawned(identity: ProcessIdentity): void {
    this.identities.push(identity);
  }

  question(question: Question | null): void {
    this.questions.push(question);
  }

  answered(questionId: string): void {
    this.answers.push(questionId);
  }

  /** The events of some kinds, in order. */
  of<K extends AgentEventBody["kind"]>(...kinds: readonly K[]): Extract<AgentEventBody, { kind: K }>[] {
    return this.events.filter((event): event is Extract<AgentEventBody, { kind: K }> =>
      kinds.some((kind) => kind === event.kind),
    );
  }
}

/** A request with defaults for everything but what a test cares about. */
export function sessionRequest(listener: SessionListener, overrides: Partial<SessionRequest> = {}): SessionRequest {
  return {
    settings: makeSettings(),
    workspacePath: "/workspace",
    issue: { id: issueId("id-1"), identifier: "T-1" },
    threadId: null,
    // Of this request alone: what ends a run's real processes finds them by it.
    runMarker: `run-${randomUUID()}`,
    tools: [],
    callTool: () => Promise.resolve({ success: false, text: "no tools here" }),
    listener,
    signal: new AbortController().signal,
    ...overrides,
  };
}
