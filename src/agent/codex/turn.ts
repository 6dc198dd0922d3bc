/** One turn while it runs: what is known of it, and the one end that it gets. */
import type { Question } from "../../domain/outcome.ts";
import type { Timer } from "../../lib/clock.ts";
import type { TurnEnd } from "../port.ts";
import type { TurnErrorView } from "./notices.ts";

export class ActiveTurn {
  /** A compaction is a turn for the app-server, and none for anybody else. */
  readonly isCompaction: boolean;
  readonly #started = Promise.withResolvers<void>();
  readonly #end = Promise.withResolvers<TurnEnd>();
  /** Null until the server has named it. */
  id: string | null = null;
  /** The request is on its way: the server may be working on it. */
  sent = false;
  /** The server said that it works on it. */
  seen = false;
  announced = false;
  settled = false;
  lastLifeAt: number;
  /** The last error that the server won't retry. */
  error: TurnErrorView | null = null;
  /** Set when nobody answered in time: this is then how the turn ends. */
  unanswered: Question | null = null;
  /** Looks for an end that was never told. */
  watch: Timer | null = null;
  /** Takes the turn as started when its start was never told. */
  grace: Timer | null = null;

  constructor(now: number, isCompaction: boolean) {
    this.lastLifeAt = now;
    this.isCompaction = isCompaction;
  }

  /** Resolves when the server is really working on it: an interrupt or a steer before that fails (measured). */
  get started(): Promise<void> {
    return this.#started.promise;
  }

  get end(): Promise<TurnEnd> {
    return this.#end.promise;
  }

  noteStarted(): void {
    this.#started.resolve();
  }

  /** The first end wins; false when there was one. */
  settle(end: TurnEnd): boolean {
    if (this.settled) return false;
    this.settled = true;
    this.watch?.cancel();
    this.grace?.cancel();
    this.#started.resolve();
    this.#end.resolve(this.unanswered === null ? end : { kind: "needs_input", question: this.unanswered });
    return true;
  }
}
