/** What was run, what agents did and what it cost, as the API answers it from the ledger. Objects may gain fields. */
import { z } from "zod";
import { instant, text } from "./words.ts";

const usageSums = {
  runs: z.number(),
  turns: z.number(),
  input_tokens: z.number(),
  cached_input_tokens: z.number(),
  output_tokens: z.number(),
  reasoning_tokens: z.number(),
  total_tokens: z.number(),
  seconds_running: z.number(),
  usd: z.number().nullable().describe("null where a model has no price in budget.prices"),
};

/** `GET /api/v1/usage`, as `symphony usage --json`. */
export const usageSchema = z.strictObject({
  by: z.enum(["issue", "day"]),
  rows: z.array(z.strictObject({ key: text, ...usageSums })),
  total: z.strictObject(usageSums),
});

const runTokens = z.strictObject({
  input: z.number(),
  cached_input: z.number(),
  output: z.number(),
  reasoning: z.number(),
  total: z.number(),
  fresh: z.boolean().describe("false: the source gave no usable figure"),
});

/** One run, as `symphony runs --json`. */
const runSchema = z.looseObject({
  run_id: text,
  issue_id: text,
  issue_identifier: text,
  attempt: z.number().nullable(),
  outcome: z
    .enum(["succeeded", "failed", "timed_out", "stalled", "cancelled", "needs_input"])
    .nullable()
    .describe("null while it goes on"),
  class: text.nullable(),
  error: text.nullable(),
  thread_id: text.nullable(),
  turns: z.number(),
  started_at: instant,
  ended_at: instant.nullable(),
  tokens: runTokens,
});

const next = text.nullable().describe("as `before`, it leads to the next page; null on the last one");

/** `GET /api/v1/runs`. */
export const runsSchema = z.strictObject({
  runs: z.array(runSchema),
  total: z.number().describe("runs that pass the filters, on all pages"),
  next,
});

/** `GET /api/v1/runs/<id>`. */
export const runDetailSchema = runSchema.extend({
  changed: z.boolean().nullable().describe("whether the workspace's HEAD or diff changed; null: can't be told"),
  turn_list: z.array(
    z.looseObject({
      turn: z.number(),
      thread_id: text.nullable(),
      turn_id: text.nullable(),
      status: z.enum(["completed", "failed", "interrupted", "needs_input"]).nullable(),
      error: text.nullable(),
      started_at: instant.nullable(),
      ended_at: instant.nullable(),
      tokens: runTokens,
      final_message: text.nullable().describe("untrusted"),
    }),
  ),
  tool_calls: z.array(
    z.looseObject({
      call_id: text,
      turn: z.number(),
      name: text,
      started_at: instant,
      ended_at: instant.nullable(),
      ok: z.boolean().nullable(),
      duration_ms: z.number().nullable(),
      bytes: z.number().nullable(),
    }),
  ),
});

/** One event, in lists and in the stream. */
const eventSchema = z.looseObject({
  sequence: z.number().describe("rises, with gaps"),
  run_id: text,
  issue_id: text,
  at: instant,
  event: text,
  message: text.nullable().describe("untrusted"),
  item: z
    .looseObject({
      thread_id: text.nullable().describe("null for questions, which outlive their thread"),
      turn_id: text.nullable(),
      item_id: text,
      kind: z.enum(["message", "reasoning", "plan", "command", "file_change", "tool_call", "question", "answer"]),
      data: z.unknown().describe("by kind, see docs/ledger.md; untrusted"),
    })
    .nullable(),
});

/** `GET /api/v1/runs/<id>/events`. */
export const eventsSchema = z.strictObject({ events: z.array(eventSchema) });

/** `GET /api/v1/history`. */
export const historySchema = z.strictObject({
  issues: z.array(
    z.looseObject({
      issue_id: text,
      issue_identifier: text,
      title: text,
      state: text.describe("as last seen, which may be long ago"),
      seen_at: instant,
      runs: z.number(),
      last_run_id: text.nullable(),
      last_outcome: text.nullable(),
      last_started_at: instant.nullable(),
    }),
  ),
  next,
});

/** `GET /api/v1/days`. */
export const daysSchema = z.strictObject({
  days: z.array(
    z.looseObject({
      day: text,
      runs: z.number(),
      outcomes: z.record(text, z.number()),
      seconds: z.looseObject({ median: z.number(), p90: z.number(), max: z.number() }).nullable(),
    }),
  ),
});
