/** What must hold after every event, and at the end of a day: claims and runs agree, old runs change nothing, no ticket is forgotten. */
import type { IssueId, RunId } from "../../src/domain/ids.ts";
import type { Issue } from "../../src/domain/issue.ts";
import type { Settings } from "../../src/domain/settings.ts";
import { isTerminal, startGate } from "../../src/scheduler/eligibility.ts";
import type { Event } from "../../src/scheduler/events.ts";
import { dispatchGate } from "../../src/scheduler/pauses.ts";
import { Slots } from "../../src/scheduler/slots.ts";
import type { State } from "../../src/scheduler/state.ts";
import { Breach } from "./breach.ts";

/** An eligible ticket with a free slot and no pause may wait this long: a slow tracker, a back-off and a few polls. */
const STARVED_MS = 45 * 60_000;

/** The world as it is after an event. */
export interface Sight {
  readonly state: State;
  readonly before: State;
  readonly runs: ReadonlySet<RunId>;
  readonly board: ReadonlyMap<IssueId, Issue>;
  readonly settings: Settings;
  readonly now: number;
}

export class Watch {
  readonly #waitingSince = new Map<IssueId, number>();
  /** The next event is decided together with others: a standstill that has yet to be noticed, or what waited for the ledger. */
  #hasCompany = false;

  /** What comes next is decided in one go with the event after it. */
  expectCompany(): void {
    this.#hasCompany = true;
  }

  /** Waiting starts anew: nobody could be served for a while. */
  excuseWaiting(): void {
    this.#waitingSince.clear();
  }

  check(event: Event, sight: Sight): void {
    checkRunning(sight);
    this.#checkOldRuns(event, sight);
    this.#checkStarvation(sight);
  }

  /** An event of an old run changes no claim. */
  #checkOldRuns(event: Event, { state, before }: Sight): void {
    const hadCompany = this.#hasCompany;
    // A refused command decides nothing, so what it would have company with is still to come.
    if (state !== before) this.#hasCompany = false;
    if (hadCompany || !("runId" in event)) return;
    const known = [...before.claims.values()].some((claim) => claim.kind === "running" && claim.runId === event.runId);
    if (!known && state.claims !== before.claims) throw new Breach(`${event.kind} of an old run changed a claim`);
  }

  /** No ticket that may go is forgotten: a claim or a start must come while there is room. */
  #checkStarvation({ state, board, settings, now }: Sight): void {
    const open = dispatchGate(state, now) === "open" && state.tracker.failures === 0;
    const slots = new Slots(state, settings);
    for (const issue of board.values()) {
      const mayGo = open && !state.claims.has(issue.id) && startGate(issue, settings) === null;
      if (!mayGo || !slots.isFree(issue.state)) this.#waitingSince.delete(issue.id);
      else if (!this.#waitingSince.has(issue.id)) this.#waitingSince.set(issue.id, now);
      else if (now - (this.#waitingSince.get(issue.id) ?? now) > STARVED_MS) {
        throw new Breach(`${issue.identifier} is forgotten`);
      }
    }
  }
}

/** Each running claim has a live run, and the reverse. */
function checkRunning({ state, runs }: Sight): void {
  let running = 0;
  for (const claim of state.claims.values()) {
    if (claim.kind !== "running") continue;
    running += 1;
    if (!runs.has(claim.runId)) throw new Breach(`${claim.issue.identifier} is running without a run`);
  }
  if (running !== runs.size) throw new Breach(`${runs.size} runs for ${running} running claims`);
}

/** What must hold once the day has ended calmly. `openRuns`: those that the ledger has no end of. */
export function checkCalmEnd(
  state: State,
  settings: Settings,
  board: ReadonlyMap<IssueId, Issue>,
  openRuns: ReadonlySet<string>,
): void {
  for (const issue of board.values()) {
    if (!isTerminal(issue, settings)) {
      const claim = JSON.stringify(state.claims.get(issue.id) ?? "unclaimed");
      throw new Breach(`${issue.identifier} never ended: ${claim}`);
    }
    if (state.workspaces.has(issue.id)) {
      throw new Breach(`${issue.identifier} ended and its workspace is still there`);
    }
  }
  if (state.claims.size > 0) throw new Breach("claims are left on an empty board");
  if (openRuns.size > 0) throw new Breach("a run was never ended in the ledger");
}
