/** The route that a tracker posts its deliveries to: open to the outside, guarded by the signature over the raw body alone. */
import type { Context, Hono } from "hono";
import { bodyLimit } from "hono/body-limit";
import type { Clock } from "../lib/clock.ts";
import type { Log } from "../lib/log.ts";
import type { SessionEvent, Webhook } from "../tracker/port.ts";
import { apiError } from "./envelope.ts";

export interface WebhookRoute {
  readonly webhook: Webhook;
  readonly clock: Clock;
  /** Called for a genuine delivery that is worth a poll; must be quick. */
  wake(): void;
  /** Called, before {@link wake}, for one about a session of the tracker's; must be quick. */
  session(event: SessionEvent): void;
}

/** What Linear's own client takes; deliveries are a few KiB. */
const BODY_LIMIT_BYTES = 5 * 1024 * 1024;
/** Anybody may post here, so what is refused is logged once in a while with a count. */
const COMPLAIN_EVERY_MS = 60_000;

/** Warns of refused deliveries: a wrong secret shows in the log, and a flood doesn't fill it. */
class Complaints {
  readonly #route: WebhookRoute;
  readonly #log: Log;
  #saidAt = Number.NEGATIVE_INFINITY;
  #unsaid = 0;

  constructor(route: WebhookRoute, log: Log) {
    this.#route = route;
    this.#log = log;
  }

  add(why: string): void {
    const now = this.#route.clock.now();
    this.#unsaid += 1;
    if (now - this.#saidAt < COMPLAIN_EVERY_MS) return;
    this.#log.warn({ path: this.#route.webhook.path, reason: why, refused: this.#unsaid }, "webhook delivery refused");
    this.#saidAt = now;
    this.#unsaid = 0;
  }
}

/** Adds the route. It answers before any poll begins: senders wait seconds at most, and send again what wasn't answered. */
export function addWebhook(app: Hono, route: WebhookRoute, log: Log): void {
  const { webhook, wake } = route;
  const complaints = new Complaints(route, log);
  app.use(webhook.path, async (context: Context, next) => {
    context.header("cache-control", "no-store");
    if (context.req.method !== "POST") {
      context.header("allow", "POST");
      return apiError(context, 405, "method_not_allowed", `${context.req.method} is not allowed here; use POST`);
    }
    // Before the body is read: what isn't even signed costs nothing.
    if (context.req.header(webhook.signatureHeader) === undefined) {
      return refuse(context, complaints, "the signature is missing");
    }
    return next();
  });
  app.post(
    webhook.path,
    bodyLimit({
      maxSize: BODY_LIMIT_BYTES,
      onError: (context) => apiError(context, 413, "bad_request", "body too large"),
    }),
    async (context: Context) => {
      const body = Buffer.from(await context.req.arrayBuffer());
      const verdict = webhook.judge(body, context.req.header(webhook.signatureHeader));
      if (verdict.kind === "refuse") return refuse(context, complaints, verdict.why);
      if (verdict.kind === "ignore") {
        log.debug({ path: webhook.path, reason: verdict.why }, "webhook delivery ignored");
        return context.json({ accepted: true, wakes: false });
      }
      if (verdict.kind !== "wake") route.session(verdict);
      wake();
      return context.json({ accepted: true, wakes: true });
    },
  );
}

function refuse(context: Context, complaints: Complaints, why: string): Response {
  complaints.add(why);
  return apiError(context, 400, "bad_request", `the delivery is refused: ${why}`);
}
