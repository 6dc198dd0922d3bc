/** The daemon's own health, and what a command is answered with. */
import { z } from "zod";
import { instant, text } from "./words.ts";

/** `GET /api/v1/health`. */
export const healthSchema = z.strictObject({
  status: z.enum(["ok", "degraded"]),
  mode: z.enum(["running", "draining", "stopping"]),
  problems: z.array(z.strictObject({ part: text, message: text })),
});

/** `GET /api/v1/ready`; with status 503 where it isn't. */
export const readySchema = z.strictObject({
  ready: z.boolean(),
  problems: z.array(z.strictObject({ part: text, message: text })),
});

/** `POST /api/v1/refresh` (section 13.7). */
export const refreshedSchema = z.strictObject({
  queued: z.boolean(),
  coalesced: z.boolean().describe("a poll was on its way or due already"),
  requested_at: instant,
  operations: z.array(text),
  message: text.describe("what happens now"),
});

/** What every other POST answers. */
export const acceptedSchema = z.strictObject({
  accepted: z.literal(true),
  message: text.describe("what happens now"),
});
