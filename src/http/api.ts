/** The routes of the API, for the Unix socket and for TCP alike (section 13.7). */
import type { Context, Hono } from "hono";
import { bodyLimit } from "hono/body-limit";
import type { Log } from "../lib/log.ts";
import { apiError } from "./envelope.ts";
import { renderPage } from "./page.ts";
import type { DaemonView } from "./view.ts";

/** No route takes more than a few words. */
const BODY_LIMIT_BYTES = 64 * 1024;

/** Which methods a path has; every other one is refused with 405. */
const METHODS: readonly { readonly path: string; readonly allow: string }[] = [
  { path: "/", allow: "GET" },
  { path: "/api/v1/state", allow: "GET" },
  { path: "/api/v1/refresh", allow: "POST" },
  { path: "/api/v1/issues/:identifier", allow: "GET" },
  { path: "/api/v1/:identifier", allow: "GET" },
];

const PAGE_HEADERS = {
  "content-security-policy":
    "default-src 'none'; style-src 'unsafe-inline'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'",
  "x-content-type-options": "nosniff",
  "referrer-policy": "no-referrer",
} as const;

function issueAnswer(context: Context, view: DaemonView): Response {
  const identifier = context.req.param("identifier") ?? "";
  const issue = view.issue(identifier);
  if (issue === null) {
    return apiError(context, 404, "issue_not_found", `no issue ${identifier} is claimed by this daemon`);
  }
  return context.json(issue);
}

/** Adds the routes to an app that may have guards already. */
export function addRoutes(app: Hono, view: DaemonView, log: Log): Hono {
  app.use(
    bodyLimit({
      maxSize: BODY_LIMIT_BYTES,
      onError: (context) => apiError(context, 413, "bad_request", "body too large"),
    }),
  );
  app.use(async (context, next) => {
    await next();
    context.header("cache-control", "no-store");
  });
  app.get("/", (context) => context.html(renderPage(view.snapshot()), 200, PAGE_HEADERS));
  app.get("/api/v1/state", (context) => context.json(view.snapshot()));
  app.post("/api/v1/refresh", (context) => context.json(view.refresh(), 202));
  // Before the issue by its bare identifier: fixed names win over tickets that happen to be called the same.
  app.get("/api/v1/issues/:identifier", (context) => issueAnswer(context, view));
  app.all("/api/v1/refresh", (context) => notAllowed(context, "POST"));
  app.get("/api/v1/:identifier", (context) => issueAnswer(context, view));
  for (const { path, allow } of METHODS) app.all(path, (context) => notAllowed(context, allow));
  app.notFound((context) => apiError(context, 404, "not_found", `there is nothing at ${context.req.path}`));
  app.onError((error, context) => {
    log.error({ err: error, path: context.req.path }, "API request failed");
    return apiError(context, 503, "unavailable", "the daemon could not answer; its log says why");
  });
  return app;
}

function notAllowed(context: Context, allow: string): Response {
  context.header("allow", allow);
  return apiError(context, 405, "method_not_allowed", `${context.req.method} is not allowed here; use ${allow}`);
}
