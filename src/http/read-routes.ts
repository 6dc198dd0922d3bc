/** What can be asked of the API without changing anything. */
import { z } from "zod";
import { RUN_OUTCOMES } from "../ledger/run-list.ts";
import { ApiError } from "./envelope.ts";
import { get, type Asked, type Route } from "./route.ts";
import { healthSchema, readySchema } from "./schemas/daemon.ts";
import {
  daysSchema,
  eventsSchema,
  historySchema,
  runDetailSchema,
  runsSchema,
  usageSchema,
} from "./schemas/history.ts";
import { issueSchema, stateSchema } from "./schemas/state.ts";
import { questionsSchema } from "./schemas/questions.ts";
import { explanationSchema, issuesSchema } from "./schemas/tickets.ts";
import type { Json } from "./view.ts";

const pageLimit = z.coerce.number().int().min(1).max(1000).default(100).describe("rows at most");

const runsQuery = z.strictObject({
  issue: z.string().optional().describe("an issue's identifier or id"),
  outcome: z.enum(RUN_OUTCOMES).optional(),
  before: z.string().optional().describe("a run's id: only those that began before it; see next"),
  limit: pageLimit,
});

const eventsQuery = z.strictObject({
  after: z.coerce.number().int().min(0).optional().describe("the first ones after this sequence number"),
  before: z.coerce.number().int().min(0).optional().describe("the last ones before it; without either: the newest"),
  limit: pageLimit,
});

const historyQuery = z.strictObject({
  before: z.string().optional().describe("an issue's id: only those last seen before it; see next"),
  limit: pageLimit,
});

/** A quarter, and some. */
const MAX_DAYS = 100;

const daysQuery = z.strictObject({ days: z.coerce.number().int().min(1).max(MAX_DAYS).default(30) });

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

/** The id that leads to the next page; null where there is none. */
function nextOf<T>(rows: readonly T[], limit: number, id: (row: T) => string): string | null {
  const last = rows.at(-1);
  return last === undefined || rows.length < limit ? null : id(last);
}

/** Without the keys that were not asked for. */
function given<T extends object>(query: T): { [key in keyof T]: Exclude<T[key], undefined> } {
  const entries = Object.entries(query).filter(([, value]) => value !== undefined);
  return Object.fromEntries(entries) as { [key in keyof T]: Exclude<T[key], undefined> };
}

function found<T>(run: T | null, id: string): T {
  if (run !== null) return run;
  throw new ApiError(404, "run_not_found", `there is no run ${id}; /api/v1/runs lists them`);
}

/** For a Prometheus server. Its format is no JSON, so the route is written out. */
const metricsRoute: Route = {
  method: "get",
  path: "/api/v1/metrics",
  summary: "Figures in Prometheus' text format; 404 where `server.metrics` is off",
  query: null,
  body: null,
  status: 200,
  answer: z.string(),
  mediaType: "text/plain",
  async handle({ context, view }) {
    const text = await view.metrics();
    if (text === null) {
      throw new ApiError(404, "not_found", "metrics are off; set server.metrics: true in the workflow file");
    }
    return context.body(text, 200, { "content-type": "text/plain; version=0.0.4; charset=utf-8" });
  },
};

/** Fixed names come before the issue by its bare identifier: they win over tickets that happen to be called the same. */
export const readRoutes: readonly Route[] = [
  get({
    path: "/api/v1/state",
    summary: "What the daemon does right now: the snapshot",
    answer: stateSchema,
    handle: ({ view }) => view.snapshot(),
  }),
  get({
    path: "/api/v1/issues",
    summary: "Every ticket that is claimed or was listed by the last poll, in dispatch order",
    answer: issuesSchema,
    handle: ({ view }) => view.issues(),
  }),
  get({
    path: "/api/v1/issues/:identifier/explain",
    summary: "Why a ticket runs or doesn't: every gate, open or not, with what was looked at",
    answer: explanationSchema,
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
    answer: issueSchema,
    handle: issueAnswer,
  }),
  get({
    path: "/api/v1/questions",
    summary: "Approvals and questions that wait for a person, the oldest first",
    answer: questionsSchema,
    handle: ({ view }) => view.questions(),
  }),
  get({
    path: "/api/v1/runs",
    summary: "Runs, newest first",
    query: runsQuery,
    answer: runsSchema,
    handle({ view }, query) {
      const { issue, outcome } = query;
      const runs = view.ledger.runs(given(query));
      return {
        runs,
        total: view.ledger.runCount(given({ issue, outcome })),
        next: nextOf(runs, query.limit, (run) => run.run_id),
      };
    },
  }),
  get({
    path: "/api/v1/runs/:id",
    summary: "One run with its turns and tool calls",
    answer: runDetailSchema,
    handle: ({ view, param }) => found(view.ledger.run(param("id")), param("id")),
  }),
  get({
    path: "/api/v1/runs/:id/events",
    summary: "What the agent did in a run, oldest first",
    query: eventsQuery,
    answer: eventsSchema,
    handle({ view, param }, query) {
      const run = found(view.ledger.run(param("id")), param("id"));
      return { events: view.ledger.events({ run: run.run_id, ...given(query) }) };
    },
  }),
  get({
    path: "/api/v1/history",
    summary: "Tickets that were ever claimed, those seen last first",
    query: historyQuery,
    answer: historySchema,
    handle({ view }, query) {
      const issues = view.ledger.issues(given(query));
      return { issues, next: nextOf(issues, query.limit, (issue) => issue.issue_id) };
    },
  }),
  get({
    path: "/api/v1/days",
    summary: "Outcomes and durations of runs by UTC day, oldest first",
    query: daysQuery,
    answer: daysSchema,
    handle: ({ view }, { days }) => ({ days: view.ledger.days(days) }),
  }),
  get({
    path: "/api/v1/usage",
    summary: "Turns, tokens, time and dollars, by issue or by UTC day",
    query: usageQuery,
    answer: usageSchema,
    handle: ({ view }, { by }) => view.usage(by),
  }),
  get({
    path: "/api/v1/health",
    summary: "Whether the daemon lives, and what is wrong with it; always 200",
    answer: healthSchema,
    handle: ({ view }) => view.health(),
  }),
  get({
    path: "/api/v1/ready",
    summary: "Whether tickets that come now are worked on; 503 where they aren't",
    answer: readySchema,
    handle({ view, context }) {
      const readiness = view.readiness();
      return readiness.ready ? readiness : context.json(readiness, 503);
    },
  }),
  metricsRoute,
];

/** The issue by its bare identifier (section 13.7); registered last. */
export const bareIssueRoute: Route = get({
  path: "/api/v1/:identifier",
  summary: "One claimed ticket, where no fixed name is the same",
  answer: issueSchema,
  handle: issueAnswer,
});
