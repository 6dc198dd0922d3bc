/** The JSON in claim, issue and pause rows, checked on read: a row that an upgrade or a hand has broken stops the start. */
import * as z from "zod";
import { BLOCK_REASONS, PAUSE_KINDS, type Claim, type Pause } from "../domain/claim.ts";
import { AppError } from "../domain/errors.ts";
import { issueId, runId, type IssueId, type RunId } from "../domain/ids.ts";
import type { InboxItem } from "../domain/inbox.ts";
import type { Issue, JsonValue } from "../domain/issue.ts";
import type { Question } from "../domain/outcome.ts";

/**
 * Makes the compiler compare both ways: a field, kind or word that the type gains is missed here. A new field also needs
 * `.default(...)`, so that rows of earlier versions stay readable.
 */
function exactly<T>(): <S extends z.ZodType<T>>(
  schema: S & ([T] extends [z.infer<S>] ? unknown : never),
) => z.ZodType<T> {
  return (schema) => schema;
}

type WithoutIssue<T> = T extends unknown ? Omit<T, "issue"> : never;

/** What a claim's row holds: the issue has a row of its own, which is rewritten only when a newer sight of it is claimed. */
export type StoredClaim = WithoutIssue<Claim>;

const epochMs = z.number();
const nullableText = z.string().nullable();
const count = z.number().int().nonnegative();
const issueIdSchema: z.ZodType<IssueId> = z.string().transform(issueId);
const runIdSchema: z.ZodType<RunId> = z.string().transform(runId);

const idle = z.object({ runs: count, state: z.string() });

const questionKind = z.enum(["command", "file_change", "permissions", "elicitation", "question"]);

const question = exactly<Question>()(
  z.object({
    id: z.string(),
    kind: questionKind,
    summary: z.string(),
    subject: nullableText,
    detail: z.string(),
    askedAt: epochMs,
    deadlineAt: epochMs.nullable(),
  }),
);

const inboxItem = exactly<InboxItem>()(
  z.discriminatedUnion("kind", [
    z.object({ kind: z.literal("message"), id: z.string(), text: z.string(), at: epochMs }),
    z.object({
      kind: z.literal("answer"),
      id: z.string(),
      question: questionKind,
      subject: nullableText,
      summary: z.string(),
      answer: z.object({ accept: z.boolean(), text: nullableText }),
      at: epochMs,
    }),
  ]),
);
/** Since rows had none: an empty one. */
const inbox = z.array(inboxItem).readonly().default([]);

const failureClass = z.enum([
  "agent",
  "hook",
  "workspace",
  "template",
  "launch",
  "usage_limit",
  "auth",
  "context_overflow",
  "config_refused",
  "budget",
  "ledger",
  "internal",
]);

const stopping = z.object({
  why: z.enum([
    "terminal",
    "unroutable",
    "stalled",
    "turn_timeout",
    "operator_stop",
    "operator_release",
    "operator_reset",
    "budget",
    "day_budget",
    "shutdown",
  ]),
  since: epochMs,
  interruptAt: epochMs.nullable(),
  detail: nullableText,
});

const running = z.object({
  kind: z.literal("running"),
  runId: runIdSchema,
  attempt: count.nullable(),
  phase: z.enum(["preparing", "launching", "turn", "between", "finishing", "stopping"]),
  host: z.string(),
  threadId: nullableText,
  startedAt: epochMs,
  lastEventAt: epochMs,
  open: count,
  turn: count,
  question: question.nullable(),
  stopping: stopping.nullable(),
  idle,
  inbox,
});

const waiting = z.object({
  kind: z.literal("waiting"),
  attempt: count.nullable(),
  dueAt: epochMs.nullable(),
  why: z.enum([
    "dispatch",
    "continuation",
    "failure",
    "stalled",
    "timed_out",
    "usage_limit",
    "auth",
    "day_budget",
    "shutdown",
    "recovered",
    "operator_retry",
    "unblocked",
    "answered",
  ]),
  error: nullableText,
  threadId: nullableText,
  check: z.number().nullable(),
  idle,
  inbox,
});

const blocked = z.object({
  kind: z.literal("blocked"),
  why: z.enum(BLOCK_REASONS),
  message: z.string(),
  class: failureClass.nullable(),
  since: epochMs,
  attempt: count.nullable(),
  question: question.nullable(),
  threadId: nullableText,
  inbox,
});

const cleaning = z.object({ kind: z.literal("cleaning"), path: z.string(), since: epochMs });

/** The `data` of a claims row. */
export const storedClaimSchema = exactly<StoredClaim>()(
  z.discriminatedUnion("kind", [running, waiting, blocked, cleaning]),
);

const json: z.ZodType<JsonValue> = z.json();

/** The `data` of an issues row. */
export const issueSchema = exactly<Issue>()(
  z.object({
    id: issueIdSchema,
    identifier: z.string(),
    title: z.string(),
    state: z.string(),
    description: nullableText,
    branch_name: nullableText,
    url: nullableText,
    assignee_id: nullableText,
    priority: z.number().nullable(),
    labels: z.array(z.string()).readonly(),
    blocked_by: z.array(z.object({ id: nullableText, identifier: nullableText, state: nullableText })).readonly(),
    dispatchable: z.boolean(),
    native_ref: z.record(z.string(), json).nullable(),
    created_at: nullableText,
    updated_at: nullableText,
  }),
);

/** The `data` of a pauses row. */
export const pauseSchema = exactly<Pause>()(
  z.object({
    kind: z.enum(PAUSE_KINDS),
    since: epochMs,
    until: epochMs.nullable(),
    message: z.string(),
    step: count,
    probe: issueIdSchema.nullable(),
  }),
);

/** Any JSON that is kept for others and handed back unread. */
export const jsonSchema = json;

/** Parses one row's `data`. Throws `ledger_unusable` that names the row and what is wrong with it. */
export function parseRow<T>(
  schema: z.ZodType<T>,
  row: { readonly table: string; readonly key: string; readonly data: string },
): T {
  const { table, key } = row;
  const fail = (problem: string, cause: unknown): AppError =>
    new AppError(
      "ledger_unusable",
      `the ledger's row ${key} of table ${table} can't be read: ${problem}; restore a backup, or delete that row`,
      { table, key },
      { cause },
    );
  let value: unknown;
  try {
    value = JSON.parse(row.data);
  } catch (error) {
    throw fail("it is not JSON", error);
  }
  const result = schema.safeParse(value);
  if (result.success) return result.data;
  const [issue] = result.error.issues;
  throw fail(`${issue?.path.join(".") ?? "it"}: ${issue?.message ?? "invalid"}`, result.error);
}
