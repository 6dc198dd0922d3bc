/** Whether a webhook delivery is Linear's own, fresh and new, and whether it is worth a poll. It never carries state: it only wakes. */
import { createHash } from "node:crypto";

import { LinearWebhookClient } from "@linear/sdk/webhooks";
import { z } from "zod";

import { errorMessage } from "../../domain/errors.ts";
import { issueId } from "../../domain/ids.ts";
import type { Clock } from "../../lib/clock.ts";
import type { Webhook, WebhookVerdict } from "../port.ts";

/** Linear's signed time may differ from ours by a minute; a digest is kept for longer than that. */
const REMEMBER_MS = 180_000;
/** Changes of these show in a poll. */
const WAKING_TYPES: ReadonlySet<string> = new Set(["Issue", "IssueLabel", "Project", "AgentSessionEvent"]);

const payload = z.object({ type: z.string().catch("") });

/** An event of an agent session: Linear has opened one (`created`), or a person has spoken in it (`prompted`). */
const sessionEvent = z.object({
  type: z.literal("AgentSessionEvent"),
  action: z.enum(["created", "prompted"]),
  agentSession: z.object({ id: z.string().min(1), issueId: z.string().min(1) }),
  agentActivity: z
    .object({
      signal: z.string().nullable().catch(null),
      content: z.object({ body: z.string().catch("") }).catch({ body: "" }),
    })
    .nullish()
    .catch(null),
});

/** Where Linear puts the hex HMAC-SHA256 of the raw body. */
const SIGNATURE_HEADER = "linear-signature";

export class WebhookVerifier implements Webhook {
  readonly path = "/webhooks/linear";
  readonly signatureHeader = SIGNATURE_HEADER;
  readonly #client: LinearWebhookClient;
  readonly #clock: Clock;
  /** Digests of accepted bodies and when they were accepted, oldest first. */
  readonly #seen = new Map<string, number>();

  /** `secret` is the webhook's signing secret. */
  constructor(secret: string, clock: Clock) {
    this.#client = new LinearWebhookClient(secret);
    this.#clock = clock;
  }

  /**
   * `body` are the raw bytes, before any parsing; `signature` is the header `linear-signature`. Freshness comes from the signed body:
   * the headers for time and delivery id aren't signed, so a replay could change them.
   */
  judge(body: Buffer, signature: string | undefined): WebhookVerdict {
    if (signature === undefined || signature === "") return { kind: "refuse", why: "the signature is missing" };
    try {
      this.#client.verify(body, signature);
    } catch (error) {
      return { kind: "refuse", why: errorMessage(error) };
    }
    if (this.#isRepeated(body)) return { kind: "ignore", why: "the same body has been accepted before" };
    const content: unknown = JSON.parse(body.toString("utf8"));
    const inSession = readSessionEvent(content);
    if (inSession !== null) return inSession;
    const parsed = payload.safeParse(content);
    const type = parsed.success ? parsed.data.type : "";
    return WAKING_TYPES.has(type)
      ? { kind: "wake" }
      : { kind: "ignore", why: `events of type "${type}" change no poll` };
  }

  #isRepeated(body: Buffer): boolean {
    const now = this.#clock.now();
    for (const [digest, at] of this.#seen) {
      if (now - at < REMEMBER_MS) break;
      this.#seen.delete(digest);
    }
    const digest = createHash("sha256").update(body).digest("base64");
    if (this.#seen.has(digest)) return true;
    this.#seen.set(digest, now);
    return false;
  }
}

/** Null for anything else, and for sessions that are about no issue. */
function readSessionEvent(content: unknown): WebhookVerdict | null {
  const parsed = sessionEvent.safeParse(content);
  if (!parsed.success) return null;
  const { action, agentSession, agentActivity } = parsed.data;
  const about = { sessionId: agentSession.id, issueId: issueId(agentSession.issueId) };
  if (action === "created") return { kind: "session", ...about };
  const isStop = agentActivity?.signal === "stop";
  return { kind: "prompt", ...about, isStop, text: agentActivity?.content.body ?? "" };
}
