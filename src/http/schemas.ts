/** The shapes of the API's answers, for the OpenAPI document and for clients of ours that read them. Objects may gain fields. */
import { z } from "zod";

const instant = z.iso.datetime().describe("RFC 3339, UTC");
const text = z.string();
const problem = z.looseObject({ message: text, at: instant }).nullable();

/** An approval or question that waits for a person. */
const openQuestion = z.looseObject({
  id: text,
  kind: z.enum(["command", "file_change", "permissions", "elicitation", "question"]),
  summary: text.describe("one line; untrusted"),
  subject: text.nullable().describe("the command, path or server that the answer is about"),
  detail: text.describe("the agent's request as it came, bounded; untrusted"),
  askedAt: z.number().describe("epoch milliseconds"),
  deadlineAt: z.number().nullable(),
});

const tokens = z.looseObject({
  input_tokens: z.number(),
  cached_input_tokens: z.number(),
  output_tokens: z.number(),
  reasoning_tokens: z.number(),
  total_tokens: z.number().describe("input + output"),
});

const claimed = {
  issue_id: text,
  issue_identifier: text,
  issue_title: text,
  issue_url: text.nullable(),
  state: text.describe("the tracker's own name of it"),
};

const runningRow = z.looseObject({
  ...claimed,
  run_id: text,
  attempt: z.number().nullable().describe("null on a ticket's first run"),
  phase: z.enum(["preparing", "launching", "turn", "between", "finishing", "stopping"]),
  stopping: text.nullable(),
  session_id: text.nullable(),
  thread_id: text.nullable(),
  agent_pid: z.number().nullable(),
  turn_count: z.number(),
  last_event: text.nullable(),
  last_message: text.nullable().describe("untrusted"),
  started_at: instant,
  last_event_at: instant,
  question: openQuestion.nullable(),
  tokens,
});

const retryRow = z.looseObject({
  ...claimed,
  attempt: z.number().nullable(),
  due_at: instant.nullable().describe("null: due, and waiting for a slot"),
  why: text,
  error: text.nullable(),
});

const blockedRow = z.looseObject({
  ...claimed,
  why: z.enum(["operator", "no_progress", "needs_input", "budget", "not_retryable"]),
  message: text,
  since: instant,
  question: openQuestion.nullable(),
});

const agentPart = z.looseObject({ state: text, message: text.nullable() });

/** `GET /api/v1/state`, and each snapshot of the stream. */
export const stateSchema = z.looseObject({
  generated_at: instant,
  mode: z.enum(["running", "draining", "stopping"]),
  counts: z.looseObject({
    running: z.number(),
    retrying: z.number(),
    blocked: z.number(),
    cleaning: z.number(),
  }),
  running: z.array(runningRow),
  retrying: z.array(retryRow),
  blocked: z.array(blockedRow),
  paused: z.array(z.looseObject({ kind: text, since: instant, until: instant.nullable(), message: text })),
  agent: z.looseObject({
    version: text.nullable(),
    login: agentPart,
    sandbox: agentPart,
    checked_at: instant.nullable(),
  }),
  tracker: z.looseObject({
    kind: text,
    last_ok_at: instant.nullable(),
    last_error: problem,
    failures: z.number(),
    candidates_seen: z.number(),
    candidates_eligible: z.number(),
    next_poll_at: instant,
    usage: z.looseObject({}).nullable(),
  }),
  workflow: z.looseObject({ path: text, revision: text, loaded_at: instant, last_error: problem }),
  ledger: z.looseObject({ last_error: problem }),
  limits: z
    .looseObject({ max_concurrent_agents: z.number(), max_turns: z.number() })
    .describe("of the settings in force"),
  budget: z
    .looseObject({
      day: text,
      tokens: z.number(),
      tokens_per_day: z.number().nullable(),
      usd: z.number().nullable(),
      usd_per_day: z.number().nullable(),
    })
    .describe("of the UTC day; usd is null where a price is missing"),
  codex_totals: tokens.extend({ seconds_running: z.number() }),
  rate_limits: z.looseObject({}).nullable().describe("as the agent last sent them"),
});

/** `GET /api/v1/<identifier>` and `GET /api/v1/issues/<identifier>`. */
export const issueSchema = z.looseObject({
  issue_identifier: text,
  issue_id: text,
  status: z.enum(["running", "retrying", "blocked", "cleaning"]),
  workspace: z.looseObject({ path: text.nullable() }),
  attempts: z.looseObject({ restart_count: z.number(), current_retry_attempt: z.number().nullable() }),
  running: runningRow.nullable(),
  retry: retryRow.nullable(),
  blocked: blockedRow.nullable(),
  logs: z.looseObject({
    codex_session_logs: z.array(z.looseObject({ label: text, path: text, url: text.nullable() })),
  }),
  recent_events: z.array(z.looseObject({ at: instant, event: text, message: text.nullable() })),
  last_error: text.nullable(),
  tracked: z.looseObject({}),
});

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

/** `GET /api/v1/questions`. */
export const questionsSchema = z.strictObject({
  questions: z.array(
    z.strictObject({
      id: text,
      issue_id: text,
      issue_identifier: text,
      kind: openQuestion.shape.kind,
      summary: text,
      subject: text.nullable(),
      detail: text,
      asked_at: instant,
      deadline_at: instant.nullable(),
      status: z.enum(["running", "blocked"]).describe("whether the agent waits, or the ticket is blocked on it"),
      answered: z.boolean().describe("an answer is kept, and the agent has yet to take it"),
    }),
  ),
});

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
export const runsSchema = z.strictObject({ runs: z.array(runSchema), next });

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
});

/** What every other POST answers. */
export const acceptedSchema = z.strictObject({
  accepted: z.literal(true),
  message: text.describe("what happens now"),
});
