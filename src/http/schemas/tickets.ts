/** The tickets that the daemon knows, and why one runs or doesn't, as the API answers it. */
import { z } from "zod";
import { instant, text } from "./words.ts";

/** `GET /api/v1/issues`. */
export const issuesSchema = z.strictObject({
  issues: z.array(
    z.looseObject({
      issue_id: text,
      issue_identifier: text,
      title: text.describe("untrusted"),
      url: text.nullable(),
      state: text,
      priority: z.number().nullable(),
      labels: z.array(text),
      status: z
        .enum(["running", "retrying", "blocked", "cleaning", "ready", "held"])
        .describe("ready: would start with the next free slot; held: a gate of its own is closed, see explain"),
      gate: text.nullable().describe("the first of its own gates that is closed"),
    }),
  ),
  polled_at: instant.nullable().describe("when the tracker last answered"),
});

/** `GET /api/v1/issues/<identifier>/explain`. */
export const explanationSchema = z.strictObject({
  issue_id: text,
  issue_identifier: text,
  title: text,
  state: text,
  verdict: z.enum(["running", "waiting", "blocked", "cleaning", "ready", "held"]),
  gates: z.array(
    z.strictObject({
      gate: text,
      pass: z.boolean(),
      value: text.describe("what was looked at; may hold text of the ticket"),
      mend: text.nullable().describe("what would open it; null where it is open"),
    }),
  ),
});
