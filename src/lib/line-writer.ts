/** Writes lines to a descriptor without ever blocking the process, throwing, or growing without bound. */
import { closeSync, constants, fstatSync, openSync, write, writeSync } from "node:fs";
import { systemClock, type Timer } from "./clock.ts";

/** Where lines go. Both may throw; the lines at hand are then lost, and counted. */
export interface LineTarget {
  /** The descriptor for the next `bytes`. */
  descriptor(bytes: number): number;
  close(): void;
}

/** Lines that wait for a slow reader; beyond it the newest are lost. Minutes of a busy daemon. */
const MAX_QUEUED_BYTES = 4 * 1024 * 1024;
/** What one write takes. */
const MAX_CHUNK_BYTES = 64 * 1024;
/** How soon a full pipe is tried again. */
const FULL_PIPE_RETRY_MS = 50;
/** How long closing waits for a reader that has stopped reading. */
const CLOSE_PATIENCE_MS = 1000;

function isFull(error: unknown): boolean {
  return error instanceof Error && "code" in error && error.code === "EAGAIN";
}

/**
 * The process's stderr. A pipe or a terminal is opened anew without blocking: otherwise a reader that stands still would hold a
 * thread of ours, and with it the process's exit. What can't be opened again (a socket, another system) is used as it is.
 */
export function stderrTarget(): LineTarget {
  const stderr = 2;
  const asItIs = { descriptor: () => stderr, close: () => undefined };
  try {
    const kind = fstatSync(stderr);
    if (!kind.isFIFO() && !kind.isCharacterDevice()) return asItIs;
    const own = openSync(`/proc/self/fd/${stderr}`, constants.O_WRONLY | constants.O_NONBLOCK | constants.O_NOCTTY);
    return { descriptor: () => own, close: () => closeSync(own) };
  } catch {
    return asItIs; // Closed, or no /proc: the writes themselves will tell.
  }
}

/** A bounded queue before one target. */
export class LineWriter {
  readonly #target: LineTarget;
  readonly #describeLoss: (lines: number) => string;
  #queue: string[] = [];
  #queuedBytes = 0;
  #lost = 0;
  #writing = false;
  #retry: Timer | null = null;
  #closed = false;
  /** Closing has given up on a reader that stands still. */
  #abandoned = false;
  #onIdle: (() => void) | null = null;
  readonly #atExit = (): void => this.#flushSync();

  /** `describeLoss` words the line that says how many were lost, once writing works again. */
  constructor(target: LineTarget, describeLoss: (lines: number) => string) {
    this.#target = target;
    this.#describeLoss = describeLoss;
    process.once("exit", this.#atExit);
  }

  /** Takes a line that ends in a newline. */
  write(line: string): void {
    if (this.#closed) return;
    if (this.#queuedBytes + Buffer.byteLength(line) > MAX_QUEUED_BYTES) {
      this.#lost += 1;
      return;
    }
    this.#enqueue(line);
    this.#pump();
  }

  /** Resolves when everything is written, or the reader has had its time. Lines after that are ignored. */
  async close(): Promise<void> {
    if (this.#closed) return;
    this.#closed = true;
    if (this.#writing) {
      const { promise, resolve } = Promise.withResolvers<void>();
      this.#onIdle = resolve;
      const patience = systemClock.setTimer(CLOSE_PATIENCE_MS, resolve);
      await promise;
      patience.cancel();
    }
    this.#abandoned = true;
    this.#retry?.cancel();
    this.#queue = [];
    process.removeListener("exit", this.#atExit);
    this.#attempt(() => this.#target.close());
  }

  #enqueue(line: string): void {
    this.#queue.push(line);
    this.#queuedBytes += Buffer.byteLength(line);
  }

  #pump(): void {
    if (this.#writing) return;
    const chunk = this.#takeChunk();
    if (chunk === null) {
      this.#onIdle?.();
      return;
    }
    this.#writing = true;
    this.#send(chunk);
  }

  #takeChunk(): Buffer | null {
    const lines: string[] = [];
    let bytes = 0;
    for (const line of this.#queue) {
      if (lines.length > 0 && bytes + line.length > MAX_CHUNK_BYTES) break;
      lines.push(line);
      bytes += Buffer.byteLength(line);
    }
    if (lines.length === 0) return null;
    this.#queue = this.#queue.slice(lines.length);
    this.#queuedBytes -= bytes;
    return Buffer.from(lines.join(""));
  }

  #send(chunk: Buffer): void {
    const descriptor = this.#attempt(() => this.#target.descriptor(chunk.length));
    if (descriptor === null) {
      this.#lose(chunk);
      return;
    }
    write(descriptor, chunk, 0, chunk.length, null, (error, written) => {
      if (this.#abandoned) return;
      if (isFull(error)) this.#sendLater(chunk);
      else if (error !== null) this.#lose(chunk);
      else if (written < chunk.length) this.#send(chunk.subarray(written));
      else this.#done();
    });
  }

  #sendLater(chunk: Buffer): void {
    this.#retry = systemClock.setTimer(FULL_PIPE_RETRY_MS, () => {
      this.#retry = null;
      this.#send(chunk);
    });
  }

  #lose(chunk: Buffer): void {
    this.#lost += chunk.toString().split("\n").length - 1;
    this.#writing = false;
    this.#pump();
  }

  #done(): void {
    this.#writing = false;
    if (this.#lost > 0 && this.#queue.length === 0) {
      this.#enqueue(this.#describeLoss(this.#lost));
      this.#lost = 0;
    }
    this.#pump();
  }

  /** The last words of a process that exits without closing. A full or broken sink is not waited for. */
  #flushSync(): void {
    const rest = this.#queue.join("");
    if (rest !== "" && this.#retry === null) this.#attempt(() => writeSync(this.#target.descriptor(rest.length), rest));
  }

  #attempt<T>(action: () => T): T | null {
    try {
      return action();
    } catch {
      return null; // A broken sink never stops the process; there is nowhere left to say so.
    }
  }
}
