/** Where one run stands: its phase and turn, the ticket as last seen, and its outcome, which is decided once and by the first reason. */
import type { RunPhase, StopReason } from "../domain/claim.ts";
import type { Issue } from "../domain/issue.ts";
import { failed, type RunOutcome } from "../domain/outcome.ts";
import type { RunListener, RunRequest } from "./run-port.ts";
import { outcomeOfStop } from "./run-outcomes.ts";

export class RunState {
  readonly #request: RunRequest;
  readonly #listener: RunListener;
  /** Aborts whatever the run is waiting for, once its outcome is decided. */
  readonly #abort = new AbortController();
  #outcome: RunOutcome | null = null;
  #phase: RunPhase = "preparing";
  #finishing: StopReason | null = null;
  /** Null: a complete answer lacked it. */
  issue: Issue | null;
  /** Number of the turn that is running or was the last; 0 before the first. */
  turn = 0;

  constructor(request: RunRequest, listener: RunListener) {
    this.#request = request;
    this.#listener = listener;
    this.issue = request.issue;
  }

  get outcome(): RunOutcome | null {
    return this.#outcome;
  }

  /** Why the run is to end with its turn; null: it isn't. */
  get finishing(): StopReason | null {
    return this.#finishing;
  }

  get signal(): AbortSignal {
    return this.#abort.signal;
  }

  /** The ticket as last seen, or as it was dispatched. */
  get lastIssue(): Issue {
    return this.issue ?? this.#request.issue;
  }

  decide(outcome: RunOutcome): void {
    if (this.#outcome !== null) return;
    this.#outcome = outcome;
    this.#abort.abort(new Error(`run ended: ${outcome.kind}`));
  }

  enter(phase: RunPhase): void {
    this.#phase = phase;
    this.#listener.phase(phase, this.turn);
  }

  /** As {@link Run.finish}. */
  finish(why: StopReason): void {
    this.#finishing = why;
    if (this.#phase === "turn") return;
    // Nothing else is under way that could end by itself, but for the look at the ticket, which says how the turn went.
    if (this.#phase !== "between") this.stop(why);
    else if (why === "terminal") this.decide({ kind: "succeeded" });
  }

  /** As {@link Run.stop}. */
  stop(why: StopReason): void {
    this.decide(outcomeOfStop(why));
  }

  /** What a run spends is watched while it does; this is for what was spent before it, and for a limit that was lowered. */
  isOverBudget(): boolean {
    const spent = this.#request.budgetSpent();
    if (spent !== null) this.decide(failed("budget", spent, { retryable: false }));
    return spent !== null;
  }
}
