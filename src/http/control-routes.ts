/** What a person or script can do by the API. Each command is decided and committed before it is answered. */
import { z } from "zod";
import type { OperatorCommand, OperatorResult, RefusalCode } from "../scheduler/events.ts";
import { ApiError } from "./envelope.ts";
import { post, type Asked, type Route } from "./route.ts";
import { acceptedSchema, refreshedSchema } from "./schemas/daemon.ts";

type Accepted = Extract<OperatorResult, { accepted: true }>;
type IssueVerb = "stop" | "retry" | "release" | "reset" | "interrupt" | "compact";

/** 404: there is no such thing. 409: not as things stand. 503: not now. */
const STATUS: { readonly [code in RefusalCode]: 400 | 404 | 409 | 503 } = {
  issue_not_claimed: 404,
  question_gone: 404,
  already_answered: 409,
  not_running: 409,
  is_running: 409,
  is_blocked: 409,
  is_cleaning: 409,
  is_stopping: 409,
  bad_text: 400,
  daemon_starting: 503,
  daemon_stopping: 503,
  ledger_unavailable: 503,
};

function unless(result: OperatorResult): Accepted {
  if (result.accepted) return result;
  throw new ApiError(STATUS[result.code], result.code, result.message);
}

function issueIdOf({ view, param }: Asked) {
  const identifier = param("identifier");
  const id = view.issueId(identifier);
  if (id !== null) return id;
  throw new ApiError(
    404,
    "issue_not_found",
    `no ticket ${identifier} is claimed, listed by the last poll, or known from earlier runs; see its spelling, or refresh`,
  );
}

/** A command that concerns the whole daemon. */
function daemonRoute(kind: "pause" | "resume" | "drain", summary: string): Route {
  return post({
    path: `/api/v1/${kind}`,
    summary,
    answer: acceptedSchema,
    handle: ({ view }) => unless(view.operate({ kind })),
  });
}

/** A command that concerns one ticket and needs no more words. */
function issueRoute(kind: IssueVerb, summary: string): Route {
  return post({
    path: `/api/v1/issues/:identifier/${kind}`,
    summary,
    answer: acceptedSchema,
    handle: (asked) => unless(asked.view.operate({ kind, issueId: issueIdOf(asked) })),
  });
}

const steerBody = z.strictObject({ text: z.string().describe("what the agent should know or do") });

const answerBody = z
  .strictObject({
    accept: z.boolean().default(true).describe("yes or no; with a text, yes"),
    text: z
      .string()
      .nullable()
      .default(null)
      .describe("for a question; for an elicitation that wants fields, a JSON object"),
  })
  .describe("an empty object is a plain yes");

function answerCommand(questionId: string, answer: z.output<typeof answerBody>): OperatorCommand {
  return { kind: "answer", questionId, answer };
}

/** Every route that changes something. */
export const controlRoutes: readonly Route[] = [
  daemonRoute("pause", "Start nothing new until resume, also over a restart; runs go on"),
  daemonRoute("resume", "End a pause or a drain, and try at once whether limits are over"),
  daemonRoute("drain", "Start nothing new until resume or a restart; runs go on to their own ends"),
  post({
    path: "/api/v1/refresh",
    summary: "Read the tracker now",
    answer: refreshedSchema,
    handle({ view }) {
      const answer = view.refresh();
      return "accepted" in answer ? unless(answer) : answer;
    },
  }),
  issueRoute("stop", "End the run; the ticket is blocked until retry, release, or a change of it"),
  issueRoute("retry", "Make it due now, its attempt kept"),
  issueRoute("release", "Forget the claim; eligible again at the next poll"),
  issueRoute("reset", "Release, and start over on a fresh thread"),
  issueRoute("interrupt", "End the turn that is running; the run goes on with the next one"),
  issueRoute("compact", "Have the agent compact its thread when its turn has ended"),
  post({
    path: "/api/v1/issues/:identifier/steer",
    summary: "Say something to the agent: into the running turn, else into the next one",
    body: steerBody,
    answer: acceptedSchema,
    handle: (asked, { text }) => unless(asked.view.operate({ kind: "steer", issueId: issueIdOf(asked), text })),
  }),
  post({
    path: "/api/v1/questions/:id/answer",
    summary: "Answer an approval or a question",
    body: answerBody,
    answer: acceptedSchema,
    handle: ({ view, param }, answer) => unless(view.operate(answerCommand(param("id"), answer))),
  }),
];
