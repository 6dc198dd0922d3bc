/** What a person says to a run while it goes on: messages, answers, an interrupt, a compaction. Nothing said is lost between turns. */
import type { InboxItem, OperatorAnswer, OperatorMessage, QuestionAnswer } from "../domain/inbox.ts";
import { errorMessage } from "../domain/errors.ts";
import type { Log } from "../lib/log.ts";
import type { AgentSession, Grant, TurnEnd } from "./port.ts";
import { withPersonsWords } from "./prompt.ts";

export interface ControlsDeps {
  /** What was said before the run. */
  readonly inbox: readonly InboxItem[];
  readonly log: Log;
  /** The agent has it: it need not be kept any longer. */
  took(itemId: string): void;
}

export class Controls {
  readonly #deps: ControlsDeps;
  /** For answers whose request is gone. */
  readonly grants: readonly Grant[];
  #session: AgentSession | null = null;
  #messages: OperatorMessage[];
  #answers: OperatorAnswer[];
  /** Messages on their way into the running turn: the next prompt must know how that went. */
  readonly #steering = new Set<Promise<void>>();
  /** What the prompt of the turn that is being started says. */
  #told: readonly InboxItem[] = [];
  #interrupted = false;

  constructor(deps: ControlsDeps) {
    this.#deps = deps;
    this.#messages = deps.inbox.filter((item) => item.kind === "message");
    this.#answers = deps.inbox.filter((item) => item.kind === "answer");
    this.grants = this.#answers.map(({ id, question, subject, answer }) => ({ id, kind: question, subject, answer }));
  }

  attach(session: AgentSession): void {
    this.#session = session;
  }

  /** As {@link Run.deliver}: one try with the running turn, then the next one has it. */
  deliver(message: OperatorMessage): void {
    const session = this.#session;
    if (session === null) {
      this.#messages.push(message);
      return;
    }
    const sent = this.#steer(session, message).finally(() => this.#steering.delete(sent));
    this.#steering.add(sent);
  }

  async #steer(session: AgentSession, message: OperatorMessage): Promise<void> {
    try {
      await session.steer(message.text);
    } catch (error) {
      this.#deps.log.info({ message_id: message.id, reason: errorMessage(error) }, "message waits for the next turn");
      this.#messages.push(message);
      return;
    }
    this.#deps.took(message.id);
  }

  /** As {@link Run.answer}. */
  answer(questionId: string, answer: QuestionAnswer): void {
    if (this.#session?.answer(questionId, answer) === true) return;
    this.#deps.log.info({ question_id: questionId }, "answer came when its question was gone; it is kept");
  }

  /** As {@link Run.interrupt}. */
  interrupt(): void {
    this.#interrupted = true;
    void this.#session?.interrupt();
  }

  /** As {@link Run.compact}. The agent takes it after the turn that is running, and its next turn after that. */
  compact(): void {
    if (this.#session !== null) void this.#compact(this.#session);
  }

  async #compact(session: AgentSession): Promise<void> {
    const end = await session.compact();
    if (end.kind !== "completed") this.#deps.log.warn({ end: end.kind }, "compaction failed");
  }

  /** The prompt of the turn that is about to start, with what a person has said since the last. */
  async addTo(prompt: string): Promise<string> {
    await Promise.all(this.#steering);
    this.#interrupted = false;
    this.#told = [...this.#answers, ...this.#messages.toSorted((a, b) => a.at - b.at)];
    return withPersonsWords(prompt, this.#told);
  }

  /** The agent works on the turn, so it has what the prompt said. A yes to a command is kept until the command comes. */
  turnStarted(): void {
    const told = new Set(this.#told.map(({ id }) => id));
    for (const item of this.#told) {
      if (item.kind === "message" || item.question === "question") this.#deps.took(item.id);
    }
    this.#told = [];
    this.#messages = this.#messages.filter(({ id }) => !told.has(id));
    this.#answers = this.#answers.filter(({ id }) => !told.has(id));
  }

  /** Whether a person has interrupted the turn that ended so: then the run goes on. */
  hasInterrupted(end: TurnEnd): boolean {
    return this.#interrupted && end.kind === "interrupted";
  }
}
