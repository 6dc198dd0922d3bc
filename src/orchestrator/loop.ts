/** The one place where scheduling state moves: dequeue events, reduce, commit, run effects. Nothing awaits in between. */
import { randomInt } from "node:crypto";
import { channel } from "node:diagnostics_channel";
import type { DurableChange } from "../domain/claim.ts";
import { errorMessage } from "../domain/errors.ts";
import type { Settings } from "../domain/settings.ts";
import type { Clock, Timer } from "../lib/clock.ts";
import type { Log } from "../lib/log.ts";
import type { Effect } from "../scheduler/effects.ts";
import type { Event } from "../scheduler/events.ts";
import { findBreaches } from "../scheduler/invariants.ts";
import { reduce } from "../scheduler/reduce.ts";
import { initialState, type State } from "../scheduler/state.ts";
import { nextWakeAt } from "../scheduler/timers.ts";

export interface LoopDeps {
  readonly clock: Clock;
  readonly log: Log;
  settings(): Settings;
  /** One transaction; throws when it can't be written. */
  commit(change: DurableChange): void;
  /** Starts what an effect asks for and returns at once. */
  perform(effect: Effect): void;
  /** Called before due times are looked at, so that activity which was held back counts. */
  beforeTimer(): void;
  /** The state has moved. */
  changed(): void;
  /** Fresh randomness for a decision; 32 bits, unsigned. */
  seed?(): number;
}

/** For tracers: each event with the effects that it had, once they are committed (docs/operating.md). */
const events = channel("symphony:event");

/** How long a ledger that can't be written is left alone before the queued events are tried again. */
const COMMIT_RETRY_MS = 1000;
/** While runs go on, the timer is never further away than this, so that a standstill of the machine is noticed. */
const BEAT_MS = 15_000;
/** A timer this late was held up by no load that we know: the process was stopped, or the machine suspended. */
const STANDSTILL_MS = 10_000;
/** A clock that is corrected by less harms nothing. */
const SET_BACK_MS = 1_000;

/** An event with the time and chance that it is decided by, also when the ledger makes it wait: deadlines run from when things happened. */
interface Queued {
  readonly event: Event;
  readonly now: number;
  readonly seed: number;
}

export class Loop {
  readonly #deps: LoopDeps;
  #queue: Queued[] = [];
  #state: State = initialState();
  #scheduled = false;
  #timer: Timer | null = null;
  #armedFor: number | null = null;
  /** When something was last decided, to see a clock that was put back. */
  #decidedAt = 0;
  #stopped = false;
  #breaches = 0;
  #ledgerError: { message: string; at: number } | null = null;

  constructor(deps: LoopDeps) {
    this.#deps = deps;
  }

  get state(): State {
    return this.#state;
  }

  /** Why nothing can be decided now; null while the ledger takes what is written. */
  get ledgerError(): { readonly message: string; readonly at: number } | null {
    return this.#ledgerError;
  }

  /** Invariant breaches since start. */
  get breaches(): number {
    return this.#breaches;
  }

  /** Queues an event; everything queued in one turn of the event loop is decided and committed together. */
  post(event: Event): void {
    if (this.#ledgerError !== null) this.#dropOutdated(event);
    this.#queue.push(this.#stamp(event));
    if (this.#scheduled || this.#stopped || this.#ledgerError !== null) return;
    this.#scheduled = true;
    queueMicrotask(() => this.#drain());
  }

  /** Decides what is queued now, without waiting for the next turn of the event loop. */
  flush(): void {
    this.#drain();
  }

  /** No event is taken after this. */
  stop(): void {
    this.#stopped = true;
    this.#timer?.cancel();
  }

  #drain(): void {
    this.#scheduled = false;
    if (this.#stopped || this.#queue.length === 0) return;
    this.#noticeStandstill();
    this.#noticeClockSetBack();
    const held = this.#queue.splice(0);
    // What waits for the ledger is decided anew; deadlines pass meanwhile, and what they stop is stopped.
    const batch = this.#ledgerError === null ? held : [...held, this.#stamp({ kind: "timer" })];
    const changes: DurableChange[] = [];
    const effects: Effect[] = [];
    const traced: { readonly event: Event; readonly effects: readonly Effect[] }[] = [];
    let state = this.#state;
    const settings = this.#deps.settings();
    for (const { event, now, seed } of batch) {
      const decision = reduce(state, event, { now, seed, settings });
      state = decision.state;
      if (decision.change !== null) changes.push(decision.change);
      effects.push(...decision.effects);
      if (events.hasSubscribers) traced.push({ event, effects: decision.effects });
    }
    try {
      if (changes.length > 0) this.#deps.commit(mergeChanges(changes));
    } catch (error) {
      return this.#holdBack(held, effects, error);
    }
    // The timer of a retry only tries again; what is due needs its own.
    if (this.#ledgerError !== null) this.#disarm();
    this.#ledgerError = null;
    this.#state = state;
    this.#checkInvariants();
    for (const trace of traced) events.publish(trace);
    for (const effect of effects) this.#deps.perform(effect);
    this.#armTimer();
    this.#deps.changed();
  }

  #stamp(event: Event): Queued {
    return { event, now: this.#deps.clock.now(), seed: this.#deps.seed?.() ?? randomInt(2 ** 32) };
  }

  /** An outage may be long, and a busy agent says every second that it lives: the newest word is enough. */
  #dropOutdated(newer: Event): void {
    if (newer.kind === "run_activity") {
      this.#queue = this.#queue.filter(({ event }) => event.kind !== "run_activity" || event.runId !== newer.runId);
    } else if (newer.kind === "tracker_changed" || newer.kind === "settings_changed") {
      this.#queue = this.#queue.filter(({ event }) => event.kind !== newer.kind);
    }
  }

  /** Before anything else is decided: silence that nobody could have broken counts for nobody. */
  #noticeStandstill(): void {
    const now = this.#deps.clock.now();
    if (this.#armedFor === null || now - this.#armedFor <= STANDSTILL_MS) return;
    const stoodStillMs = now - this.#armedFor;
    this.#armedFor = now;
    this.#queue.unshift(this.#stamp({ kind: "stood_still", ms: stoodStillMs }));
  }

  /** Before anything else is decided too: else all that is due would be late by as much. */
  #noticeClockSetBack(): void {
    const now = this.#deps.clock.now();
    // Timers don't look at the time of day: one that has fired tells how late it was by the old clock.
    const least = this.#timer === null ? (this.#armedFor ?? 0) : 0;
    const ms = Math.max(this.#decidedAt, least) - now;
    this.#decidedAt = now;
    if (ms > SET_BACK_MS) this.#queue.unshift(this.#stamp({ kind: "clock_set_back", ms }));
  }

  /** A commit failed: the events stay queued and nothing new starts; what only stops a run is done all the same. */
  #holdBack(held: readonly Queued[], effects: readonly Effect[], error: unknown): void {
    if (this.#ledgerError === null) {
      this.#deps.log.error({ err: error }, "the ledger can't be written; scheduling waits");
    }
    this.#ledgerError = { message: errorMessage(error), at: this.#deps.clock.now() };
    this.#queue.unshift(...held);
    for (const effect of effects) {
      if (effect.kind === "stop_run" || effect.kind === "finish_run") this.#deps.perform(effect);
    }
    this.#arm(this.#deps.clock.now() + COMMIT_RETRY_MS, () => {
      this.#deps.beforeTimer();
      this.#drain();
    });
    this.#deps.changed();
  }

  #checkInvariants(): void {
    const breaches = findBreaches(this.#state);
    if (breaches.length === 0) return;
    this.#breaches += breaches.length;
    this.#deps.log.error({ breaches }, "invariant broken");
  }

  #armTimer(): void {
    const { clock, settings } = this.#deps;
    const now = clock.now();
    const due = nextWakeAt(this.#state, settings(), now);
    const at = hasRuns(this.#state) ? Math.min(due ?? Infinity, now + BEAT_MS) : due;
    // One that is armed for a little earlier finds nothing due and arms the next: not each event of an agent moves it.
    if (at !== null && this.#timer !== null && this.#armedFor !== null && this.#armedFor <= at) return;
    if (at === null) this.#disarm();
    else this.#arm(at, () => this.#onTimer());
  }

  #arm(at: number, fire: () => void): void {
    const { clock } = this.#deps;
    this.#disarm();
    // What is overdue already fires now: it isn't late because nothing could fire.
    this.#armedFor = Math.max(at, clock.now());
    this.#timer = clock.setTimer(at - clock.now(), () => {
      this.#timer = null;
      fire();
    });
  }

  #disarm(): void {
    this.#timer?.cancel();
    this.#timer = null;
    this.#armedFor = null;
  }

  #onTimer(): void {
    this.#deps.beforeTimer();
    this.post({ kind: "timer" });
  }
}

function hasRuns(state: State): boolean {
  for (const claim of state.claims.values()) if (claim.kind === "running") return true;
  return false;
}

/** Later decisions win; facts keep their order. */
function mergeChanges(changes: readonly DurableChange[]): DurableChange {
  const [first] = changes;
  if (first !== undefined && changes.length === 1) return first;
  return {
    claims: new Map(changes.flatMap((change) => [...change.claims])),
    workspaces: new Map(changes.flatMap((change) => [...change.workspaces])),
    pauses: new Map(changes.flatMap((change) => [...change.pauses])),
    facts: changes.flatMap((change) => change.facts),
  };
}
