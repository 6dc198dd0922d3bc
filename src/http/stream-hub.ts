/**
 * What happens, told live to every reader of the stream: snapshots, of which only the newest counts, and run events, of which each counts
 * once. The work is done once for all readers, and not at all while there are none.
 */
import type { EventEntryJson, EventsQuery } from "../ledger/event-list.ts";
import type { Clock, Timer } from "../lib/clock.ts";
import type { Observer } from "../orchestrator/orchestrator.ts";
import { StreamReader } from "./stream-reader.ts";

export interface StreamSource {
  readonly clock: Clock;
  snapshot(): unknown;
  /** The answer removes the observer. */
  observe(observer: Observer): () => void;
  /** Rows are there a moment after they were observed. */
  events(query: EventsQuery): readonly EventEntryJson[];
}

/** Changes within this time are one snapshot. */
const GATHER_MS = 250;
/** An event is in the ledger by then. */
const ROW_DELAY_MS = 750;
/** Keeps proxies from closing a quiet connection, and finds readers that have gone. */
const HEARTBEAT_MS = 15_000;
/** More than that a reader who comes back must read from the run itself. */
const REPLAY_LIMIT = 1000;
/** Far more than people look; each costs memory. */
const MAX_READERS = 64;

export class StreamHub {
  readonly #source: StreamSource;
  readonly #readers = new Set<StreamReader>();
  /** The newest event that readers were told. */
  #sequence = 0;
  /** Until then, rows may still come for events that were observed. */
  #rowsUntil = 0;
  #tick: Timer | null = null;
  #heartbeat: Timer | null = null;
  #unobserve: (() => void) | null = null;

  constructor(source: StreamSource) {
    this.#source = source;
  }

  /** A stream of server-sent events, beginning after an event that its reader has; null where there are too many readers. */
  open(after: number | null): ReadableStream<Uint8Array> | null {
    if (this.#readers.size >= MAX_READERS) return null;
    if (this.#readers.size === 0) this.#begin();
    else this.#tellEvents();
    const reader = new StreamReader(() => this.#leave(reader));
    this.#readers.add(reader);
    if (after !== null) this.#replay(reader, after);
    reader.tellSnapshot(JSON.stringify(this.#source.snapshot()));
    return reader.stream;
  }

  #begin(): void {
    this.#sequence = this.#source.events({ limit: 1 }).at(-1)?.sequence ?? 0;
    this.#unobserve = this.#source.observe({
      changed: () => this.#soon(),
      agentEvent: () => {
        this.#rowsUntil = this.#source.clock.now() + ROW_DELAY_MS;
        this.#soon();
      },
    });
    this.#armHeartbeat();
  }

  #leave(reader: StreamReader): void {
    this.#readers.delete(reader);
    if (this.#readers.size > 0) return;
    this.#unobserve?.();
    this.#unobserve = null;
    this.#tick?.cancel();
    this.#tick = null;
    this.#heartbeat?.cancel();
    this.#heartbeat = null;
  }

  #soon(): void {
    this.#tick ??= this.#source.clock.setTimer(GATHER_MS, () => this.#tell());
  }

  #tell(): void {
    this.#tick = null;
    this.#tellEvents();
    const snapshot = JSON.stringify(this.#source.snapshot());
    for (const reader of this.#readers) reader.tellSnapshot(snapshot);
    if (this.#readers.size > 0 && this.#source.clock.now() < this.#rowsUntil) this.#soon();
  }

  #tellEvents(): void {
    for (;;) {
      const events = this.#source.events({ after: this.#sequence, limit: REPLAY_LIMIT });
      for (const event of events) for (const reader of this.#readers) reader.tellEvent(event);
      this.#sequence = events.at(-1)?.sequence ?? this.#sequence;
      if (events.length < REPLAY_LIMIT) return;
    }
  }

  /** What a reader missed, or that it missed more than is told again. */
  #replay(reader: StreamReader, after: number): void {
    const missed = this.#source.events({ after, limit: REPLAY_LIMIT }).filter(({ sequence }) => {
      return sequence <= this.#sequence;
    });
    const last = missed.at(-1)?.sequence ?? this.#sequence;
    if (last < this.#sequence) {
      reader.tellGap({ after, before: this.#sequence });
      return;
    }
    for (const event of missed) reader.tellEvent(event);
  }

  #armHeartbeat(): void {
    this.#heartbeat = this.#source.clock.setTimer(HEARTBEAT_MS, () => {
      for (const reader of this.#readers) reader.tellNothing();
      if (this.#readers.size > 0) this.#armHeartbeat();
    });
  }
}
