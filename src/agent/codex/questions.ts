/** Questions that policy leaves to a person: open until they are answered, the server settles them, or their time is up. */
import type { QuestionAnswer } from "../../domain/inbox.ts";
import type { Question } from "../../domain/outcome.ts";
import type { Clock, Timer } from "../../lib/clock.ts";
import type { RequestId } from "./wire.ts";

interface OpenQuestion {
  readonly question: Question;
  readonly requestId: RequestId;
  readonly timer: Timer;
  readonly settle: (answer: QuestionAnswer | null) => void;
}

export interface QuestionsDeps {
  readonly clock: Clock;
  /** The oldest question that is open changed; null: none is open. */
  announce(question: Question | null): void;
  /** The agent has taken the answer to this question, or the grant of this id. */
  acknowledged(id: string): void;
  /** Nobody answered in time. The question is settled as not answered right after. */
  expired(question: Question): void;
}

/** Order is that of asking: one question at a time is shown, the oldest. */
export class Questions {
  readonly #deps: QuestionsDeps;
  readonly #open = new Map<string, OpenQuestion>();
  /** Answers of persons that were sent, by their requests, until the agent says that it has them. */
  readonly #sent = new Map<RequestId, string>();
  #shown: string | null = null;

  constructor(deps: QuestionsDeps) {
    this.#deps = deps;
  }

  get count(): number {
    return this.#open.size;
  }

  /** Opens a question. Resolves with the answer; null when there won't be one. */
  ask(question: Question, requestId: RequestId): Promise<QuestionAnswer | null> {
    const { clock } = this.#deps;
    return new Promise((resolve) => {
      const timeoutMs = (question.deadlineAt ?? clock.now()) - clock.now();
      const timer = clock.setTimer(timeoutMs, () => {
        this.#deps.expired(question);
        this.#settle(question.id, null);
      });
      this.#open.set(question.id, { question, requestId, timer, settle: resolve });
      this.#show();
    });
  }

  /** False when it isn't open. */
  answer(questionId: string, answer: QuestionAnswer): boolean {
    const open = this.#open.get(questionId);
    if (open === undefined) return false;
    this.sent(open.requestId, questionId);
    return this.#settle(questionId, answer);
  }

  /** A person's answer, of now or of an earlier run, goes out as the reply to this request. */
  sent(requestId: RequestId, id: string): void {
    this.#sent.set(requestId, id);
  }

  /** The server settled a request by itself, or has taken our answer. */
  resolved(requestId: RequestId): void {
    this.#acknowledge(requestId);
    for (const { question, requestId: open } of this.#open.values()) {
      if (open === requestId) this.#settle(question.id, null);
    }
  }

  /**
   * The turn or the session ended: nobody waits for answers any more. An agent that is still there has read what was sent to it (old
   * ones never say so); of one that is gone nobody knows.
   */
  closeAll(agent: "there" | "gone"): void {
    for (const id of this.#open.keys()) this.#settle(id, null);
    if (agent === "there") for (const requestId of this.#sent.keys()) this.#acknowledge(requestId);
    this.#sent.clear();
  }

  #acknowledge(requestId: RequestId): void {
    const id = this.#sent.get(requestId);
    if (id === undefined) return;
    this.#sent.delete(requestId);
    this.#deps.acknowledged(id);
  }

  #settle(id: string, answer: QuestionAnswer | null): boolean {
    const open = this.#open.get(id);
    if (open === undefined) return false;
    this.#open.delete(id);
    open.timer.cancel();
    open.settle(answer);
    this.#show();
    return true;
  }

  #show(): void {
    const [oldest] = this.#open.values();
    const id = oldest?.question.id ?? null;
    if (id === this.#shown) return;
    this.#shown = id;
    this.#deps.announce(oldest?.question ?? null);
  }
}
