/** A Clock whose time moves only when a test says so. */
import { setImmediate as nextTurn } from "node:timers/promises";
import { createSleep, type Clock, type Timer } from "../../src/lib/clock.ts";

interface ArmedTimer {
  dueAt: number;
  readonly fire: () => void;
}

/** 2026-01-01T00:00:00Z: a real date, so that code that formats times works on it. */
const START_AT = Date.UTC(2026, 0, 1);

/** Timers fire in the order of their due times, those of the same time in the order in which they were armed. */
export class ManualClock implements Clock {
  #now: number;
  /** In the order of arming, which a Set keeps. */
  readonly #armed = new Set<ArmedTimer>();
  readonly sleep = createSleep((delayMs, fire) => this.setTimer(delayMs, fire));

  /** `startAt` is in epoch milliseconds. */
  constructor(startAt: number = START_AT) {
    this.#now = startAt;
  }

  now(): number {
    return this.#now;
  }

  setTimer(delayMs: number, fire: () => void): Timer {
    const timer = { dueAt: this.#now + Math.max(delayMs, 0), fire };
    this.#armed.add(timer);
    return { cancel: () => void this.#armed.delete(timer) };
  }

  /** When the next timer is due, in epoch milliseconds; null when none is armed. */
  nextDueAt(): number | null {
    return this.#next()?.dueAt ?? null;
  }

  /** How many timers and sleeps are armed: 0 once everything that waited has been cancelled. */
  armedCount(): number {
    return this.#armed.size;
  }

  /**
   * Moves time on by `ms` and fires what falls due on the way, each at its own time. Promises that a timer resolves run, and may
   * arm further timers, before the next one fires. Real I/O isn't waited for.
   */
  async advance(ms: number): Promise<void> {
    const until = this.#now + ms;
    await nextTurn();
    for (let timer = this.#next(); timer !== null && timer.dueAt <= until; timer = this.#next()) {
      this.#armed.delete(timer);
      this.#now = Math.max(this.#now, timer.dueAt);
      timer.fire();
      await nextTurn();
    }
    this.#now = until;
    await nextTurn();
  }

  /** Time passes and no timer fires, as while a machine is suspended; what fell due fires late, at the next {@link advance}. */
  jump(ms: number): void {
    this.#now += ms;
  }

  /** The time of day is put back, as by a person; timers fire after as long as they would have. */
  putBack(ms: number): void {
    this.#now -= ms;
    for (const timer of this.#armed) timer.dueAt -= ms;
  }

  #next(): ArmedTimer | null {
    let next: ArmedTimer | null = null;
    for (const timer of this.#armed) if (next === null || timer.dueAt < next.dueAt) next = timer;
    return next;
  }
}
