/** What answers at an address of the API: its routes and guards. Loaded with the first request. */
import { getRequestListener } from "@hono/node-server";
import { Hono } from "hono";
import type { Log } from "../lib/log.ts";
import { addRoutes } from "./api.ts";
import type { Answer } from "./on-demand.ts";
import { guardTcp, type SecurityOptions } from "./security.ts";
import type { DaemonView } from "./view.ts";
import { addWebhook, type WebhookRoute } from "./webhook.ts";

/** For the Unix socket, whose folder is the guard. */
export function answerSocket(view: DaemonView, log: Log): Answer {
  return getRequestListener(addRoutes(new Hono(), view, log).fetch);
}

/** For TCP, where clients are told apart by the token. */
export function answerTcp(view: DaemonView, log: Log, guard: SecurityOptions, webhook: WebhookRoute | null): Answer {
  const open = new Hono();
  // Before the guard: a delivery comes from outside, has no token, and is known by its signature.
  if (webhook !== null) addWebhook(open, webhook, log);
  return getRequestListener(addRoutes(open.use(guardTcp(guard)), view, log).fetch);
}
