/** `GET /api/v1/stream`: server-sent events. */
import { z } from "zod";
import { ApiError } from "./envelope.ts";
import { parseInput } from "./input.ts";
import { type Route } from "./route.ts";

const streamQuery = z.strictObject({
  after: z.coerce
    .number()
    .int()
    .min(0)
    .optional()
    .describe("begin after this event; the header Last-Event-ID, which browsers send by themselves, wins"),
});

const lastEventId = z.coerce.number().int().min(0);

/** A number that we gave out, or nothing: a client may send what another server gave it. */
function readLastEventId(header: string | undefined): number | null {
  const id = lastEventId.safeParse(header);
  return header !== undefined && header !== "" && id.success ? id.data : null;
}

export const streamRoute: Route = {
  method: "get",
  path: "/api/v1/stream",
  summary:
    "Server-sent events: `snapshot` (as /api/v1/state), `run_event` (as in /api/v1/runs/{id}/events, its id is the sequence) and `gap` (more was missed than is told again)",
  query: streamQuery,
  body: null,
  status: 200,
  answer: z.string(),
  mediaType: "text/event-stream",
  async handle({ context, view }) {
    const { after } = parseInput(streamQuery, context.req.query(), "query");
    const stream = view.openStream(readLastEventId(context.req.header("last-event-id")) ?? after ?? null);
    if (stream === null) {
      throw new ApiError(503, "too_many_streams", "too many readers of the stream; close one, or ask /api/v1/state");
    }
    return context.body(stream, 200, { "content-type": "text/event-stream; charset=utf-8", "x-accel-buffering": "no" });
  },
};
