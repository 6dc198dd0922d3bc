/** Takes every notification of a connection to where it belongs: the session's own thread, a sub-agent's, or no thread. */
import type { AgentEventBody } from "../../domain/events.ts";
import type { Clock } from "../../lib/clock.ts";
import { isWork, type OpenWork } from "./items.ts";
import { readNotice, type Notice } from "./notices.ts";
import type { Projector } from "./projector.ts";
import type { Questions } from "./questions.ts";
import type { RateLimits } from "./rate-limits.ts";
import { stringAt } from "./reading.ts";
import type { Requests } from "./requests.ts";
import type { TokenReader } from "./tokens.ts";
import type { Turns } from "./turns.ts";

/** A long answer is thousands of deltas; life is told this often, and at once when the number of open things changes. */
const LIFE_INTERVAL_MS = 50;

/** The server telling about itself and its surroundings says nothing about the turn. */
const NO_LIFE = /^(account|app|fs|mcpServer|remoteControl|skills|modelProvider)\//;

export interface RouterDeps {
  readonly clock: Clock;
  readonly turns: Turns;
  readonly requests: Requests;
  readonly questions: Questions;
  readonly work: OpenWork;
  readonly tokens: TokenReader;
  readonly limits: RateLimits;
  readonly projector: Projector;
  emit(event: AgentEventBody): void;
  alive(open: number): void;
}

export class Router {
  readonly #deps: RouterDeps;
  /** Null until the thread is known; what comes before is kept, because its owner can't be told yet. */
  #threadId: string | null = null;
  #resumed = false;
  /** On any thread, while this session lives: what is told of another turn is an earlier session's. */
  readonly #startedTurns = new Set<string>();
  #early: (readonly [method: string, params: unknown])[] = [];
  #toldAt = Number.NEGATIVE_INFINITY;
  #toldOpen = 0;

  constructor(deps: RouterDeps) {
    this.#deps = deps;
  }

  /** Names the session's thread. A reply and what follows it may come in one chunk, and the reply is taken last. */
  bind(threadId: string, { resumed }: { readonly resumed: boolean }): void {
    this.#threadId = threadId;
    this.#resumed = resumed;
    const early = this.#early;
    this.#early = [];
    for (const [method, params] of early) this.route(method, params);
  }

  route(method: string, params: unknown): void {
    if (this.#threadId === null) {
      this.#early.push([method, params]);
      return;
    }
    const notice = readNotice(method, params);
    this.#take(notice);
    if (this.#isLife(method, notice)) this.noteLife();
  }

  /** Output came, or something opened or closed. */
  noteLife(): void {
    const { clock, work, turns, alive } = this.#deps;
    const now = clock.now();
    turns.noteLife(now);
    const open = work.count;
    if (open === this.#toldOpen && now - this.#toldAt < LIFE_INTERVAL_MS) return;
    this.#toldAt = now;
    this.#toldOpen = open;
    alive(open);
  }

  #take(notice: Notice): void {
    const { tokens, limits, questions, emit } = this.#deps;
    switch (notice.kind) {
      case "tokens": {
        const report = tokens.read(notice.params);
        if (report === null) return;
        const subAgent = report.threadId !== this.#threadId;
        emit({ kind: "tokens", ...report, subAgent, replayed: this.#isReplay(stringAt(notice.params, "turnId")) });
        return;
      }
      case "rate_limits": {
        const merged = limits.update(notice.params);
        if (merged !== null) emit({ kind: "rate_limits", limits: merged });
        return;
      }
      case "request_resolved":
        return questions.resolved(notice.requestId);
      case "warning":
      case "other":
        return this.#project(notice);
      default:
        this.#track(notice);
        if (notice.threadId !== this.#threadId) return;
        this.#project(notice);
        return this.#deps.turns.notice(notice);
    }
  }

  /** What is open, on every thread: a parent that waits for its sub-agent is not stuck. */
  #track(notice: Extract<Notice, { threadId: string }>): void {
    const { work, requests, turns } = this.#deps;
    switch (notice.kind) {
      case "turn_started":
        this.#startedTurns.add(notice.turnId);
        return;
      case "item_started":
        requests.itemStarted(notice.item);
        if (isWork(notice.item.type) && !turns.isLate(notice.turnId)) work.open(notice.threadId, notice.item.id);
        return;
      case "item_completed":
        requests.itemEnded(notice.item);
        return work.close(notice.threadId, notice.item.id);
      case "turn_completed":
        // The own thread's is cleared when its turn is settled.
        if (notice.threadId !== this.#threadId) work.closeThread(notice.threadId);
        return;
      default:
        return;
    }
  }

  #isReplay(turnId: string | null): boolean {
    if (!this.#resumed || turnId === null) return false;
    return !this.#startedTurns.has(turnId) && !this.#deps.turns.isOwn(turnId);
  }

  #project(notice: Notice): void {
    const event = this.#deps.projector.project(notice);
    if (event !== null) this.#deps.emit(event);
  }

  /** Reconnect notices, late items of old turns and talk about other things are no sign of life. */
  #isLife(method: string, notice: Notice): boolean {
    if (NO_LIFE.test(method)) return false;
    switch (notice.kind) {
      case "error":
        return !notice.willRetry;
      case "warning":
      case "rate_limits":
      case "request_resolved":
        return false;
      case "tokens":
      case "other":
        return true;
      default:
        return !this.#deps.turns.isLate(notice.turnId);
    }
  }
}
