/** The turns of one thread, one after the other: start, end, interrupt, steer, and the end that never came. */
import { AppError } from "../../domain/errors.ts";
import type { AgentEventBody } from "../../domain/events.ts";
import type { Question } from "../../domain/outcome.ts";
import type { Settings } from "../../domain/settings.ts";
import type { Clock } from "../../lib/clock.ts";
import type { Log } from "../../lib/log.ts";
import type { TurnEnd } from "../port.ts";
import type { SessionChannel } from "./channel.ts";
import { failureOfEnd, failureOfRequest, failureOfTurn, isNoActiveTurn } from "./failures.ts";
import { interruptAndClean } from "./interrupt.ts";
import type { RequestMethod } from "./manifest.ts";
import type { Notice, TurnView } from "./notices.ts";
import type { TurnSteerParams } from "./protocol.ts";
import { objectAt, stringAt } from "./reading.ts";
import { lookForEnd } from "./recovery.ts";
import { textInput } from "./thread-params.ts";
import { ActiveTurn } from "./turn.ts";

/** A server that names no start (or lost it) gets this long after its reply before it is taken as started. */
const START_GRACE_MS = 1000;
/** How long a turn with nothing open may be silent before the server is asked whether it is over. */
const QUIET_MAX_MS = 60_000;
const QUIET_MIN_MS = 5000;
const MAX_REMEMBERED_TURNS = 64;

export interface TurnsDeps {
  readonly channel: SessionChannel;
  readonly clock: Clock;
  readonly log: Log;
  readonly settings: Settings;
  emit(event: AgentEventBody): void;
  /** Commands, tool calls and questions that are open. */
  openCount(): number;
  /** When a spent rate limit resets, epoch ms. */
  resetsAt(): number | null;
  /** A turn is over, whatever its end: nothing of it is open any more. Called before its end is told. */
  settled(): void;
}

/** What a turn starts with; `params` is asked for when it is this turn's turn. */
export interface TurnStart {
  readonly method: "turn/start" | "thread/compact/start";
  params(): Promise<unknown>;
}

export class Turns {
  readonly #deps: TurnsDeps;
  readonly #ended = new Set<string>();
  #threadId = "";
  /** The first one is the running one, from the moment that it is asked for: an interrupt must find it. */
  readonly #queue: ActiveTurn[] = [];
  /** The interrupt that is under way, its tidying included: the next turn starts after it. */
  #interrupting: Promise<void> = Promise.resolve();

  constructor(deps: TurnsDeps) {
    this.#deps = deps;
  }

  /** Whether the server is at work on a turn. */
  get isRunning(): boolean {
    return this.#active?.sent ?? false;
  }

  get #active(): ActiveTurn | null {
    return this.#queue[0] ?? null;
  }

  bind(threadId: string): void {
    this.#threadId = threadId;
  }

  /** Runs one turn to its end, after those that were asked for before it. Never rejects. */
  run(start: TurnStart): Promise<TurnEnd> {
    const turn = new ActiveTurn(this.#deps.clock.now(), start.method === "thread/compact/start");
    const previous = this.#queue.at(-1)?.end;
    this.#queue.push(turn);
    void this.#begin(turn, start, previous);
    return turn.end;
  }

  /** Whether the turn was asked for here; the newest that ended are remembered. */
  isOwn(turnId: string): boolean {
    return this.#active?.id === turnId || this.#ended.has(turnId);
  }

  /** Whether a notice belongs to a turn that is over: background commands go on telling about themselves. */
  isLate(turnId: string | null): boolean {
    return turnId !== null && this.#ended.has(turnId);
  }

  /** The agent said something about the running turn. */
  noteLife(at: number): void {
    if (this.#active !== null) this.#active.lastLifeAt = at;
  }

  /** A notice about the session's own thread. */
  notice(notice: Notice): void {
    const turn = this.#active;
    if (turn === null) return;
    if (notice.kind === "turn_started" && this.#isAbout(turn, notice.turnId)) {
      this.#name(turn, notice.turnId);
      turn.seen = true;
      turn.noteStarted();
      this.#announce(turn);
    } else if (notice.kind === "turn_completed" && this.#isAbout(turn, notice.turn.id)) {
      this.#name(turn, notice.turn.id);
      this.#finish(turn, notice.turn);
    } else if (
      notice.kind === "error" &&
      !notice.willRetry &&
      notice.turnId !== null &&
      this.#isAbout(turn, notice.turnId)
    ) {
      turn.error = notice.error;
    }
  }

  /** The protocol is over: the running turn fails with it, and those that wait. */
  connectionLost(reason: Error): void {
    for (const turn of this.#queue.slice()) this.#settle(turn, failureOfEnd(reason, this.#deps.settings));
  }

  /** The session is being closed: the running turn ends here, and the server records it as interrupted. */
  abandon(): void {
    for (const turn of this.#queue.slice()) this.#settle(turn, { kind: "interrupted" });
  }

  /** Nobody answered the question in time: the turn is interrupted and ends with it. */
  giveUpOn(question: Question): void {
    if (this.#active === null) return;
    this.#active.unanswered ??= question;
    void this.interrupt();
  }

  /** Interrupts the running turn, if any, and ends what it left running. Never rejects; the turn ends in any case. */
  interrupt(): Promise<void> {
    this.#interrupting = interruptAndClean({
      turn: this.#active,
      threadId: this.#threadId,
      clock: this.#deps.clock,
      log: this.#deps.log,
      request: (method, params) => this.#request(method, params),
      end: (turn) => this.#settle(turn, { kind: "interrupted" }),
    });
    return this.#interrupting;
  }

  /** Adds a message to the running turn. Rejects with AppError `response_error` when there is none. */
  async steer(text: string): Promise<void> {
    const turn = this.#active;
    await turn?.started;
    if (turn === null || turn.settled || turn.id === null) throw noTurn();
    try {
      const params: TurnSteerParams = { threadId: this.#threadId, expectedTurnId: turn.id, input: [textInput(text)] };
      await this.#request("turn/steer", params);
    } catch (error) {
      if (isNoActiveTurn(error)) throw noTurn(error);
      throw error;
    }
  }

  async #begin(turn: ActiveTurn, start: TurnStart, previous: Promise<unknown> | undefined): Promise<void> {
    const { channel, clock, settings } = this.#deps;
    await previous;
    await this.#interrupting;
    if (channel.closed !== null) return this.#settle(turn, failureOfEnd(channel.closed, settings));
    try {
      const params = turn.settled ? null : await start.params();
      if (turn.settled) return;
      turn.sent = true;
      turn.lastLifeAt = clock.now();
      this.#watch(turn);
      const reply = await this.#request(start.method, params);
      if (!turn.settled) this.#accepted(turn, stringAt(objectAt(reply, "turn"), "id"));
    } catch (error) {
      // A reply that was late or lost is no failure when the turn has begun all the same.
      if (turn.id === null) this.#settle(turn, failureOfRequest(start.method, error, settings));
    }
  }

  #accepted(turn: ActiveTurn, id: string | null): void {
    if (id !== null) {
      // A start while a turn is running joins that turn, and may so name one that was given up here.
      this.#ended.delete(id);
      this.#name(turn, id);
    }
    turn.grace = this.#deps.clock.setTimer(START_GRACE_MS, () => {
      turn.noteStarted();
      this.#announce(turn);
    });
  }

  #isAbout(turn: ActiveTurn, turnId: string): boolean {
    return turn.id === null ? turn.sent && !this.#ended.has(turnId) : turn.id === turnId;
  }

  #name(turn: ActiveTurn, id: string): void {
    turn.id ??= id;
  }

  #announce(turn: ActiveTurn): void {
    if (turn.announced || turn.isCompaction || turn.id === null) return;
    turn.announced = true;
    this.#deps.emit({ kind: "turn_started", turnId: turn.id });
  }

  #finish(turn: ActiveTurn, view: TurnView): void {
    const { resetsAt } = this.#deps;
    switch (view.status) {
      case "completed":
        return this.#settle(turn, { kind: "completed" });
      case "interrupted":
        return this.#settle(turn, { kind: "interrupted" });
      case "failed":
        return this.#settle(turn, failureOfTurn(view.error ?? turn.error, resetsAt()));
      default:
        return this.#settle(
          turn,
          failureOfTurn({ message: `unknown turn status "${view.status}"`, details: null, info: null }, null),
        );
    }
  }

  #settle(turn: ActiveTurn, end: TurnEnd): void {
    if (turn.settled) return;
    if (turn.id !== null) this.#remember(turn.id);
    // A turn that ends in the same breath as it starts has started all the same.
    if (turn.sent) this.#announce(turn);
    this.#queue.splice(this.#queue.indexOf(turn), 1);
    this.#deps.settled();
    if (!turn.isCompaction) this.#deps.emit(eventOfEnd(turn.id, end));
    turn.settle(end);
  }

  #remember(turnId: string): void {
    this.#ended.add(turnId);
    const [oldest] = this.#ended;
    if (this.#ended.size > MAX_REMEMBERED_TURNS && oldest !== undefined) this.#ended.delete(oldest);
  }

  #request(method: RequestMethod, params: unknown): Promise<unknown> {
    return this.#deps.channel.request(method, params, this.#deps.settings.codex.readTimeoutMs);
  }

  #quietMs(): number {
    const { stallTimeoutMs } = this.#deps.settings.codex;
    return stallTimeoutMs > 0 ? Math.max(QUIET_MIN_MS, Math.min(QUIET_MAX_MS, stallTimeoutMs / 3)) : QUIET_MAX_MS;
  }

  #watch(turn: ActiveTurn): void {
    const quietMs = this.#quietMs();
    const silentMs = this.#deps.clock.now() - turn.lastLifeAt;
    const isQuiet = silentMs >= quietMs && this.#deps.openCount() === 0;
    const waitMs = silentMs < quietMs ? quietMs - silentMs : quietMs;
    if (isQuiet) void this.#recover(turn);
    turn.watch = this.#deps.clock.setTimer(waitMs, () => this.#watch(turn));
  }

  async #recover(turn: ActiveTurn): Promise<void> {
    const { channel, log, settings } = this.#deps;
    if (turn.id === null) return;
    const deadlineMs = settings.codex.readTimeoutMs;
    const { id: turnId, seen } = turn;
    const view = await lookForEnd({ channel, threadId: this.#threadId, turnId, seen, deadlineMs });
    if (view === null || turn.settled) return;
    log.warn(
      { session_id: `${this.#threadId}-${turnId}`, status: view.status },
      "the turn was over without a terminal event",
    );
    this.#deps.emit({ kind: "warning", text: `the turn had ended (${view.status}) without the agent telling so` });
    this.#finish(turn, view);
  }
}

function eventOfEnd(turnId: string | null, end: TurnEnd): AgentEventBody {
  if (turnId === null) {
    const message = end.kind === "failed" ? end.message : `the turn ended before it began (${end.kind})`;
    return { kind: "turn_ended_with_error", message };
  }
  switch (end.kind) {
    case "completed":
      return { kind: "turn_completed", turnId };
    case "failed":
      return { kind: "turn_failed", turnId, message: end.message };
    default:
      return { kind: "turn_cancelled", turnId };
  }
}

function noTurn(cause?: unknown): AppError {
  return new AppError("response_error", "there is no running turn to steer", {}, { cause });
}
