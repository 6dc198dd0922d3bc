/** The script file that says what a simulated agent does, ticket by ticket, run by run, turn by turn. Described in docs/simulated-agent.md. */
import { AppError, errorMessage } from "../../domain/errors.ts";
import {
  anything,
  type Checked,
  either,
  fields,
  filledText,
  flag,
  Invalid,
  listOf,
  mapOf,
  nullable,
  oneOf,
  optional,
  steps,
  text,
  whole,
  withDefault,
} from "./checks.ts";

const count = whole(0);
const positive = whole(1);

const tokens = {
  input: count,
  cached_input: withDefault(count, 0),
  output: count,
  reasoning: withDefault(count, 0),
};

/** What a step's model response costs; null = no report, absent = invented figures. */
const cost = { tokens: optional(nullable(fields(tokens))) };

const call = { tool: filledText, arguments: anything };

const mayFail = { may_fail: withDefault(flag, false) };

const step = steps({
  say: {
    text,
    chunks: optional(positive),
    every_ms: optional(count),
    phase: optional(oneOf(["commentary", "final_answer"])),
    ...cost,
  },
  think: { text },
  shell: { command: filledText, background: withDefault(flag, false), ...mayFail, ...cost },
  write_file: { path: filledText, content: text, append: withDefault(flag, false), ...cost },
  tool: { ...call, ...mayFail, ...cost },
  parallel: { calls: listOf(fields(call), 1), ...mayFail, ...cost },
  tokens,
  rate_limits: {
    used_percent: count,
    window_minutes: withDefault(count, 300),
    resets_in_ms: withDefault(nullable(count), null),
  },
  wait: { ms: count },
  hang: {},
  burst: { events: positive, every_ms: optional(count) },
  reconnecting: {
    times: withDefault(positive, 1),
    every_ms: withDefault(count, 0),
    http_status: withDefault(nullable(count), null),
  },
  fail: {
    message: withDefault(text, "simulated failure"),
    error: withDefault<string | Readonly<Record<string, unknown>>>(either(text, mapOf(anything)), "other"),
  },
  usage_limit: {
    resets_in_ms: withDefault(nullable(count), null),
    message: withDefault(text, "You've hit your usage limit (simulated)."),
  },
  overflow: { message: withDefault(text, "the context window is full (simulated)") },
  exit: { code: withDefault(whole(0, 255), 1) },
  ask: {
    about: oneOf(["command", "file_change", "permissions", "question", "elicitation"]),
    text: withDefault(text, "simulated request"),
    command: withDefault(text, "true"),
    path: withDefault(text, "asked.txt"),
    ...cost,
  },
});

const turn = fields({ steps: listOf(step) });
const run = fields({ turns: listOf(turn, 1) });
const ticket = fields({ runs: listOf(run, 1) });
const script = fields({ tickets: mapOf(ticket) });

export type Step = Checked<typeof step>;
export type Script = Checked<typeof script>;

/** Reads a script's text. Throws AppError `usage` that names the file, each place like `tickets.DEMO-1.runs[0].turns`, and what is wrong there. */
export function parseScript(json: string, path: string): Script {
  let value: unknown;
  try {
    value = JSON.parse(json);
  } catch (error) {
    throw new AppError("usage", `script ${path} is not JSON: ${errorMessage(error)}`, { path });
  }
  try {
    return script(value);
  } catch (error) {
    if (!(error instanceof Invalid)) throw error;
    const problems = error.problems.map(({ path: place, text: what }) => `${place || "the whole file"}: ${what}`);
    throw new AppError("usage", `script ${path} is not valid; ${problems.join("; ")}`, { path, problems });
  }
}
