/** What persons were promised by an accepted command, and the watch that it is kept: over runs, crashes and restarts. */
import type { IssueId } from "../../src/domain/ids.ts";
import type { Issue } from "../../src/domain/issue.ts";
import type { OperatorCommand } from "../../src/scheduler/events.ts";
import type { State } from "../../src/scheduler/state.ts";
import type { StartRun } from "./model-agent.ts";

export class Promises {
  /** Stopped tickets as they were then: none starts before a person, or a change of the ticket, lets it. */
  readonly #stopped = new Map<IssueId, string | null>();
  /** Messages that no agent has yet, by id. */
  readonly #owed = new Map<string, IssueId>();
  /** What agents have said to this daemon that they have; on record once the inbox lacks it. */
  readonly #said = new Set<string>();
  /** What agents have taken: each once. */
  readonly #taken = new Set<string>();

  /** The command was accepted and committed. */
  accepted(command: OperatorCommand, state: State, board: ReadonlyMap<IssueId, Issue>): void {
    if (command.kind === "answer" || !("issueId" in command)) return;
    const { issueId } = command;
    if (command.kind === "stop") this.#stopped.set(issueId, board.get(issueId)?.updated_at ?? null);
    else if (command.kind !== "steer") this.#stopped.delete(issueId);
    if (command.kind !== "steer") return;
    for (const { kind, id } of inboxOf(state, issueId)) if (kind === "message") this.#owed.set(id, issueId);
  }

  /** An agent says that it has this. A ledger that is down puts off that it is on record. */
  said(itemId: string): void {
    this.#said.add(itemId);
  }

  /** The daemon died over the command, or its ledger was down: nobody knows when it will be on record, so either is right. */
  inDoubt(command: OperatorCommand): void {
    if ("issueId" in command) this.#stopped.delete(command.issueId);
  }

  /** A sentence about a promise that this start breaks, or null. */
  brokenByStart({ issue, inbox }: StartRun, board: ReadonlyMap<IssueId, Issue>): string | null {
    const stoppedAs = this.#stopped.get(issue.id);
    if (stoppedAs !== undefined && stoppedAs === board.get(issue.id)?.updated_at) {
      return `${issue.identifier} starts though an operator has stopped it`;
    }
    this.#stopped.delete(issue.id);
    const twice = inbox.find(({ id }) => this.#taken.has(id));
    return twice === undefined ? null : `${issue.identifier} is told ${twice.id} twice`;
  }

  /** A sentence about a stop that the next daemon doesn't know of, or null. */
  brokenByRestart(state: State, board: ReadonlyMap<IssueId, Issue>): string | null {
    for (const [id, stoppedAs] of this.#stopped) {
      const kind = state.claims.get(id)?.kind;
      const issue = board.get(id);
      if (kind === "blocked" || issue === undefined || issue.updated_at !== stoppedAs) continue;
      return `${issue.identifier} is ${kind ?? "unclaimed"} after a restart though an operator has stopped it`;
    }
    return null;
  }

  /** A sentence about a promise that is broken as things stand, or null. A ticket that is let go takes what was said to it along. */
  broken(state: State): string | null {
    for (const id of this.#stopped.keys()) {
      const kind = state.claims.get(id)?.kind;
      if (kind === undefined || kind === "cleaning") this.#stopped.delete(id);
    }
    for (const [itemId, issueId] of this.#owed) {
      const claim = state.claims.get(issueId);
      if (claim === undefined || claim.kind === "cleaning") this.#owed.delete(itemId);
      else if (claim.inbox.some(({ id }) => id === itemId)) continue;
      else if (this.#said.has(itemId)) {
        this.#taken.add(itemId);
        this.#owed.delete(itemId);
      } else return `message ${itemId} was lost`;
    }
    return null;
  }
}

function inboxOf(state: State, issueId: IssueId) {
  const claim = state.claims.get(issueId);
  return claim === undefined || claim.kind === "cleaning" ? [] : claim.inbox;
}
