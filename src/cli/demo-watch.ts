/** Follows a demo's daemon: tells the view what changes, and finds out when the board is done. */
import type { Claim } from "../domain/claim.ts";
import type { IssueId, RunId } from "../domain/ids.ts";
import { normalizeState, type Issue } from "../domain/issue.ts";
import type { AgentEvent } from "../domain/events.ts";
import type { Settings } from "../domain/settings.ts";
import type { RunJson } from "../ledger/run-list.ts";
import type { Clock, Timer } from "../lib/clock.ts";
import type { Tracker } from "../tracker/port.ts";
import { describeActivity, describeChange, type TicketView } from "./demo-progress.ts";
import type { DemoView } from "./demo-view.ts";

/** `stuck`: what is left waits for a person, and in a demo nobody comes. */
export type DemoEnd = "done" | "stuck";

export interface DemoWatchDeps {
  readonly clock: Clock;
  readonly settings: Settings;
  /** The demo's board, read beside the daemon. */
  readonly tracker: Tracker;
  claims(): ReadonlyMap<IssueId, Claim>;
  runs(): readonly RunJson[];
  readonly view: DemoView;
  /** The board is done, or will never be. Called once for each time that it comes to that. */
  ended(end: DemoEnd): void;
  /** The board could not be read. */
  failed(error: unknown): void;
}

/** Changes that come together are looked at together. */
const GATHER_MS = 80;
/** For countdowns on a terminal. */
const TICK_MS = 1000;

export class DemoWatch implements Disposable {
  readonly #deps: DemoWatchDeps;
  readonly #activity = new Map<IssueId, string>();
  #claims: ReadonlyMap<IssueId, Claim> = new Map();
  #timer: Timer | null = null;
  #looking = false;
  #lookAgain = false;
  #end: DemoEnd | null = null;
  #closed = false;

  constructor(deps: DemoWatchDeps) {
    this.#deps = deps;
  }

  /** To be called after every change of the daemon's state. */
  changed(): void {
    const { clock, view } = this.#deps;
    const claims = this.#deps.claims();
    for (const id of new Set([...this.#claims.keys(), ...claims.keys()])) {
      const [before, next] = [this.#claims.get(id) ?? null, claims.get(id) ?? null];
      const identifier = (next ?? before)?.issue.identifier ?? id;
      const text = describeChange(before, next, clock.now());
      if (text !== null) view.change(identifier, text);
      if (next?.kind !== "running") this.#activity.delete(id);
    }
    this.#claims = claims;
    this.#lookIn(GATHER_MS);
  }

  /** To be called for every event of an agent. */
  agentEvent(_run: RunId, id: IssueId, event: AgentEvent): void {
    const activity = describeActivity(event);
    if (activity === null) return;
    this.#activity.set(id, activity);
    this.#lookIn(GATHER_MS);
  }

  [Symbol.dispose](): void {
    this.#closed = true;
    this.#timer?.cancel();
  }

  #lookIn(delayMs: number): void {
    if (this.#closed || (this.#timer !== null && delayMs >= TICK_MS)) return;
    this.#timer?.cancel();
    this.#timer = this.#deps.clock.setTimer(delayMs, () => {
      this.#timer = null;
      void this.#look();
    });
  }

  async #look(): Promise<void> {
    if (this.#looking) {
      this.#lookAgain = true;
      return;
    }
    this.#looking = true;
    try {
      const issues = await readBoard(this.#deps.tracker, this.#deps.settings);
      if (!this.#closed) this.#show(issues);
    } catch (error) {
      if (!this.#closed) this.#deps.failed(error);
    } finally {
      this.#looking = false;
    }
    if (this.#lookAgain) this.#lookIn(0);
    else if (this.#deps.view.ticks) this.#lookIn(TICK_MS);
    this.#lookAgain = false;
  }

  #show(issues: readonly Issue[]): void {
    const { settings, view, clock, runs, ended } = this.#deps;
    const claims = this.#deps.claims();
    const tickets = viewTickets(issues, { settings, runs: runs(), claims, activity: this.#activity });
    view.paint(tickets, clock.now());
    const end = findEnd(issues, tickets);
    if (end !== null && end !== this.#end) ended(end);
    this.#end = end;
  }
}

/** Every ticket of the board, whatever its state. */
export async function readBoard(tracker: Tracker, settings: Settings): Promise<readonly Issue[]> {
  const { activeStates, terminalStates } = settings.tracker;
  const issues = await tracker.fetchIssuesByStates([...activeStates, ...terminalStates]);
  return issues.toSorted((a, b) => a.identifier.localeCompare(b.identifier, "en", { numeric: true }));
}

export interface TicketSources {
  readonly settings: Settings;
  readonly runs: readonly RunJson[];
  readonly claims: ReadonlyMap<IssueId, Claim>;
  readonly activity: ReadonlyMap<IssueId, string>;
}

/** What is known of each ticket, from the board, the ledger and the daemon. */
export function viewTickets(issues: readonly Issue[], sources: TicketSources): readonly TicketView[] {
  const terminal = new Set(sources.settings.tracker.terminalStates.map(normalizeState));
  const isTerminal = (state: string | null): boolean => state !== null && terminal.has(normalizeState(state));
  return issues.map((issue) => {
    const runs = sources.runs.filter((run) => run.issue_id === issue.id);
    return {
      identifier: issue.identifier,
      title: issue.title,
      priority: issue.priority,
      state: issue.state,
      terminal: isTerminal(issue.state),
      waitsFor: issue.blocked_by
        .filter((blocker) => !isTerminal(blocker.state))
        .map((blocker) => blocker.identifier ?? "an unknown ticket"),
      claim: sources.claims.get(issue.id) ?? null,
      activity: sources.activity.get(issue.id) ?? null,
      runs: runs.length,
      turns: runs.reduce((sum, run) => sum + run.turns, 0),
      tokens: runs.reduce((sum, run) => sum + run.tokens.total, 0),
    };
  });
}

/** Null while something is under way or will be at the next tick. */
function findEnd(issues: readonly Issue[], tickets: readonly TicketView[]): DemoEnd | null {
  const claims = tickets.flatMap(({ claim }) => (claim === null ? [] : [claim]));
  if (claims.some((claim) => claim.kind !== "blocked")) return null;
  if (tickets.every((ticket) => ticket.terminal)) return "done";
  const unclaimed = new Set(
    tickets.filter(({ claim, terminal }) => claim === null && !terminal).map((ticket) => ticket.identifier),
  );
  const toCome = issues.some((issue) => issue.dispatchable && unclaimed.has(issue.identifier));
  return claims.length > 0 && !toCome ? "stuck" : null;
}
