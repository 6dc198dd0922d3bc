/** The plan of a misbehaving app-server: what it does wrong, and when. A test writes one with writeFakeAppServer. */
import { readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { z } from "zod";
import { COMPILE_CACHE } from "../../src/agent/simulated/command.ts";

/** `"*"` for every method. `nth` counts from 1 over the messages of that method; absent = every one. */
const where = { method: z.string(), nth: z.int().positive().optional() };

/** A line as it is, or a JSON value; `{{threadId}}` and `{{turnId}}` stand for the newest ones. A string has no new line added. */
const lines = z.array(z.union([z.string(), z.record(z.string(), z.json())]));

/** What goes wrong with a request of the client. */
const requestFault = z.discriminatedUnion("do", [
  /** It is never answered, and never acted on. */
  z.strictObject({ do: z.literal("ignore"), ...where }),
  /** It is acted on, and answered late. */
  z.strictObject({ do: z.literal("delay"), ms: z.int().positive(), ...where }),
  z.strictObject({ do: z.literal("refuse"), code: z.int(), message: z.string(), ...where }),
  /** The process ends instead. */
  z.strictObject({ do: z.literal("exit"), code: z.int(), stderr: z.string().default(""), ...where }),
  /** The process kills itself with SIGKILL instead. */
  z.strictObject({ do: z.literal("die"), ...where }),
]);

/** What goes wrong with a message to the client: a response is known by its request's method. */
const sendFault = z.discriminatedUnion("do", [
  z.strictObject({ do: z.literal("drop"), ...where }),
  z.strictObject({ do: z.literal("twice"), ...where }),
  z.strictObject({ do: z.literal("before"), lines, ...where }),
  z.strictObject({ do: z.literal("after"), lines, ...where }),
  /** Members laid over `params` or `result`, all the way down; null is a value like another. */
  z.strictObject({ do: z.literal("edit"), set: z.record(z.string(), z.json()), ...where }),
  /** Unknown fields in every object of the message. */
  z.strictObject({ do: z.literal("junk"), ...where }),
  /** So many item deltas of the current turn before the message. */
  z.strictObject({ do: z.literal("flood"), events: z.int().positive(), ...where }),
  /** The line is sent in pieces of so many bytes, so that characters are cut. */
  z.strictObject({ do: z.literal("split"), bytes: z.int().positive(), ...where }),
  /** The process ends in the middle of the line. */
  z.strictObject({ do: z.literal("tear"), ...where }),
]);

export const fakePlan = z.strictObject({
  /** What the agent does when it behaves: the `tickets` of a simulated agent's script; absent = its built-in behaviour. */
  tickets: z.record(z.string(), z.json()).optional(),
  on_request: z.array(requestFault).default([]),
  on_send: z.array(sendFault).default([]),
  /** Raw text on stdout before anything else. */
  greeting: z.string().default(""),
  stderr: z.string().default(""),
  ignore_term: z.boolean().default(false),
  ignore_stdin_end: z.boolean().default(false),
  /** A process in a session of its own that outlives the server; its pid is written to `grandchild.pid` beside the plan. */
  grandchild: z.enum(["none", "plain", "ignores_term"]).default("none"),
});

export type FakePlan = z.input<typeof fakePlan>;
export type ReadFakePlan = z.output<typeof fakePlan>;

/** A message that the client sent to the fake. */
export type ClientMessage = Readonly<Record<string, unknown>>;

export interface FakeAppServer {
  /** For `codex.command`: a shell string. */
  readonly command: string;
  /** The same as words, for a spawn without a shell. */
  readonly argv: readonly [string, ...string[]];
  /** Everything that clients have sent so far, over all processes, in order. */
  received(): Promise<readonly ClientMessage[]>;
  /** Where the grandchild's pid is written. */
  readonly grandchildPidPath: string;
}

function quote(text: string): string {
  return `'${text.replaceAll("'", `'\\''`)}'`;
}

/** Writes a plan into `dir` and answers how to start a server that follows it. */
export async function writeFakeAppServer(dir: string, plan: FakePlan): Promise<FakeAppServer> {
  const planPath = join(dir, "plan.json");
  const logPath = join(dir, "received.jsonl");
  await writeFile(planPath, JSON.stringify(fakePlan.parse(plan)));
  await writeFile(logPath, "");
  const entry = fileURLToPath(new URL("./fake-app-server.ts", import.meta.url));
  const argv: [string, ...string[]] = [process.execPath, entry, dir];
  return {
    // The agents' environment is an allow-list, which this is not on.
    command: `NODE_COMPILE_CACHE=${quote(COMPILE_CACHE)} ${argv.map(quote).join(" ")}`,
    argv,
    grandchildPidPath: join(dir, "grandchild.pid"),
    async received() {
      const text = await readFile(logPath, "utf8");
      return text
        .split("\n")
        .filter((line) => line !== "")
        .map((line) => JSON.parse(line) as ClientMessage);
    },
  };
}
