/** What agents do, told live to those who listen: bounded for each, and no work while nobody does. */
import type { AgentEvent } from "../domain/events.ts";
import type { IssueId, RunId } from "../domain/ids.ts";

/** One event of one run as listeners get it. */
export interface RunEvent {
  /** The ledger's number of this event: who was cut off goes on from there with the ledger's `events({after})`. */
  readonly sequence: number;
  readonly runId: RunId;
  readonly issueId: IssueId;
  readonly issueIdentifier: string;
  /** Without known secrets. Its text is the agent's: untrusted. */
  readonly event: AgentEvent;
}

/** What a listener may wait behind. At some 2 kB each this is 2 MB at most. */
const MAX_WAITING = 1000;

/** Ends by itself when its reader is too slow, when it is closed, and when the feed ends. */
export interface RunEventStream extends AsyncIterable<RunEvent>, Disposable {
  /** True once it has ended because its reader was too slow: what came since is in the ledger alone. */
  readonly lagged: boolean;
  close(): void;
}

/** One per daemon. */
export class RunFeed {
  readonly #streams = new Set<EventStream>();
  #ended = false;

  /** Nobody listens: what is told now would reach no one. */
  get isIdle(): boolean {
    return this.#streams.size === 0;
  }

  /** Never waits and never throws; a listener that is full is dropped. */
  tell(event: RunEvent): void {
    for (const stream of this.#streams) stream.push(event);
  }

  /** Everything that is told from now on. Read it at once, or it fills. */
  listen(): RunEventStream {
    const stream = new EventStream((ended) => this.#streams.delete(ended));
    if (this.#ended) stream.close();
    else this.#streams.add(stream);
    return stream;
  }

  /** Ends every stream, after what it holds has been read. */
  end(): void {
    this.#ended = true;
    for (const stream of this.#streams) stream.close();
  }
}

class EventStream implements RunEventStream {
  readonly #onEnd: (stream: EventStream) => void;
  readonly #waiting: RunEvent[] = [];
  #wake: (() => void) | null = null;
  #ended = false;
  #lagged = false;

  constructor(onEnd: (stream: EventStream) => void) {
    this.#onEnd = onEnd;
  }

  get lagged(): boolean {
    return this.#lagged;
  }

  push(event: RunEvent): void {
    if (this.#waiting.length >= MAX_WAITING) {
      this.#lagged = true;
      // What waits is let go: a reader that is this late goes on from the ledger anyway.
      this.#waiting.length = 0;
      this.close();
      return;
    }
    this.#waiting.push(event);
    this.#wake?.();
  }

  close(): void {
    if (this.#ended) return;
    this.#ended = true;
    this.#onEnd(this);
    this.#wake?.();
  }

  [Symbol.dispose](): void {
    this.close();
  }

  async *[Symbol.asyncIterator](): AsyncGenerator<RunEvent, void> {
    try {
      for (;;) {
        const event = this.#waiting.shift();
        if (event !== undefined) yield event;
        else if (this.#ended) return;
        else await this.#woken();
      }
    } finally {
      this.close();
    }
  }

  async #woken(): Promise<void> {
    const { promise, resolve } = Promise.withResolvers<void>();
    this.#wake = resolve;
    await promise;
    this.#wake = null;
  }
}
