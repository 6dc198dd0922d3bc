/** What a person says to the agent of a ticket: kept with the claim, over runs and restarts, until the agent has it. */
import type { Question } from "./outcome.ts";

/** What a person, or a grant that a person gave, says to a {@link Question}. */
export interface QuestionAnswer {
  readonly accept: boolean;
  /** Free text for a `question`, or a JSON object for an `elicitation` that wants fields. Null where yes or no is all. */
  readonly text: string | null;
}

/** A message: goes into the running turn, else into the next one. */
export interface OperatorMessage {
  readonly kind: "message";
  readonly id: string;
  readonly text: string;
  readonly at: number;
}

/** An answer: goes to the open request; when that is gone it settles, once, the next request of this kind about this subject. */
export interface OperatorAnswer {
  readonly kind: "answer";
  /** The question's id. */
  readonly id: string;
  readonly question: Question["kind"];
  readonly subject: string | null;
  /** The question in one line; untrusted text. */
  readonly summary: string;
  readonly answer: QuestionAnswer;
  readonly at: number;
}

export type InboxItem = OperatorMessage | OperatorAnswer;
