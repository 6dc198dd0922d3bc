/** The snapshot and one claimed ticket, as the API answers them. Objects may gain fields. */
import { z } from "zod";
import { BLOCK_REASONS, PAUSE_KINDS } from "../../domain/claim.ts";
import { openQuestion, waitingQuestion } from "./questions.ts";
import { instant, text } from "./words.ts";

const problem = z.looseObject({ message: text, at: instant }).nullable();

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
  why: z.enum(BLOCK_REASONS),
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
  questions: z.array(waitingQuestion).describe("all that wait for a person, the oldest first"),
  paused: z.array(
    z.looseObject({ kind: z.enum(PAUSE_KINDS), since: instant, until: instant.nullable(), message: text }),
  ),
  agent: z.looseObject({
    version: text.nullable(),
    login: agentPart,
    sandbox: agentPart,
    checked_at: instant.nullable(),
    awaited: z.boolean().describe("nothing starts before its login was looked at for the first time"),
  }),
  tracker: z.looseObject({
    kind: text,
    last_ok_at: instant.nullable(),
    last_error: problem,
    failures: z.number(),
    candidates_seen: z.number(),
    candidates_eligible: z.number(),
    malformed: z.number().describe("tickets that the last listing left out"),
    malformed_tickets: z
      .array(z.looseObject({ issue_identifier: text, where: text, reason: text }))
      .describe("the first of them; untrusted"),
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
