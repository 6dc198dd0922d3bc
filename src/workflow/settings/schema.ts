/** Every key of the front matter with its kind and its default (section 5.3 and our own keys), in the file's own names. */
import { z } from "zod";

import { codexSchema } from "./codex-schema.ts";
import { amount, choice, count, flag, map, milliseconds, names, script, section, text, whole } from "./fields.ts";

const path = (example: string) => text(`write a path such as ${example}`);

const trackerSchema = section({
  /** Checked against the known kinds by tracker-section.ts. */
  kind: z.string({ error: (issue) => (issue.input === undefined ? "is missing" : "is not text") }),
  provider: map(z.unknown(), "write the adapter's keys indented on the lines below it").default({}),
  required_labels: names("labels").default([]),
  excluded_labels: names("labels").default([]),
  /** Null = the adapter's own. */
  active_states: names("state names").nullable().default(null),
  terminal_states: names("state names").nullable().default(null),
});

const agentSchema = section({
  backend: choice(["codex"]).default("codex"),
  max_concurrent_agents: count("agents", 1, 10).default(10),
  max_turns: count("turns", 1, 20).default(20),
  max_retry_backoff_ms: milliseconds(300_000).default(300_000),
  /** Its entries are checked one by one: a bad one is ignored with a warning (section 5.3.5). */
  max_concurrent_agents_by_state: map(z.unknown(), "write State: number lines").default({}),
  resume: flag().default(true),
  finish_grace_ms: milliseconds(10_000, 0).default(10_000),
  max_idle_runs: count("runs", 0, 3).default(3),
});

const verdict = choice(["accept", "decline", "ask"]);

const approvalsSchema = section({
  commands: verdict.default("decline"),
  file_changes: verdict.default("decline"),
  permissions: verdict.default("decline"),
  elicitations: verdict.default("decline"),
  questions: verdict.default("decline"),
  timeout_ms: milliseconds(3_600_000).default(3_600_000),
});

const tokens = count("tokens", 1, 2_000_000).nullable().default(null);
const dollars = amount("US dollars", 25).nullable().default(null);
const price = amount("US dollars per million tokens", 1.25);

/** The budget section alone, for reports. */
export const budgetSchema = section({
  tokens_per_run: tokens,
  tokens_per_issue: tokens,
  tokens_per_day: tokens,
  usd_per_issue: dollars,
  usd_per_day: dollars,
  /** Per model; a price for cached input that is left out is that of input. */
  prices: map(
    section({ input: price, cached_input: price.optional(), output: price }),
    "write a model's name and, below it, its input, cached_input and output prices",
  ).default({}),
});

const serverSchema = section({
  port: whole({ what: "a TCP port", min: 0, max: 65_535, example: 8080 }).nullable().default(null),
  host: text("write an address such as 127.0.0.1").nullable().default(null),
  token_file: path("./server-token").nullable().default(null),
  open_refresh: flag().default(false),
  metrics: flag().default(false),
  webhooks: section({
    linear: section({
      secret: text("write a reference such as $LINEAR_WEBHOOK_SECRET").nullable().default(null),
    }).prefault({}),
  }).prefault({}),
});

/** The whole front matter. Unknown keys pass here and are warned about by unknown-keys.ts. */
export const workflowSchema = section({
  tracker: trackerSchema,
  polling: section({ interval_ms: milliseconds(30_000).default(30_000) }).prefault({}),
  workspace: section({
    /** Null = `symphony_workspaces` in the system's temporary folder. */
    root: path("~/symphony-workspaces").nullable().default(null),
    on_terminal: choice(["remove", "keep"]).default("remove"),
  }).prefault({}),
  hooks: section({
    after_create: script().nullable().default(null),
    before_run: script().nullable().default(null),
    after_run: script().nullable().default(null),
    before_remove: script().nullable().default(null),
    timeout_ms: milliseconds(60_000).default(60_000),
  }).prefault({}),
  agent: agentSchema.prefault({}),
  codex: codexSchema.prefault({}),
  approvals: approvalsSchema.prefault({}),
  budget: budgetSchema.prefault({}),
  state: section({ dir: path("~/.local/state/symphony/here").nullable().default(null) }).prefault({}),
  server: serverSchema.prefault({}),
  shutdown: section({
    drain_ms: milliseconds(30_000, 0).default(30_000),
  }).prefault({}),
  notify: section({
    webhooks: z
      .array(z.string({ error: "is not text; write an address such as https://hooks.example.com/symphony" }), {
        error: "is not a list; write it such as [https://hooks.example.com/symphony]",
      })
      .default([]),
    secret: text("write a reference such as $NOTIFY_SECRET").nullable().default(null),
  }).prefault({}),
  log: section({
    file: path("./symphony.log").nullable().default(null),
    max_bytes: count("bytes", 1, 10_000_000).nullable().default(null),
    keep: count("files", 1, 5).nullable().default(null),
  }).prefault({}),
});

/** The front matter once it has passed, with every default in place. */
export type WorkflowValues = z.output<typeof workflowSchema>;
