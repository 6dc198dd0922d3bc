/** One agent session at Linear: what is said in it goes out in order, what must be heard at once, and progress every few minutes. */
import { randomUUID } from "node:crypto";

import { isAppError } from "../../domain/errors.ts";
import type { Clock, Timer } from "../../lib/clock.ts";
import type { LinearClient } from "./client.ts";
import { ACTIVITY_DOCUMENT, SESSION_UPDATE_DOCUMENT } from "./documents.ts";
import { isInDoubt } from "./doubtful-calls.ts";
import { planSteps } from "./session-steps.ts";

/** Each activity is a request of the daemon's budget, and a session goes stale after thirty minutes of silence. */
const PROGRESS_EVERY_MS = 120_000;
/** What must be heard is tried this often, this far apart; a later reset is waited for. */
const ATTEMPTS = 4;
const ATTEMPT_AFTER_MS = 5_000;
/** Linear shows a session's texts as comments. */
const MAX_TEXT_CHARS = 4_000;

/** What is said, in Linear's kinds. */
export interface Activity {
  readonly type: "thought" | "elicitation" | "response" | "error";
  readonly body: string;
}

export interface SessionDeps {
  readonly client: LinearClient;
  readonly clock: Clock;
  /** Ends what waits and what is under way. */
  readonly signal: AbortSignal;
  /** Called for what could not be sent. */
  failed(error: unknown): void;
}

export class Session {
  readonly #deps: SessionDeps;
  /** Null where it could not be opened; then nothing is sent. */
  readonly #id: Promise<string | null>;
  #tail: Promise<void>;
  #thought: string | null = null;
  #plan: string | null = null;
  #shownPlan = "[]";
  #timer: Timer | null = null;
  #sentAt: number;

  constructor(id: Promise<string | null>, deps: SessionDeps) {
    this.#id = id;
    this.#deps = deps;
    this.#tail = Promise.resolve();
    this.#sentAt = deps.clock.now();
  }

  /** Resolves with its id, or null, once it is open. */
  get id(): Promise<string | null> {
    return this.#id;
  }

  /** Goes out as soon as what was said before has gone out. */
  say(activity: Activity): void {
    const input = { content: cut(activity), id: randomUUID() };
    this.#enqueue((id) => this.#sendSurely(id, input));
  }

  link(label: string, url: string): void {
    this.#enqueue((id) => this.#update(id, { addedExternalUrls: [{ label, url }] }));
  }

  /** Shown in a while, unless something newer comes before. */
  think(text: string): void {
    this.#thought = text;
    this.#arm();
  }

  plan(text: string): void {
    this.#plan = text;
    this.#arm();
  }

  /** Shows the plan as it is in the end; progress that wasn't shown is no longer of interest. */
  finish(): void {
    this.#timer?.cancel();
    this.#timer = null;
    this.#thought = null;
    this.#flush();
  }

  /** Resolves when all that was said is out, or given up. */
  async settled(): Promise<void> {
    await this.#tail;
  }

  #arm(): void {
    const dueIn = this.#sentAt + PROGRESS_EVERY_MS - this.#deps.clock.now();
    this.#timer ??= this.#deps.clock.setTimer(dueIn, () => {
      this.#timer = null;
      this.#flush();
    });
  }

  /** One request at most: a changed plan says more than a thought. */
  #flush(): void {
    const steps = planSteps(this.#plan ?? "");
    const plan = JSON.stringify(steps);
    const thought = this.#thought;
    if (steps.length > 0 && plan !== this.#shownPlan) {
      this.#shownPlan = plan;
      this.#enqueue((id) => this.#update(id, { plan: steps }));
    } else if (thought !== null) {
      const content = cut({ type: "thought", body: thought });
      this.#enqueue((id) => this.#send(id, { content, ephemeral: true }));
    } else return;
    this.#thought = null;
    this.#sentAt = this.#deps.clock.now();
  }

  #enqueue(task: (id: string) => Promise<unknown>): void {
    this.#tail = this.#after(this.#tail, task);
  }

  async #after(before: Promise<void>, task: (id: string) => Promise<unknown>): Promise<void> {
    await before;
    try {
      const id = await this.#id;
      this.#deps.signal.throwIfAborted();
      if (id !== null) await task(id);
    } catch (error) {
      this.#deps.failed(error);
    }
  }

  #update(id: string, input: Readonly<Record<string, unknown>>): Promise<unknown> {
    const { client, signal } = this.#deps;
    return client.query({ document: SESSION_UPDATE_DOCUMENT, variables: { id, input }, lane: "aside", signal });
  }

  #send(
    id: string,
    input: Readonly<Record<string, unknown>>,
    lane: "aside" | "tool_change" = "aside",
  ): Promise<unknown> {
    const { client, signal } = this.#deps;
    const variables = { input: { ...input, agentSessionId: id } };
    return client.query({ document: ACTIVITY_DOCUMENT, variables, lane, signal });
  }

  /** Under one id of ours, so that a repetition after a lost answer says nothing twice. */
  async #sendSurely(id: string, input: Readonly<Record<string, unknown>>): Promise<void> {
    const { clock, signal } = this.#deps;
    let mayBeThere = false;
    for (let attempt = 1; ; attempt += 1) {
      try {
        await this.#send(id, input, "tool_change");
        return;
      } catch (error) {
        signal.throwIfAborted();
        const isPassing = isAppError(error) && error.data["retryable"] !== false;
        // It was there already: an earlier attempt had gone through.
        if (mayBeThere && isAppError(error) && error.data["reason"] === "invalid_input") return;
        if (!isPassing || attempt === ATTEMPTS) throw error;
        mayBeThere ||= isInDoubt(error);
        await clock.sleep(waitAfter(error.data["resetAt"], clock.now()), signal);
      }
    }
  }
}

function waitAfter(resetAt: unknown, now: number): number {
  return typeof resetAt === "number" && resetAt > now ? resetAt - now : ATTEMPT_AFTER_MS;
}

function cut({ type, body }: Activity): Activity {
  return { type, body: body.length > MAX_TEXT_CHARS ? `${body.slice(0, MAX_TEXT_CHARS)} ...` : body };
}
