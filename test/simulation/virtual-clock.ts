/** A clock that jumps: whatever is due next happens next, and nothing takes real time. */
import type { Clock, Timer } from "../../src/lib/clock.ts";

interface Entry {
  readonly at: number;
  readonly order: number;
  readonly fire: () => void;
  cancelled: boolean;
}

export class VirtualClock implements Clock {
  readonly #heap: Entry[] = [];
  #now: number;
  #order = 0;
  #stoodStillMs = 0;

  constructor(startAt: number) {
    this.#now = startAt;
  }

  now(): number {
    return this.#now;
  }

  setTimer(delayMs: number, fire: () => void): Timer {
    const entry: Entry = { at: this.#now + Math.max(0, delayMs), order: (this.#order += 1), fire, cancelled: false };
    this.#push(entry);
    return {
      cancel: () => {
        entry.cancelled = true;
      },
    };
  }

  sleep(): Promise<void> {
    throw new Error("nothing in the simulation sleeps");
  }

  /** Time passes in which nothing happens: whatever falls due meanwhile comes late. */
  jump(ms: number): void {
    this.#now += ms;
    this.#stoodStillMs += ms;
  }

  /** The time without the jumps: what a process that was stopped has lived through. */
  lived(): number {
    return this.#now - this.#stoodStillMs;
  }

  /** Runs the next entry that is due by `until`; false when there is none. */
  step(until: number): boolean {
    for (let entry = this.#heap[0]; entry !== undefined && entry.at <= until; entry = this.#heap[0]) {
      this.#pop();
      if (entry.cancelled) continue;
      this.#now = Math.max(this.#now, entry.at);
      entry.fire();
      return true;
    }
    return false;
  }

  #push(entry: Entry): void {
    let index = this.#heap.push(entry) - 1;
    while (index > 0) {
      const parent = (index - 1) >> 1;
      if (!this.#isBefore(index, parent)) break;
      this.#swap(index, parent);
      index = parent;
    }
  }

  #pop(): void {
    const last = this.#heap.pop();
    if (last === undefined || this.#heap.length === 0) return;
    this.#heap[0] = last;
    for (let index = 0; ;) {
      const [left, right] = [2 * index + 1, 2 * index + 2];
      let least = index;
      if (left < this.#heap.length && this.#isBefore(left, least)) least = left;
      if (right < this.#heap.length && this.#isBefore(right, least)) least = right;
      if (least === index) return;
      this.#swap(index, least);
      index = least;
    }
  }

  #isBefore(a: number, b: number): boolean {
    const [first, second] = [this.#heap[a], this.#heap[b]];
    if (first === undefined || second === undefined) return false;
    return first.at < second.at || (first.at === second.at && first.order < second.order);
  }

  #swap(a: number, b: number): void {
    const [first, second] = [this.#heap[a], this.#heap[b]];
    if (first === undefined || second === undefined) return;
    this.#heap[a] = second;
    this.#heap[b] = first;
  }
}
