/** The routes of the API, for the Unix socket and for TCP alike (section 13.7). */
import type { Context, Hono } from "hono";
import { bodyLimit } from "hono/body-limit";
import { z } from "zod";
import type { Log } from "../lib/log.ts";
import { controlRoutes } from "./control-routes.ts";
import { ApiError, apiError } from "./envelope.ts";
import { openApiDocument } from "./openapi.ts";
import { addPage } from "./page.ts";
import { bareIssueRoute, readRoutes } from "./read-routes.ts";
import { get, type Route } from "./route.ts";
import { streamRoute } from "./stream-route.ts";
import type { DaemonView } from "./view.ts";

/** Room for a long message to an agent. */
const BODY_LIMIT_BYTES = 256 * 1024;

const openApiRoute: Route = get({
  path: "/api/v1/openapi.json",
  summary: "This document",
  answer: z.looseObject({ openapi: z.string() }),
  handle: () => (document ??= openApiDocument(ROUTES)),
});

/** In the order in which they are asked: the bare identifier takes what is left. */
const ROUTES: readonly Route[] = [...readRoutes, ...controlRoutes, streamRoute, openApiRoute, bareIssueRoute];
/** Made when it is first asked for, which most daemons never see. */
let document: ReturnType<typeof openApiDocument> | null = null;

/** Adds the routes to an app that may have guards already. */
export function addRoutes(app: Hono, view: DaemonView, log: Log): Hono {
  // Before what follows: its files say themselves how long they keep.
  addPage(app);
  app.use(
    bodyLimit({
      maxSize: BODY_LIMIT_BYTES,
      onError: (context) => apiError(context, 413, "too_large", `a body has at most ${BODY_LIMIT_BYTES} bytes`),
    }),
  );
  app.use(async (context, next) => {
    await next();
    context.header("cache-control", "no-store");
    context.header("x-content-type-options", "nosniff");
  });
  app.all("/", (context) => notAllowed(context, ["GET"]));
  for (const [path, group] of Map.groupBy(ROUTES, (route) => route.path)) {
    for (const route of group) {
      app.on(route.method.toUpperCase(), path, (context) =>
        route.handle({ context, view, param: (name) => context.req.param(name) ?? "" }),
      );
    }
    app.all(path, (context) =>
      notAllowed(
        context,
        group.map(({ method }) => method.toUpperCase()),
      ),
    );
  }
  app.notFound((context) => apiError(context, 404, "not_found", `there is nothing at ${context.req.path}`));
  app.onError((error, context) => {
    if (error instanceof ApiError) return apiError(context, error.status, error.code, error.message);
    log.error({ err: error, path: context.req.path }, "API request failed");
    return apiError(context, 503, "unavailable", "the daemon could not answer; its log says why");
  });
  return app;
}

function notAllowed(context: Context, methods: readonly string[]): Response {
  const allow = methods.join(", ");
  context.header("allow", allow);
  return apiError(context, 405, "method_not_allowed", `${context.req.method} is not allowed here; use ${allow}`);
}
