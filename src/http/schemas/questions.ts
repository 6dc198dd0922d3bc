/** Approvals and questions that wait for a person, as the API answers them. */
import { z } from "zod";
import { instant, text } from "./words.ts";

/** An approval or question in the row of its ticket. */
export const openQuestion = z.looseObject({
  id: text,
  kind: z.enum(["command", "file_change", "permissions", "elicitation", "question"]),
  summary: text.describe("one line; untrusted"),
  subject: text.nullable().describe("the command, path or server that the answer is about"),
  detail: text.describe("the agent's request as it came, bounded; untrusted"),
  askedAt: z.number().describe("epoch milliseconds"),
  deadlineAt: z.number().nullable(),
});

/** One of the list of all. */
export const waitingQuestion = z.strictObject({
  id: text,
  issue_id: text,
  issue_identifier: text,
  kind: openQuestion.shape.kind,
  summary: text,
  subject: text.nullable(),
  detail: text,
  asked_at: instant,
  deadline_at: instant.nullable(),
  status: z.enum(["running", "blocked"]).describe("whether the agent waits, or the ticket is blocked on it"),
  answered: z.boolean().describe("an answer is kept, and the agent has yet to take it"),
});

/** `GET /api/v1/questions`. */
export const questionsSchema = z.strictObject({ questions: z.array(waitingQuestion) });
