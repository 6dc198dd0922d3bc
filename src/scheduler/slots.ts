/** How many runs there may be, and how many there are. */
import type { Claim } from "../domain/claim.ts";
import { normalizeState } from "../domain/issue.ts";
import type { Settings } from "../domain/settings.ts";
import type { State } from "./state.ts";

/** A slot is held by a run, and by a claim that is being looked at right before its start. */
export function holdsSlot(claim: Claim): boolean {
  return claim.kind === "running" || (claim.kind === "waiting" && claim.check !== null);
}

export interface SlotUse {
  readonly used: number;
  readonly cap: number;
}

/** Counts once, then answers for many candidates of the same decision. */
export class Slots {
  readonly #settings: Settings;
  readonly #byState = new Map<string, number>();
  #used = 0;

  constructor(state: State, settings: Settings) {
    this.#settings = settings;
    for (const claim of state.claims.values()) if (holdsSlot(claim)) this.take(claim.issue.state);
  }

  get anyFree(): boolean {
    return this.#used < this.#settings.agent.maxConcurrentAgents;
  }

  /** Slots that are held, of all there are. */
  get use(): SlotUse {
    return { used: this.#used, cap: this.#settings.agent.maxConcurrentAgents };
  }

  /** Slots that tickets in this tracker state hold, of those they may; null where the state has no cap of its own. */
  useOf(stateName: string): SlotUse | null {
    const key = normalizeState(stateName);
    const caps = this.#settings.agent.maxConcurrentAgentsByState;
    const cap = Object.hasOwn(caps, key) ? caps[key] : undefined;
    return cap === undefined ? null : { used: this.#byState.get(key) ?? 0, cap };
  }

  /** A global slot and one for this tracker state. */
  isFree(stateName: string): boolean {
    const ofState = this.useOf(stateName);
    return this.anyFree && (ofState === null || ofState.used < ofState.cap);
  }

  take(stateName: string): void {
    this.#add(stateName, 1);
  }

  give(stateName: string): void {
    this.#add(stateName, -1);
  }

  #add(stateName: string, count: number): void {
    const key = normalizeState(stateName);
    this.#used += count;
    this.#byState.set(key, (this.#byState.get(key) ?? 0) + count);
  }
}
