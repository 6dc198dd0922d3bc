/** One turn from its start to its one end: completed, failed or interrupted, in the order that the real server was measured in. */
import { randomUUID } from "node:crypto";
import { uuidV7 } from "./ids.ts";
import type { Item, TurnError, TurnRecord } from "./rollout.ts";
import { type Thread, turnView } from "./thread.ts";
import { addResponse, type ResponseTokens, type ThreadUsage } from "./usage.ts";

/** Thrown into whatever a turn is doing when the turn has ended from outside. */
class TurnOver extends Error {
  override readonly name = "TurnOver";
}

/** Ends a turn as failed. `retries` notices (`willRetry: true`) come before the end. */
export class TurnFailure extends Error {
  override readonly name = "TurnFailure";
  readonly info: unknown;

  constructor(message: string, info: unknown) {
    super(message);
    this.info = info;
  }
}

/** Figures of `account/rateLimits/updated`; all null as with an API key. */
export const NO_LIMITS: Readonly<Record<string, unknown>> = {
  limitId: "codex",
  limitName: null,
  normalModelSlug: null,
  primary: null,
  secondary: null,
  credits: null,
  individualLimit: null,
  spendControlReached: null,
  planType: null,
  rateLimitReachedType: null,
};

function turnError(message: string, codexErrorInfo: unknown, additionalDetails: string | null = null): TurnError {
  return { message, codexErrorInfo, additionalDetails, misalignment: null };
}

export class Turn {
  readonly id = uuidV7();
  readonly thread: Thread;
  readonly #texts: readonly string[];
  readonly #clientId: string | null;
  readonly #over = new AbortController();
  #cut = new AbortController();
  #steers: string[] = [];
  #startedAtMs: number | null = null;
  #lastMessage: Item | null = null;
  #diff: string | null = null;
  readonly #settlers = new Set<() => void>();
  readonly #afterEnd: (() => void)[] = [];

  constructor(thread: Thread, texts: readonly string[], clientId: string | null) {
    this.thread = thread;
    this.#texts = texts;
    this.#clientId = clientId;
  }

  /** True between turn/started and turn/completed: only then it can be steered or interrupted. */
  get active(): boolean {
    return this.#startedAtMs !== null && !this.#over.signal.aborted;
  }

  get prompt(): string {
    return this.#texts.join("\n");
  }

  /** The `turn` of the turn/start response. */
  view(): Readonly<Record<string, unknown>> {
    return { ...turnView(this.#record(0), "notLoaded"), startedAt: null };
  }

  #record(startedAtMs: number): TurnRecord {
    return { id: this.id, status: "inProgress", error: null, startedAtMs, completedAtMs: null, items: [] };
  }

  /** Runs `behave` as the turn's work. Never rejects. `compaction` turns have no user message. */
  async run(behave: () => Promise<void>, compaction = false): Promise<void> {
    const startedAtMs = Date.now();
    this.#startedAtMs = startedAtMs;
    this.thread.beginTurn(this.id, startedAtMs);
    this.thread.setStatus("active");
    this.thread.notify("turn/started", { turn: turnView(this.#record(startedAtMs), "notLoaded") });
    try {
      if (!compaction && this.#texts.length > 0) this.#userMessage(this.#texts, this.#clientId);
      await behave();
      this.#complete();
    } catch (error) {
      if (error instanceof TurnOver) return;
      const info = error instanceof TurnFailure ? error.info : "other";
      this.#fail(turnError(error instanceof Error ? error.message : String(error), info));
    }
  }

  #userMessage(texts: readonly string[], clientId: string | null): void {
    const item = {
      type: "userMessage",
      id: uuidV7(),
      clientId,
      content: texts.map((text) => ({ type: "text", text, text_elements: [] })),
    };
    this.complete(this.open(item));
  }

  /** Announces an item and gives it back with its start time. */
  open(item: Item): Item {
    this.#check();
    const startedAtMs = Date.now();
    const opened: Item = { ...item, startedAtMs, completedAtMs: null };
    this.emit("item/started", { item: opened, startedAtMs });
    return opened;
  }

  /** Completes an item of this turn while the turn lives. */
  complete(item: Item): void {
    this.#check();
    this.completeLate(item);
  }

  /** Completes an item whether or not the turn lives: background commands do so (measured). */
  completeLate(item: Item): void {
    const completedAtMs = Date.now();
    const done: Item = { ...item, completedAtMs };
    if (done.type === "agentMessage" && !this.#over.signal.aborted) this.#lastMessage = done;
    this.thread.keepItem(this.id, done);
    this.emit("item/completed", { item: done, contentTokenCount: null, completedAtMs });
  }

  emit(method: string, params: Readonly<Record<string, unknown>>): void {
    this.thread.notify(method, { turnId: this.id, ...params });
  }

  #check(): void {
    if (this.#over.signal.aborted) throw new TurnOver();
  }

  /** One model response has ended: totals, then rate limits, as measured. */
  respond(tokens: ResponseTokens): void {
    this.#check();
    this.thread.responses += 1;
    this.setUsage(addResponse(this.thread.usage, tokens));
  }

  /** New totals of the thread; rate limits follow totals wherever they are sent in a turn (measured). */
  setUsage(usage: ThreadUsage): void {
    this.thread.setUsage(this.id, usage);
    this.limits(NO_LIMITS);
  }

  /** Sends the totals again: on a steer, an interrupt, a compaction and an overflow (measured). */
  repeatUsage(): void {
    if (this.thread.repeatUsage()) this.limits(NO_LIMITS);
  }

  /** The whole change of the turn so far; repeated when the turn completes (measured). */
  setDiff(diff: string): void {
    this.#diff = diff;
    this.emit("turn/diff/updated", { diff });
  }

  limits(rateLimits: Readonly<Record<string, unknown>>): void {
    this.thread.notifyGlobal("account/rateLimits/updated", { rateLimits });
  }

  /** An `error` notice that the server will try again. */
  notice(message: string, codexErrorInfo: unknown, details: string | null): void {
    this.#check();
    this.emit("error", { error: turnError(message, codexErrorInfo, details), willRetry: true });
  }

  /** Waits for `work`; rejects with TurnOver when the turn is ended first. `settle` is run when an interrupt comes meanwhile. */
  async until<T>(work: Promise<T>, settle: () => void = () => undefined): Promise<T> {
    this.#check();
    this.#settlers.add(settle);
    const { promise, reject } = Promise.withResolvers<never>();
    const stop = (): void => reject(new TurnOver());
    this.#over.signal.addEventListener("abort", stop, { once: true });
    try {
      return await Promise.race([work, promise]);
    } finally {
      this.#settlers.delete(settle);
      this.#over.signal.removeEventListener("abort", stop);
    }
  }

  /** What is said once the turn has ended. */
  afterEnd(say: () => void): void {
    this.#afterEnd.push(say);
  }

  /** Aborts when the turn is ended or steered: what a cut of the model's stream is here. */
  get cutSignal(): AbortSignal {
    return AbortSignal.any([this.#over.signal, this.#cut.signal]);
  }

  /** The messages that came by turn/steer since the last look. */
  takeSteers(): readonly string[] {
    const taken = this.#steers;
    this.#steers = [];
    return taken;
  }

  steer(texts: readonly string[], clientId: string | null): void {
    this.repeatUsage();
    this.#userMessage(texts, clientId);
    this.#steers.push(...texts);
    const cut = this.#cut;
    this.#cut = new AbortController();
    cut.abort();
  }

  /** Ends the turn at once; call after the interrupt was answered. */
  interrupted(): void {
    this.thread.setStatus("idle");
    this.#end("interrupted", null);
  }

  /** Ends the turn because a person cancelled a request of it; open items stay open, as measured. */
  cancel(): never {
    this.interrupted();
    throw new TurnOver();
  }

  /**
   * Stops the work of the turn: open tool calls fail, what a response had cost is reported, and nothing more is sent for the turn but
   * its end. Commands go on (measured).
   */
  stop(): void {
    const responses = this.thread.responses;
    for (const settle of this.#settlers) settle();
    if (this.thread.responses === responses) this.repeatUsage();
    if (this.#lastMessage !== null) this.#unread();
    this.#over.abort();
  }

  #unread(): void {
    const first = this.thread.turns[0]?.id ?? this.id;
    const readState = { firstUnread: { type: "turn", turnId: first }, revision: randomUUID() };
    this.thread.notify("thread/readState/changed", { readState });
  }

  #complete(): void {
    this.#check();
    if (this.#diff !== null) this.emit("turn/diff/updated", { diff: this.#diff });
    if (this.#lastMessage !== null) this.#unread();
    this.thread.setStatus("idle");
    this.#end("completed", null);
  }

  #fail(error: TurnError): void {
    if (this.#over.signal.aborted) return;
    this.thread.setStatus("systemError");
    this.emit("error", { error, willRetry: false });
    this.#unread();
    this.#end("failed", error);
  }

  #end(status: "completed" | "interrupted" | "failed", error: TurnError | null): void {
    this.#over.abort();
    this.thread.endTurn(this.id, status, error);
    const record: TurnRecord = {
      ...this.#record(this.#startedAtMs ?? Date.now()),
      status,
      error,
      completedAtMs: Date.now(),
    };
    const items = status === "completed" && this.#lastMessage !== null ? [this.#lastMessage] : [];
    const view = turnView(record, items.length > 0 ? "summary" : "notLoaded", items);
    this.thread.notify("turn/completed", { turn: view });
    for (const say of this.#afterEnd) say();
  }
}
