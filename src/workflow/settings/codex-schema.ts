/** Keys, kinds and defaults of the `codex` section. */
import { z } from "zod";

import { choice, count, flag, map, milliseconds, section, text } from "./fields.ts";

/** A variable's value, before it becomes text. */
const scalar = z.union([z.string(), z.number(), z.boolean()], {
  error: "is not a plain value; write text, or a reference such as $NAME",
});

export const codexSchema = section({
  command: text("write the shell command that starts the agent, such as codex app-server").default("codex app-server"),
  approval_policy: z.unknown().default(null),
  thread_sandbox: text("write one of read-only, workspace-write, danger-full-access").nullable().default(null),
  turn_sandbox_policy: z.unknown().default(null),
  turn_timeout_ms: milliseconds(3_600_000).default(3_600_000),
  read_timeout_ms: milliseconds(5000).default(5000),
  start_timeout_ms: milliseconds(60_000).default(60_000),
  /** 0 and less turn it off (section 5.3.6). */
  stall_timeout_ms: milliseconds(300_000, null).default(300_000),
  env: map(scalar, "write NAME: value lines").default({}),
  env_inherit: choice(["core", "all"]).default("core"),
  git_writes: flag().default(true),
  trust_project: flag().default(false),
  dynamic_tools: flag().default(true),
  approvals_reviewer: text("write the reviewer's name as the agent knows it").nullable().default(null),
  process: choice(["per_run", "shared"]).default("per_run"),
  images: section({
    max_count: count("pictures", 0, 5).default(5),
    max_bytes: count("bytes", 0, 5_000_000).default(5_000_000),
  }).prefault({}),
});
