/** The one place where scheduling state moves: dequeue events, reduce, commit, run effects. Nothing awaits in between. */
import { randomInt } from "node:crypto";
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

/** How long a ledger that can't be written is left alone before the queued events are tried again. */
const COMMIT_RETRY_MS = 1000;

export class Loop {
  readonly #deps: LoopDeps;
  readonly #queue: Event[] = [];
  #state: State = initialState();
  #scheduled = false;
  #timer: Timer | null = null;
  #armedFor: number | null = null;
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
    this.#queue.push(event);
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
    const batch = this.#queue.splice(0);
    const changes: DurableChange[] = [];
    const effects: Effect[] = [];
    let state = this.#state;
    for (const event of batch) {
      const decision = reduce(state, event, this.#env());
      state = decision.state;
      if (decision.change !== null) changes.push(decision.change);
      effects.push(...decision.effects);
    }
    try {
      if (changes.length > 0) this.#deps.commit(mergeChanges(changes));
    } catch (error) {
      return this.#holdBack(batch, effects, error);
    }
    this.#ledgerError = null;
    this.#state = state;
    this.#checkInvariants();
    for (const effect of effects) this.#deps.perform(effect);
    this.#armTimer();
    this.#deps.changed();
  }

  #env(): { now: number; settings: Settings; seed: number } {
    const seed = this.#deps.seed?.() ?? randomInt(2 ** 32);
    return { now: this.#deps.clock.now(), settings: this.#deps.settings(), seed };
  }

  /** A commit failed: the events stay queued and nothing new starts; what only stops a run is done all the same. */
  #holdBack(batch: readonly Event[], effects: readonly Effect[], error: unknown): void {
    if (this.#ledgerError === null) {
      this.#deps.log.error({ err: error }, "the ledger can't be written; scheduling waits");
    }
    this.#ledgerError = { message: errorMessage(error), at: this.#deps.clock.now() };
    this.#queue.unshift(...batch);
    for (const effect of effects) {
      if (effect.kind === "stop_run" || effect.kind === "finish_run") this.#deps.perform(effect);
    }
    this.#timer?.cancel();
    this.#armedFor = null;
    this.#timer = this.#deps.clock.setTimer(COMMIT_RETRY_MS, () => this.#drain());
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
    const at = nextWakeAt(this.#state, settings(), clock.now());
    if (at === this.#armedFor && this.#timer !== null) return;
    this.#timer?.cancel();
    this.#timer = null;
    this.#armedFor = at;
    if (at !== null) this.#timer = clock.setTimer(at - clock.now(), () => this.#onTimer());
  }

  #onTimer(): void {
    this.#timer = null;
    this.#armedFor = null;
    this.#deps.beforeTimer();
    this.post({ kind: "timer" });
  }
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
