/** The stream, kept open: reads it, comes back when it breaks, and tells views at most ten times a second. */
import { RequestError, type Client } from "./client.ts";
import type { RunEvent, Snapshot } from "./data.ts";
import { reduceLive, UNCONNECTED, type LiveNews, type LiveState } from "./live-state.ts";
import { eventReader, type SentEvent } from "./sse.ts";

/** What comes within this time is drawn at once. */
const GATHER_MS = 100;
const FIRST_RETRY_MS = 500;
const LONGEST_RETRY_MS = 10_000;
/** The daemon says something every 15 seconds; silence beyond this is a connection that died without a word. */
const SILENCE_MS = 40_000;

/** Events of runs, in order; null where some were missed and must be read from the run itself. */
export type EventsListener = (events: readonly RunEvent[] | null) => void;

export class Live {
  readonly #client: Client;
  readonly #listeners = new Set<() => void>();
  readonly #eventListeners = new Set<EventsListener>();
  #state: LiveState = UNCONNECTED;
  #news: LiveNews[] = [];
  #events: RunEvent[] = [];
  #missed = false;
  #flushing = false;
  #lastId: string | null = null;
  #connection: AbortController | null = null;

  constructor(client: Client) {
    this.#client = client;
  }

  get state(): LiveState {
    return this.#state;
  }

  /** Epoch ms by the daemon's clock. */
  now(): number {
    return Date.now() + this.#state.skewMs;
  }

  /** The answer ends it. */
  subscribe(listener: () => void): () => void {
    this.#listeners.add(listener);
    return () => this.#listeners.delete(listener);
  }

  /** The answer ends it. */
  onEvents(listener: EventsListener): () => void {
    this.#eventListeners.add(listener);
    return () => this.#eventListeners.delete(listener);
  }

  /** Connects, anew when it is connected: after the token has changed. */
  connect(): void {
    this.#connection?.abort();
    const connection = new AbortController();
    this.#connection = connection;
    void this.#keepReading(connection.signal);
  }

  async #keepReading(signal: AbortSignal): Promise<void> {
    let delayMs = FIRST_RETRY_MS;
    while (!signal.aborted) {
      try {
        await this.#read(signal, () => (delayMs = FIRST_RETRY_MS));
      } catch (error) {
        if (signal.aborted) return;
        if (error instanceof RequestError && error.status === 401) {
          this.#take({ kind: "connection", connection: "locked" });
          return;
        }
      }
      if (signal.aborted) return;
      this.#take({ kind: "connection", connection: "lost" });
      const waitMs = delayMs;
      await new Promise((resolve) => setTimeout(resolve, waitMs));
      delayMs = Math.min(delayMs * 2, LONGEST_RETRY_MS);
    }
  }

  /** Until the stream ends. */
  async #read(signal: AbortSignal, onLife: () => void): Promise<void> {
    const silence = new AbortController();
    const either = AbortSignal.any([signal, silence.signal]);
    const parse = eventReader();
    let timer = setTimeout(() => silence.abort(), SILENCE_MS);
    try {
      const stream = await this.#client.stream(this.#lastId, either);
      const reader = stream.pipeThrough(new TextDecoderStream()).getReader();
      for (;;) {
        const { done, value } = await reader.read();
        if (done || signal.aborted) return;
        clearTimeout(timer);
        timer = setTimeout(() => silence.abort(), SILENCE_MS);
        onLife();
        for (const sent of parse(value)) this.#sort(sent);
      }
    } finally {
      clearTimeout(timer);
    }
  }

  #sort({ event, data, id }: SentEvent): void {
    if (id !== null) this.#lastId = id;
    if (event === "snapshot") {
      this.#take({ kind: "snapshot", snapshot: JSON.parse(data) as Snapshot, receivedAt: Date.now() });
    } else if (event === "run_event") {
      this.#events.push(JSON.parse(data) as RunEvent);
      this.#soon();
    } else if (event === "gap") {
      this.#missed = true;
      this.#soon();
    }
  }

  #take(news: LiveNews): void {
    this.#news.push(news);
    this.#soon();
  }

  #soon(): void {
    if (this.#flushing) return;
    this.#flushing = true;
    setTimeout(() => this.#flush(), GATHER_MS);
  }

  #flush(): void {
    this.#flushing = false;
    const events = this.#missed ? null : this.#events;
    const before = this.#state;
    this.#state = this.#news.reduce(reduceLive, before);
    this.#news = [];
    this.#events = [];
    this.#missed = false;
    if (this.#state !== before) for (const listener of this.#listeners) listener();
    if (events === null || events.length > 0) for (const listener of this.#eventListeners) listener(events);
  }
}
