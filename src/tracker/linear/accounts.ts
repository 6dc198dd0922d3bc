/** What belongs to a credential and not to an adapter: its budget and its token outlive a reload of the settings. */
import type { Clock } from "../../lib/clock.ts";
import { Budget } from "./budget.ts";
import type { Credentials } from "./credentials.ts";
import { createCredentials } from "./credentials.ts";
import type { LinearProvider } from "./provider.ts";

/** One credential at one endpoint. */
export interface Account {
  readonly credentials: Credentials;
  readonly budget: Budget;
}

/** The accounts of one daemon. Adapters with the same credential share one: sessions that run keep the adapter that they started with. */
export class Accounts {
  readonly #clock: Clock;
  readonly #byKey = new Map<string, Account>();

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  /** Throws what {@link createCredentials} throws. */
  of({ endpoint, credential }: Pick<LinearProvider, "endpoint" | "credential">): Account {
    const key = JSON.stringify([endpoint, credential]);
    const known = this.#byKey.get(key);
    if (known !== undefined) return known;
    const account = { credentials: createCredentials(credential, this.#clock), budget: new Budget(this.#clock) };
    this.#byKey.set(key, account);
    return account;
  }
}
