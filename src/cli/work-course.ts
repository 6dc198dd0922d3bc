/** How the one ticket of `symphony work` fares, read from the scheduler's state: whether it goes on, and how it has ended. Pure but for its memory. */
import type { Claim, WaitReason } from "../domain/claim.ts";
import { assertNever } from "../domain/errors.ts";
import type { IssueId } from "../domain/ids.ts";
import type { Issue } from "../domain/issue.ts";
import { findKnownIssue, findMalformed, type Seen } from "../orchestrator/issue-lists.ts";
import { continueGate, isTerminal } from "../scheduler/eligibility.ts";
import { explain, type Gate } from "../scheduler/explain.ts";

export interface WorkEnd {
  readonly outcome: "done" | "failed" | "blocked";
  /** As the tracker spells it. */
  readonly identifier: string;
  readonly message: string;
}

/** Null: it goes on by itself. */
export type WorkStep =
  { readonly kind: "end"; readonly end: WorkEnd } | { readonly kind: "retry"; readonly issueId: IssueId } | null;

/** Waits that end well by themselves; after the others a daemon would try again, and a person in the foreground decides. */
const GOES_ON: ReadonlySet<WaitReason> = new Set([
  "dispatch",
  "continuation",
  "recovered",
  "operator_retry",
  "unblocked",
  "answered",
]);

/** Gates that open by themselves. */
const PASSING: ReadonlySet<Gate> = new Set<Gate>(["claim", "tracker", "agent"]);

export class WorkCourse {
  readonly #wanted: string;
  /** Once it has run. */
  #started: Issue | null = null;
  #retried = false;

  constructor(identifier: string) {
    this.#wanted = identifier;
  }

  look(seen: Seen): WorkStep {
    const issue = findKnownIssue(seen.state, this.#wanted);
    const claim = issue === null ? undefined : seen.state.claims.get(issue.id);
    if (claim === undefined) return this.#lookAtFree(issue, seen);
    switch (claim.kind) {
      case "running":
        this.#started = claim.issue;
        return null;
      case "cleaning":
        this.#started = claim.issue;
        return null;
      case "blocked":
        return this.#lookAtHeld(claim, { outcome: "blocked", message: claim.message });
      case "waiting":
        if (GOES_ON.has(claim.why)) return this.#lookAtGates(claim.issue, seen);
        return this.#lookAtHeld(claim, { outcome: "failed", message: claim.error ?? `it waits (${claim.why})` });
      default:
        return assertNever(claim);
    }
  }

  /** What holds it is from an earlier day, or is how this work has ended. */
  #lookAtHeld({ issue }: Claim, held: Omit<WorkEnd, "identifier">): WorkStep {
    if (this.#started !== null) return this.#end(issue, held);
    if (this.#retried) return null;
    this.#retried = true;
    return { kind: "retry", issueId: issue.id };
  }

  /** Not claimed: it hasn't begun, or it has been let go of. */
  #lookAtFree(issue: Issue | null, seen: Seen): WorkStep {
    const { tracker } = seen.state;
    if (this.#started !== null) return this.#lookAtEnded(this.#started, seen);
    if (tracker.lastError !== null) {
      return this.#endUnknown(`the tracker can't be read: ${tracker.lastError.message}`);
    }
    if (tracker.lastOkAt === null) return null;
    const malformed = issue === null ? findMalformed(seen.malformed, this.#wanted) : null;
    if (malformed !== null) return this.#endUnknown(`it can't be read: ${malformed.where}: ${malformed.reason}`);
    if (issue === null) {
      const states = seen.settings.tracker.activeStates.join(", ");
      return this.#endUnknown(
        `it is not among the ${seen.state.candidates.length} tickets in scope that are ${states}`,
      );
    }
    return this.#lookAtGates(issue, seen);
  }

  /** The ticket as its claim last had it says why it was let go of. */
  #lookAtEnded(issue: Issue, { settings }: Seen): WorkStep {
    if (isTerminal(issue, settings)) {
      return this.#end(issue, { outcome: "done", message: `its state is ${issue.state}` });
    }
    const gate = continueGate(issue, settings);
    if (gate !== null) {
      return this.#end(issue, {
        outcome: "done",
        message: `there is nothing more to do (${gate}, state ${issue.state})`,
      });
    }
    return this.#end(issue, { outcome: "failed", message: "it was released, or the tracker doesn't show it any more" });
  }

  /** A gate that only a person opens ends the work before it has begun. */
  #lookAtGates(issue: Issue, seen: Seen): WorkStep {
    const closed = explain({ ...seen, issue }).gates.filter(({ gate, pass }) => !pass && !PASSING.has(gate));
    if (closed.length === 0) return null;
    const message = closed.map(({ gate, value, mend }) => `${gate}: ${value} (${mend ?? ""})`).join("; ");
    return this.#end(issue, { outcome: "failed", message: `it can't start: ${message}` });
  }

  #end({ identifier }: Pick<Issue, "identifier">, end: Omit<WorkEnd, "identifier">): WorkStep {
    return { kind: "end", end: { ...end, identifier } };
  }

  #endUnknown(message: string): WorkStep {
    return this.#end({ identifier: this.#wanted }, { outcome: "failed", message });
  }
}
