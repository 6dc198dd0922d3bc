/** What can be asked of the API without changing anything. */
import { z } from "zod";
import { ApiError } from "./envelope.ts";
import { get, type Asked, type Route } from "./route.ts";
import * as schemas from "./schemas.ts";
import type { Json } from "./view.ts";

/** Runs in one answer, unless fewer are asked for. */
const RUNS = 100;
const MAX_RUNS = 1000;

const runsQuery = z.strictObject({
  issue: z.string().optional().describe("an issue's identifier or id"),
  limit: z.coerce.number().int().min(1).max(MAX_RUNS).default(RUNS),
});

const usageQuery = z.strictObject({ by: z.enum(["issue", "day"]).default("issue") });

function issueAnswer({ view, param }: Asked): Json {
  const identifier = param("identifier");
  const issue = view.issue(identifier);
  if (issue !== null) return issue;
  throw new ApiError(
    404,
    "issue_not_found",
    `no issue ${identifier} is claimed by this daemon; /api/v1/issues lists those that it knows`,
  );
}

/** Fixed names come before the issue by its bare identifier: they win over tickets that happen to be called the same. */
export const readRoutes: readonly Route[] = [
  get({
    path: "/api/v1/state",
    summary: "What the daemon does right now: the snapshot",
    answer: schemas.stateSchema,
    handle: ({ view }) => view.snapshot(),
  }),
  get({
    path: "/api/v1/issues",
    summary: "Every ticket that is claimed or was listed by the last poll, in dispatch order",
    answer: schemas.issuesSchema,
    handle: ({ view }) => view.issues(),
  }),
  get({
    path: "/api/v1/issues/:identifier/explain",
    summary: "Why a ticket runs or doesn't: every gate, open or not, with what was looked at",
    answer: schemas.explanationSchema,
    handle({ view, param }) {
      const identifier = param("identifier");
      const explanation = view.explain(identifier);
      if (explanation !== null) return explanation;
      throw new ApiError(
        404,
        "issue_not_found",
        `${identifier} is neither claimed nor among the candidates of the last poll: it isn't in the tracker's scope, or not in an active state`,
      );
    },
  }),
  get({
    path: "/api/v1/issues/:identifier",
    summary: "One claimed ticket, whatever its identifier looks like",
    answer: schemas.issueSchema,
    handle: issueAnswer,
  }),
  get({
    path: "/api/v1/questions",
    summary: "Approvals and questions that wait for a person, the oldest first",
    answer: schemas.questionsSchema,
    handle: ({ view }) => view.questions(),
  }),
  get({
    path: "/api/v1/runs",
    summary: "Runs, newest first",
    query: runsQuery,
    answer: schemas.runsSchema,
    handle: ({ view }, { issue, limit }) => view.runs({ limit, ...(issue === undefined ? {} : { issue }) }),
  }),
  get({
    path: "/api/v1/usage",
    summary: "Turns, tokens, time and dollars, by issue or by UTC day",
    query: usageQuery,
    answer: schemas.usageSchema,
    handle: ({ view }, { by }) => view.usage(by),
  }),
  get({
    path: "/api/v1/health",
    summary: "Whether the daemon lives, and what is wrong with it; always 200",
    answer: schemas.healthSchema,
    handle: ({ view }) => view.health(),
  }),
  get({
    path: "/api/v1/ready",
    summary: "Whether tickets that come now are worked on; 503 where they aren't",
    answer: schemas.readySchema,
    handle({ view, context }) {
      const readiness = view.readiness();
      return readiness.ready ? readiness : context.json(readiness, 503);
    },
  }),
];

/** The issue by its bare identifier (section 13.7); registered last. */
export const bareIssueRoute: Route = get({
  path: "/api/v1/:identifier",
  summary: "One claimed ticket, where no fixed name is the same",
  answer: schemas.issueSchema,
  handle: issueAnswer,
});
