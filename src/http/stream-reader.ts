/** One reader of the stream: what it has yet to read, bounded. One that reads too slowly is dropped, and comes back to where it stopped. */
import type { EventEntryJson } from "../ledger/event-list.ts";

/** What a reader may be behind. */
const MAX_WAITING_CHARS = 4_000_000;
/** Until a reader that was cut off tries again. */
const RETRY_MS = 2000;

const encoder = new TextEncoder();

export class StreamReader {
  readonly stream: ReadableStream<Uint8Array>;
  readonly #left: () => void;
  #controller: ReadableStreamDefaultController<Uint8Array> | null = null;
  readonly #waiting: string[] = [`retry: ${RETRY_MS}\n\n`];
  #waitingChars = 0;
  /** The newest; an older one that nobody has read is worth nothing. */
  #snapshot: string | null = null;
  #isHungry = false;

  /** `left` is called once, when the reader has gone or was dropped. */
  constructor(left: () => void) {
    this.#left = left;
    this.stream = new ReadableStream<Uint8Array>(
      {
        start: (controller) => {
          this.#controller = controller;
        },
        pull: () => {
          this.#isHungry = true;
          this.#feed();
        },
        cancel: () => this.#end(),
      },
      { highWaterMark: 0 },
    );
  }

  tellSnapshot(json: string): void {
    this.#snapshot = `event: snapshot\ndata: ${json}\n\n`;
    this.#feed();
  }

  tellEvent(event: EventEntryJson): void {
    this.#queue(`id: ${event.sequence}\nevent: run_event\ndata: ${JSON.stringify(event)}\n\n`);
  }

  /** Events between the two numbers are not told: they are in the ledger alone. */
  tellGap(gap: { readonly after: number; readonly before: number }): void {
    this.#queue(`id: ${gap.before}\nevent: gap\ndata: ${JSON.stringify(gap)}\n\n`);
  }

  /** A comment, which clients skip. */
  tellNothing(): void {
    this.#queue(": still here\n\n");
  }

  #queue(frame: string): void {
    if (this.#waitingChars + frame.length > MAX_WAITING_CHARS) {
      const controller = this.#controller;
      this.#end();
      controller?.close();
      return;
    }
    this.#waiting.push(frame);
    this.#waitingChars += frame.length;
    this.#feed();
  }

  /** Hands over what waits, events before the snapshot that came after them. */
  #feed(): void {
    if (!this.#isHungry || this.#controller === null) return;
    const frames = this.#waiting.splice(0).join("") + (this.#snapshot ?? "");
    if (frames === "") return;
    this.#waitingChars = 0;
    this.#snapshot = null;
    this.#isHungry = false;
    this.#controller.enqueue(encoder.encode(frames));
  }

  #end(): void {
    if (this.#controller === null) return;
    this.#controller = null;
    this.#left();
  }
}
