/** The script file that says what a simulated agent does, ticket by ticket, run by run, turn by turn. Described in docs/simulated-agent.md. */
import { z } from "zod";
import { AppError } from "../../domain/errors.ts";

const count = z.int().nonnegative();

const tokens = z.strictObject({
  input: count,
  cached_input: count.default(0),
  output: count,
  reasoning: count.default(0),
});

/** What a step's model response costs; null = no report, absent = invented figures. */
const cost = { tokens: tokens.nullable().optional() };

const call = z.strictObject({ tool: z.string().min(1), arguments: z.json() });

const step = z.discriminatedUnion("do", [
  z.strictObject({
    do: z.literal("say"),
    text: z.string(),
    chunks: z.int().positive().optional(),
    every_ms: count.optional(),
    phase: z.enum(["commentary", "final_answer"]).optional(),
    ...cost,
  }),
  z.strictObject({ do: z.literal("think"), text: z.string() }),
  z.strictObject({
    do: z.literal("shell"),
    command: z.string().min(1),
    background: z.boolean().default(false),
    may_fail: z.boolean().default(false),
    ...cost,
  }),
  z.strictObject({
    do: z.literal("write_file"),
    path: z.string().min(1),
    content: z.string(),
    append: z.boolean().default(false),
    ...cost,
  }),
  z.strictObject({ do: z.literal("tool"), ...call.shape, may_fail: z.boolean().default(false), ...cost }),
  z.strictObject({
    do: z.literal("parallel"),
    calls: z.array(call).min(1),
    may_fail: z.boolean().default(false),
    ...cost,
  }),
  z.strictObject({ do: z.literal("tokens"), ...tokens.shape }),
  z.strictObject({
    do: z.literal("rate_limits"),
    used_percent: count,
    window_minutes: count.default(300),
    resets_in_ms: count.nullable().default(null),
  }),
  z.strictObject({ do: z.literal("wait"), ms: count }),
  z.strictObject({ do: z.literal("hang") }),
  z.strictObject({ do: z.literal("burst"), events: z.int().positive(), every_ms: count.optional() }),
  z.strictObject({
    do: z.literal("reconnecting"),
    times: z.int().positive().default(1),
    every_ms: count.default(0),
    http_status: count.nullable().default(null),
  }),
  z.strictObject({
    do: z.literal("fail"),
    message: z.string().default("simulated failure"),
    error: z.union([z.string(), z.record(z.string(), z.json())]).default("other"),
  }),
  z.strictObject({
    do: z.literal("usage_limit"),
    resets_in_ms: count.nullable().default(null),
    message: z.string().default("You've hit your usage limit (simulated)."),
  }),
  z.strictObject({ do: z.literal("overflow"), message: z.string().default("the context window is full (simulated)") }),
  z.strictObject({ do: z.literal("exit"), code: count.max(255).default(1) }),
  z.strictObject({
    do: z.literal("ask"),
    about: z.enum(["command", "file_change", "permissions", "question", "elicitation"]),
    text: z.string().default("simulated request"),
    command: z.string().default("true"),
    path: z.string().default("asked.txt"),
    ...cost,
  }),
]);

const turn = z.strictObject({ steps: z.array(step) });
const run = z.strictObject({ turns: z.array(turn).min(1) });
const ticket = z.strictObject({ runs: z.array(run).min(1) });

const script = z.strictObject({ tickets: z.record(z.string().min(1), ticket) });

export type Step = z.infer<typeof step>;
export type Script = z.infer<typeof script>;

/** Where in the file a complaint belongs, like `tickets.DEMO-1.runs[0].turns[0].steps[2].text`. */
function place(path: readonly PropertyKey[]): string {
  const text = path.map((part) => (typeof part === "number" ? `[${part}]` : `.${String(part)}`)).join("");
  return text.replace(/^\./, "") || "the whole file";
}

/** Reads a script's text. Throws AppError `usage` that names the file, the place and what is wrong there. */
export function parseScript(text: string, path: string): Script {
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch (error) {
    throw new AppError(
      "usage",
      `script ${path} is not JSON: ${error instanceof Error ? error.message : String(error)}`,
      { path },
    );
  }
  const parsed = script.safeParse(value);
  if (parsed.success) return parsed.data;
  const issues = parsed.error.issues.map((issue) => `${place(issue.path)}: ${issue.message}`);
  throw new AppError("usage", `script ${path} is not valid; ${issues.join("; ")}`, { path, issues });
}
