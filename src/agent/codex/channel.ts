/** JSON-RPC over lines, both ways: knows no process, is given a way to write and is fed bytes. */
import { AppError, errorMessage } from "../../domain/errors.ts";
import type { Clock, Timer } from "../../lib/clock.ts";
import { LineReader } from "./lines.ts";
import type { RequestMethod } from "./manifest.ts";
import { INTERNAL_ERROR, parseLine, RpcError, type Incoming, type RequestId } from "./wire.ts";

/** "Server overloaded; retry later." */
const OVERLOADED = -32001;
/** A flood of requests loses replies (measured: 5,000 pipelined, 2,403 never answered). */
const MAX_IN_FLIGHT = 8;
const MAX_OVERLOAD_RETRIES = 6;
const OVERLOAD_BASE_MS = 100;

export interface ChannelOptions {
  /** Sends one line; the newline is the channel's. May throw when the other side is gone. */
  write(line: string): void;
  /** Called synchronously, in order. What it throws is counted and reported, and the channel goes on. */
  onNotification(method: string, params: unknown): void;
  /** Its value, or what it throws, becomes the one answer. Throw an RpcError to choose the code. */
  onRequest(method: string, params: unknown, id: RequestId): unknown;
  /** A line that is no message, or was too long to be kept. */
  onNoise(sample: string): void;
  /** Something of ours failed; never the other side's fault. */
  onFault(error: unknown): void;
  readonly clock: Clock;
  /** 0 to 1, for the jitter of retries. */
  readonly random?: () => number;
}

export interface ChannelCounts {
  readonly noise: number;
  /** Replies that nobody waits for any more. */
  readonly stray: number;
  readonly faults: number;
  readonly overloaded: number;
}

interface Call {
  readonly method: string;
  readonly params: unknown;
  readonly resolve: (value: unknown) => void;
  readonly reject: (reason: Error) => void;
  readonly deadline: Timer;
  tries: number;
  /** The id on the wire; null while it waits for its turn or for an overload to pass. */
  id: number | null;
  backoff: Timer | null;
}

/**
 * Few requests in flight, each with a deadline of its own that starts when it is asked for; an overloaded server is asked again
 * with jitter inside that deadline. Every inbound request gets exactly one answer. `close` fails everything that is pending with
 * one reason; afterwards nothing is written and nothing is read. What it asks for is a method of the manifest.
 */
export class Channel<Method extends string = RequestMethod> {
  readonly #options: ChannelOptions;
  readonly #reader: LineReader;
  readonly #random: () => number;
  readonly #calls = new Set<Call>();
  readonly #inFlight = new Map<RequestId, Call>();
  readonly #queue: Call[] = [];
  readonly #counts = { noise: 0, stray: 0, faults: 0, overloaded: 0 };
  readonly #closing = Promise.withResolvers<Error>();
  #lastId = 0;
  #closed: Error | null = null;

  constructor(options: ChannelOptions) {
    this.#options = options;
    this.#random = options.random ?? Math.random;
    this.#reader = new LineReader({
      line: (text) => this.#line(text),
      oversized: (bytes) => this.#noise(`a line of ${bytes} bytes was dropped`),
    });
  }

  get counts(): ChannelCounts {
    return { ...this.#counts };
  }

  /** Resolves with the reason of `close`, after everything pending was failed with it. */
  get whenClosed(): Promise<Error> {
    return this.#closing.promise;
  }

  /** The reason of `close`, or null while it is open. */
  get closed(): Error | null {
    return this.#closed;
  }

  /**
   * Asks and waits. Rejects with RpcError (the other side said no), AppError `response_timeout` (no answer within `deadlineMs`),
   * or the reason that the channel was closed with.
   */
  request(method: Method, params: unknown, deadlineMs: number): Promise<unknown> {
    if (this.#closed !== null) return Promise.reject(this.#closed);
    return new Promise((resolve, reject) => {
      const deadline = this.#options.clock.setTimer(deadlineMs, () => this.#expire(call, deadlineMs));
      const call: Call = { method, params, resolve, reject, deadline, tries: 0, id: null, backoff: null };
      this.#calls.add(call);
      this.#queue.push(call);
      this.#pump();
    });
  }

  /** Tells, without an answer. A dead channel swallows it: its end is known elsewhere. */
  notify(method: string, params?: unknown): void {
    this.#tell(lineOf(params === undefined ? { method } : { method, params }));
  }

  /** Bytes from the other side, cut anywhere. */
  feed(chunk: Uint8Array): void {
    if (this.#closed === null) this.#reader.feed(chunk);
  }

  /** The other side will send no more: a last line without its newline is read. */
  end(): void {
    if (this.#closed === null) this.#reader.end();
  }

  /** Fails everything pending with `reason`. The first reason wins. */
  close(reason: Error): void {
    if (this.#closed !== null) return;
    this.#closed = reason;
    for (const call of this.#calls) this.#settle(call, () => call.reject(reason));
    this.#closing.resolve(reason);
  }

  #pump(): void {
    while (this.#closed === null && this.#inFlight.size < MAX_IN_FLIGHT) {
      const call = this.#queue.shift();
      if (call === undefined) return;
      this.#ask(call);
    }
  }

  #ask(call: Call): void {
    this.#lastId += 1;
    call.id = this.#lastId;
    call.tries += 1;
    this.#inFlight.set(call.id, call);
    try {
      // `params` must be there, an empty object at least (measured).
      this.#options.write(lineOf({ id: call.id, method: call.method, params: call.params ?? {} }));
    } catch (error) {
      const failure = new AppError(
        "port_exit",
        `${call.method} could not be sent: ${errorMessage(error)}`,
        {},
        { cause: error },
      );
      this.#settle(call, () => call.reject(failure));
    }
  }

  #expire(call: Call, deadlineMs: number): void {
    const message = `no answer to ${call.method} within ${deadlineMs} ms`;
    this.#settle(call, () =>
      call.reject(new AppError("response_timeout", message, { method: call.method, deadlineMs })),
    );
  }

  /** Takes the call out of every list; nothing can settle it twice. */
  #settle(call: Call, settle: () => void): void {
    if (!this.#calls.delete(call)) return;
    call.deadline.cancel();
    call.backoff?.cancel();
    if (call.id !== null) this.#inFlight.delete(call.id);
    const queued = this.#queue.indexOf(call);
    if (queued !== -1) this.#queue.splice(queued, 1);
    settle();
    this.#pump();
  }

  #line(text: string): void {
    if (this.#closed !== null) return;
    const message = parseLine(text);
    switch (message.kind) {
      case "blank":
        return;
      case "noise":
        return this.#noise(message.sample);
      case "notification":
        return this.#guard(() => this.#options.onNotification(message.method, message.params));
      case "request":
        return this.#serve(message);
      case "result":
        return this.#reply(message.id, (call) => this.#settle(call, () => call.resolve(message.result)));
      case "error":
        return this.#reply(message.id, (call) => this.#refused(call, message.error));
      default:
        return message satisfies never;
    }
  }

  #noise(sample: string): void {
    this.#counts.noise += 1;
    this.#guard(() => this.#options.onNoise(sample));
  }

  #reply(id: RequestId, settle: (call: Call) => void): void {
    const call = this.#inFlight.get(id);
    if (call === undefined) this.#counts.stray += 1;
    else settle(call);
  }

  #refused(call: Call, { code, message, data }: { code: number; message: string; data: unknown }): void {
    if (code !== OVERLOADED || call.tries > MAX_OVERLOAD_RETRIES) {
      return this.#settle(call, () => call.reject(new RpcError(code, message, data)));
    }
    this.#counts.overloaded += 1;
    if (call.id !== null) this.#inFlight.delete(call.id);
    call.id = null;
    const delayMs = OVERLOAD_BASE_MS * 2 ** (call.tries - 1) * (0.5 + this.#random());
    call.backoff = this.#options.clock.setTimer(delayMs, () => {
      call.backoff = null;
      this.#queue.push(call);
      this.#pump();
    });
    this.#pump();
  }

  #serve({ id, method, params }: Extract<Incoming, { kind: "request" }>): void {
    let answered = false;
    const answer = (body: { result: unknown } | { error: { code: number; message: string } }): void => {
      if (answered) return;
      answered = true;
      this.#answer(id, body);
    };
    const refuse = (error: unknown): void => {
      if (!(error instanceof RpcError)) this.#fault(error);
      const code = error instanceof RpcError ? error.code : INTERNAL_ERROR;
      answer({ error: { code, message: errorMessage(error) } });
    };
    try {
      const result = this.#options.onRequest(method, params, id);
      if (result instanceof Promise) result.then((value: unknown) => answer({ result: value ?? null }), refuse);
      else answer({ result: result ?? null });
    } catch (error) {
      refuse(error);
    }
  }

  /** A value that JSON can't hold must not leave the request open. */
  #answer(id: RequestId, body: { result: unknown } | { error: { code: number; message: string } }): void {
    let line: string;
    try {
      line = lineOf({ id, ...body });
    } catch (error) {
      this.#fault(error);
      line = lineOf({ id, error: { code: INTERNAL_ERROR, message: "the answer could not be sent" } });
    }
    this.#tell(line);
  }

  #tell(line: string): void {
    if (this.#closed !== null) return;
    try {
      this.#options.write(line);
    } catch {
      // The other side is going, and with it whoever wanted to know: no fault of ours, and its end is told by its exit.
    }
  }

  #guard(act: () => void): void {
    try {
      act();
    } catch (error) {
      this.#fault(error);
    }
  }

  #fault(error: unknown): void {
    this.#counts.faults += 1;
    this.#options.onFault(error);
  }
}

/** What a session needs of a channel, whether it is the session's own or shared with others. */
export type SessionChannel = Pick<Channel, "request" | "close" | "closed" | "whenClosed" | "counts">;

function lineOf(message: unknown): string {
  return `${JSON.stringify(message)}\n`;
}
