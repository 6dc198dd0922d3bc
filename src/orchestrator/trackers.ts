/** The tracker in force: a reload that changes its settings makes a new adapter, and running sessions keep the one they started with. */
import type { Settings } from "../domain/settings.ts";
import type { Clock } from "../lib/clock.ts";
import type { Tracker } from "../tracker/port.ts";
import { IssueReader } from "./issue-reader.ts";

/** An adapter and what is shared by all who read through it. */
export interface BoundTracker {
  readonly tracker: Tracker;
  readonly reader: IssueReader;
}

export interface TrackersDeps {
  readonly clock: Clock;
  create(settings: Settings): Promise<Tracker>;
}

export class Trackers {
  readonly #deps: TrackersDeps;
  readonly #all: Tracker[] = [];
  #current: BoundTracker | null = null;
  #key = "";

  constructor(deps: TrackersDeps) {
    this.#deps = deps;
  }

  /** Binds the adapter for these settings, unless they bind the one that is in force already. Rejects when it can't be built. */
  async bind(settings: Settings): Promise<void> {
    const key = JSON.stringify(settings.tracker);
    if (key === this.#key) return;
    const tracker = await this.#deps.create(settings);
    this.#all.push(tracker);
    this.#key = key;
    this.#current = { tracker, reader: new IssueReader(tracker, this.#deps.clock) };
  }

  /** Throws before the first {@link bind}. */
  get current(): BoundTracker {
    if (this.#current === null) throw new Error("no tracker is bound yet");
    return this.#current;
  }

  /** Closes every adapter that was ever bound. */
  async close(): Promise<void> {
    await Promise.allSettled(this.#all.map((tracker) => tracker.close()));
  }
}
