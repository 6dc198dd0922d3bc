/** The model tracker: a board that people and agents move tickets on, and that answers late, wrongly, or not at all. */
import type { IssueId } from "../../src/domain/ids.ts";
import { normalizeState, type Issue } from "../../src/domain/issue.ts";
import type { Clock } from "../../src/lib/clock.ts";
import type { ReadFailure } from "../../src/scheduler/events.ts";
import { makeIssue } from "../support/issues.ts";
import type { Faults } from "./faults.ts";
import type { Rng } from "./rng.ts";

export type Answer = { readonly issues: readonly Issue[] } | { readonly failure: ReadFailure };

const OPEN_STATES = ["Todo", "In Progress"];
const ALL_STATES = [...OPEN_STATES, "Human Review", "Backlog", "Done", "Cancelled"];

export class ModelBoard {
  readonly issues = new Map<IssueId, Issue>();
  readonly #rng: Rng;
  readonly #clock: Clock;
  #next = 1;

  constructor(rng: Rng, clock: Clock) {
    this.#rng = rng;
    this.#clock = clock;
  }

  create(): Issue {
    const created = new Date(this.#clock.now()).toISOString();
    const issue = makeIssue(`SIM-${this.#next}`, {
      priority: this.#rng.chance(0.7) ? this.#rng.int(0, 5) : null,
      created_at: created,
      updated_at: created,
    });
    this.#next += 1;
    this.issues.set(issue.id, issue);
    return issue;
  }

  update(id: IssueId, change: Partial<Issue>): void {
    const issue = this.issues.get(id);
    if (issue === undefined) return;
    this.issues.set(id, { ...issue, ...change, updated_at: new Date(this.#clock.now()).toISOString() });
  }

  /** Something that a person does to a ticket. */
  meddle(faults: Faults): void {
    const all = [...this.issues.values()];
    if (all.length === 0) return;
    const issue = this.#rng.pick(all);
    const act = this.#rng.next();
    if (act < 0.5) this.update(issue.id, { state: this.#rng.pick(ALL_STATES) });
    else if (act < 0.65) this.update(issue.id, { labels: issue.labels.length > 0 ? [] : ["hold"] });
    else if (act < 0.75) this.update(issue.id, { dispatchable: !issue.dispatchable });
    else if (act < 0.85) this.block(issue, this.#rng.pick(all));
    else if (faults.deletions && act < 0.9) this.issues.delete(issue.id);
    else this.update(issue.id, { title: `${issue.title}!` });
  }

  /** Lets one ticket wait for another, as an adapter would show it. */
  block(issue: Issue, by: Issue): void {
    if (issue.id === by.id) return;
    this.update(issue.id, {
      blocked_by: [{ id: by.id, identifier: by.identifier, state: by.state }],
      dispatchable: false,
    });
  }

  /** Makes every ticket ordinary again, so that a calm ending can be expected. */
  calm(): void {
    for (const issue of this.issues.values()) {
      const state = ["Done", "Cancelled"].includes(issue.state) ? issue.state : "In Progress";
      this.update(issue.id, { state, labels: ["calm"], dispatchable: true, blocked_by: [] });
    }
  }

  /** Reads as of now; the answer is given to `deliver` after a while. */
  read(faults: Faults, pick: (issue: Issue) => boolean, deliver: (answer: Answer) => void): void {
    const issues = [...this.issues.values()].filter(pick);
    const slow = faults.slowTracker && this.#rng.chance(0.03);
    const delay = slow ? this.#rng.int(20_000, 120_000) : this.#rng.int(5, 800);
    const failure = this.#failure(faults);
    this.#clock.setTimer(delay, () => deliver(failure === null ? { issues } : { failure }));
  }

  #failure(faults: Faults): ReadFailure | null {
    if (faults.throttling && this.#rng.chance(0.01)) {
      const resetAt = this.#rng.chance(0.7) ? this.#clock.now() + this.#rng.int(1000, 1_800_000) : null;
      return { code: "tracker_rate_limited", message: "throttled", resetAt };
    }
    if (faults.trackerErrors && this.#rng.chance(0.05)) {
      return { code: "tracker_status", message: "HTTP 500", resetAt: null };
    }
    return null;
  }
}

/** A candidate by the states that the scheduler asks for. */
export function inStates(states: readonly string[]): (issue: Issue) => boolean {
  const wanted = new Set(states.map(normalizeState));
  return (issue) => wanted.has(normalizeState(issue.state));
}
