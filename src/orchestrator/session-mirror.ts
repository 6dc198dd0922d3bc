/** Shows runs in the tracker itself, where it has sessions for that: begin, plan, coarse progress, questions and end. Decides nothing. */
import type { Claim, RunningClaim } from "../domain/claim.ts";
import type { AgentEvent } from "../domain/events.ts";
import type { IssueId, RunId } from "../domain/ids.ts";
import type { RunSessionEnd, RunSessions } from "../tracker/port.ts";
import type { Observer } from "./orchestrator.ts";
import { redactEvent } from "./redact-event.ts";

export interface SessionMirrorDeps {
  /** Those of the tracker in force; a run keeps the ones it began with. Undefined where it has none. */
  sessions(): RunSessions | undefined;
  claims(): ReadonlyMap<IssueId, Claim>;
  /** The daemon's own page of an issue; null where it has none. */
  pageUrl(identifier: string): string | null;
  /** Takes known secret values out of a text. */
  redact(text: string): string;
}

/** A run that is being shown. */
interface Shown {
  readonly issueId: IssueId;
  readonly sessions: RunSessions;
  questionId: string | null;
  lastMessage: string | null;
}

export class SessionMirror implements Observer {
  readonly #deps: SessionMirrorDeps;
  readonly #shown = new Map<RunId, Shown>();

  constructor(deps: SessionMirrorDeps) {
    this.#deps = deps;
  }

  changed(): void {
    const sessions = this.#deps.sessions();
    if (sessions === undefined && this.#shown.size === 0) return;
    const claims = this.#deps.claims();
    for (const [runId, shown] of this.#shown) {
      const claim = claims.get(shown.issueId);
      if (claim?.kind === "running" && claim.runId === runId) this.#ask(shown, claim);
      else this.#end(runId, shown, claim);
    }
    if (sessions === undefined) return;
    for (const [issueId, claim] of claims) {
      if (claim.kind === "running" && !this.#shown.has(claim.runId)) this.#begin(sessions, issueId, claim);
    }
  }

  agentEvent(runId: RunId, _issueId: IssueId, raw: AgentEvent): void {
    const shown = this.#shown.get(runId);
    if (shown === undefined) return;
    const event = redactEvent(raw, (text) => this.#deps.redact(text));
    if (event.kind === "plan") shown.sessions.planned(runId, event.text);
    else if (event.kind === "message") {
      shown.lastMessage = event.text;
      shown.sessions.progressed(runId, event.text);
    } else if (event.kind === "command") shown.sessions.progressed(runId, `Ran \`${event.command}\``);
  }

  #begin(sessions: RunSessions, issueId: IssueId, claim: RunningClaim): void {
    const { runId } = claim;
    const shown = { issueId, sessions, questionId: null, lastMessage: null };
    this.#shown.set(runId, shown);
    sessions.began({ runId, issueId, url: this.#deps.pageUrl(claim.issue.identifier) });
    this.#ask(shown, claim);
  }

  #ask(shown: Shown, { runId, question }: RunningClaim): void {
    if (question === null || question.id === shown.questionId) return;
    shown.questionId = question.id;
    shown.sessions.asked(runId, this.#deps.redact(question.summary));
  }

  #end(runId: RunId, shown: Shown, claim: Claim | undefined): void {
    this.#shown.delete(runId);
    const { kind, text } = endOf(shown, claim);
    shown.sessions.ended(runId, { kind, text: text === null ? null : this.#deps.redact(text) });
  }
}

/** By what has become of the ticket: the run itself is over. */
function endOf({ questionId, lastMessage }: Shown, claim: Claim | undefined): RunSessionEnd {
  if (claim?.kind === "blocked" && claim.question !== null) {
    // One that was asked while the run lived waits there already.
    return { kind: "asked", text: claim.question.id === questionId ? null : claim.question.summary };
  }
  if (claim?.kind === "blocked") return { kind: "failed", text: `The work has stopped: ${claim.message}` };
  if (claim?.kind === "waiting" && claim.error !== null) {
    return { kind: "failed", text: `This run has ended: ${claim.error}. Another one follows.` };
  }
  return { kind: "done", text: lastMessage ?? "This run has ended." };
}
