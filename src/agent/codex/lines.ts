/** Bytes to lines: UTF-8 safe across chunks, in linear time, within a ceiling. */

/**
 * The longest line that is kept. The longest one measured is 30 MB (a final message repeated by `turn/completed`), and a data
 * URL of 40 MB was accepted.
 */
const MAX_LINE_BYTES = 64 * 1024 * 1024;

/** A buffer that grew beyond this for one huge line is given back afterwards. */
const KEPT_BUFFER_BYTES = 1024 * 1024;
const FIRST_BUFFER_BYTES = 16 * 1024;
const NEWLINE = 0x0a;
const CARRIAGE_RETURN = 0x0d;

export interface LineSink {
  /** One line without its ending. Must not throw. */
  line(text: string): void;
  /** A line longer than the ceiling was dropped whole; `bytes` is how long it was. */
  oversized(bytes: number): void;
}

/**
 * Splits a byte stream at newlines. A line is decoded as a whole, so a character cut by a chunk's end stays one character.
 * Holds at most one line, in a buffer that doubles as it grows.
 */
export class LineReader {
  readonly #sink: LineSink;
  readonly #maxLineBytes: number;
  #held = Buffer.alloc(0);
  #heldBytes = 0;
  /** Bytes of an oversized line so far; 0 = not inside one. */
  #droppedBytes = 0;

  constructor(sink: LineSink, maxLineBytes: number = MAX_LINE_BYTES) {
    this.#sink = sink;
    this.#maxLineBytes = maxLineBytes;
  }

  feed(chunk: Uint8Array): void {
    const bytes = Buffer.from(chunk.buffer, chunk.byteOffset, chunk.byteLength);
    let start = 0;
    for (let end = bytes.indexOf(NEWLINE); end !== -1; end = bytes.indexOf(NEWLINE, start)) {
      this.#finish(bytes.subarray(start, end));
      start = end + 1;
    }
    if (start < bytes.length) this.#keep(bytes.subarray(start));
  }

  /** No more bytes will come: what is left without a line ending counts as a line. */
  end(): void {
    if (this.#heldBytes > 0 || this.#droppedBytes > 0) this.#finish(Buffer.alloc(0));
  }

  #finish(part: Buffer): void {
    if (this.#droppedBytes === 0 && this.#heldBytes === 0 && part.length <= this.#maxLineBytes) {
      this.#emit(part);
      return;
    }
    this.#keep(part);
    const droppedBytes = this.#droppedBytes;
    this.#droppedBytes = 0;
    if (droppedBytes > 0) this.#sink.oversized(droppedBytes);
    else this.#emit(this.#held.subarray(0, this.#heldBytes));
    this.#release();
  }

  #emit(bytes: Buffer): void {
    const end = bytes.at(-1) === CARRIAGE_RETURN ? bytes.length - 1 : bytes.length;
    this.#sink.line(bytes.toString("utf8", 0, end));
  }

  #keep(part: Buffer): void {
    if (this.#droppedBytes > 0 || this.#heldBytes + part.length > this.#maxLineBytes) {
      this.#droppedBytes += this.#heldBytes + part.length;
      this.#release();
      return;
    }
    this.#reserve(this.#heldBytes + part.length);
    part.copy(this.#held, this.#heldBytes);
    this.#heldBytes += part.length;
  }

  #reserve(bytes: number): void {
    if (bytes <= this.#held.length) return;
    let size = Math.max(this.#held.length, FIRST_BUFFER_BYTES);
    while (size < bytes) size *= 2;
    const grown = Buffer.allocUnsafe(Math.min(size, Math.max(this.#maxLineBytes, bytes)));
    this.#held.copy(grown, 0, 0, this.#heldBytes);
    this.#held = grown;
  }

  #release(): void {
    this.#heldBytes = 0;
    if (this.#held.length > KEPT_BUFFER_BYTES) this.#held = Buffer.alloc(0);
  }
}
