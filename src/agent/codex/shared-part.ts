/** One session's part of a shared process: what it asks, what is pending for it, and which thread was loaded for it. */
import type { ChannelCounts, ChannelOptions, SessionChannel } from "./channel.ts";
import type { RequestMethod } from "./manifest.ts";
import { objectAt, stringAt } from "./reading.ts";
import { configQuestion, includeOnlyOf, withMarker } from "./thread-marker.ts";
import { RpcError } from "./wire.ts";

type Handlers = Omit<ChannelOptions, "write" | "clock">;

export interface SharedPartDeps {
  readonly runMarker: string;
  readonly handlers: Handlers;
  /** Asks the process. */
  ask(method: RequestMethod, params: unknown, deadlineMs: number): Promise<unknown>;
  counts(): ChannelCounts;
  /** From now on what is told of this thread is for this part. Throws RpcError when another part works with it. */
  claim(part: SharedPart, threadId: string): void;
}

/** Closing it fails what is pending here and nothing of the others. */
export class SharedPart implements SessionChannel {
  readonly #deps: SharedPartDeps;
  readonly #closing = Promise.withResolvers<Error>();
  readonly #pending = new Set<(reason: Error) => void>();
  #closed: Error | null = null;
  #opening: Promise<void> = Promise.resolve();
  #threadId: string | null = null;
  #inDoubt = false;

  constructor(deps: SharedPartDeps) {
    this.#deps = deps;
  }

  get handlers(): Handlers {
    return this.#deps.handlers;
  }

  get runMarker(): string {
    return this.#deps.runMarker;
  }

  /** The thread that was loaded for this part; null while there is none. */
  get threadId(): string | null {
    return this.#threadId;
  }

  /** A thread may have been loaded without its name having been told. */
  get inDoubt(): boolean {
    return this.#inDoubt;
  }

  get closed(): Error | null {
    return this.#closed;
  }

  get whenClosed(): Promise<Error> {
    return this.#closing.promise;
  }

  /** Of the whole process. */
  get counts(): ChannelCounts {
    return this.#deps.counts();
  }

  request(method: RequestMethod, params: unknown, deadlineMs: number): Promise<unknown> {
    if (this.#closed !== null) return Promise.reject(this.#closed);
    const opens = method === "thread/start" || method === "thread/resume";
    const asked = opens ? this.#open(method, params, deadlineMs) : this.#deps.ask(method, params, deadlineMs);
    if (opens) this.#opening = this.#follow(asked);
    return new Promise((resolve, reject) => {
      this.#pending.add(reject);
      asked.then(resolve, reject).finally(() => this.#pending.delete(reject));
    });
  }

  close(reason: Error): void {
    if (this.#closed !== null) return;
    this.#closed = reason;
    for (const reject of this.#pending) reject(reason);
    this.#pending.clear();
    this.#closing.resolve(reason);
  }

  /** Resolves when no start or resume of a thread is under way. Never rejects. */
  whenOpened(): Promise<void> {
    return this.#opening;
  }

  async #open(method: "thread/start" | "thread/resume", params: unknown, deadlineMs: number): Promise<unknown> {
    // A resumed thread is told about before the reply is read.
    const known = method === "thread/resume" ? stringAt(params, "threadId") : null;
    if (known !== null) this.#deps.claim(this, known);
    const includeOnly = await this.#includeOnly(params, deadlineMs);
    if (this.#closed !== null) throw this.#closed;
    return this.#deps.ask(method, withMarker(params, this.runMarker, includeOnly), deadlineMs);
  }

  async #includeOnly(params: unknown, deadlineMs: number): Promise<readonly string[]> {
    try {
      return includeOnlyOf(await this.#deps.ask("config/read", configQuestion(params), deadlineMs));
    } catch (error) {
      if (!(error instanceof RpcError)) throw error;
      // An older server refuses the question.
      return [];
    }
  }

  /** Goes on when the session has given up waiting: the process may load the thread all the same. */
  async #follow(asked: Promise<unknown>): Promise<void> {
    try {
      this.#threadId = stringAt(objectAt(await asked, "thread"), "id");
      if (this.#threadId === null) this.#inDoubt = true;
      else this.#deps.claim(this, this.#threadId);
    } catch (error) {
      // Refused, or given up before it was asked for.
      if (!(error instanceof RpcError) && error !== this.#closed) this.#inDoubt = true;
    }
  }
}
