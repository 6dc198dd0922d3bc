/** What holds tickets back on the real agent, seen from outside the daemon: no login, a spent limit, a refused setting, a question. */
import { mkdir, readFile, writeFile } from "node:fs/promises";
import { type IncomingMessage, request } from "node:http";
import { once } from "node:events";
import { join } from "node:path";
import { expect, test } from "vitest";
import { isRecord } from "../../src/agent/simulated/wire.ts";
import type { Params } from "../fakes/app-server-client.ts";
import { callTool, type ModelReply, type ModelRequest, say, startResponsesServer } from "../fakes/responses-server.ts";
import { until } from "../support/until.ts";
import { DaemonBench } from "./daemon.ts";

const MOVE = callTool("local_board", { action: "move", state: "Done" });

/** A daemon over a board of tickets in Todo, and its model. */
class Stage implements AsyncDisposable {
  readonly bench: DaemonBench;
  readonly model: Awaited<ReturnType<typeof startResponsesServer>>;

  private constructor(bench: DaemonBench, model: Stage["model"]) {
    this.bench = bench;
    this.model = model;
  }

  static async make(
    decide: (asked: ModelRequest) => ModelReply,
    more: Readonly<Record<string, Params>>,
    tickets: readonly string[],
  ): Promise<Stage> {
    const model = await startResponsesServer(decide);
    const bench = await DaemonBench.make(model);
    const board = join(bench.dir, "board");
    await mkdir(board);
    for (const name of tickets) {
      await writeFile(join(board, `${name}.md`), "---\ntitle: Greet\nstate: Todo\n---\n\nGreet.\n");
    }
    await bench.writeWorkflow(
      { tracker: { kind: "local", provider: { path: board } }, ...more },
      "Ticket {{ issue.identifier }}",
    );
    return new Stage(bench, model);
  }

  /** The rows of one list of the status. */
  async rows(list: "paused" | "blocked" | "retrying"): Promise<readonly Params[]> {
    const rows = (await this.bench.state())[list];
    return Array.isArray(rows) ? rows.filter(isRecord) : [];
  }

  async [Symbol.asyncDispose](): Promise<void> {
    // A daemon that is stopped takes its agents with it; one that is killed leaves them writing for some milliseconds.
    await this.bench.stop();
    await this.bench[Symbol.asyncDispose]();
    await this.model.close();
  }
}

/** Moves its ticket to Done, then says so. */
function worker({ outputs }: ModelRequest): ModelReply {
  return outputs.some((output) => output.includes('"Done"')) ? say("Moved to Done.") : MOVE;
}

async function post(bench: DaemonBench, path: string, body: Params = {}): Promise<number | undefined> {
  const headers = { "content-type": "application/json" };
  const asked = request({ socketPath: join(bench.stateDir, "control.sock"), path, method: "POST", headers });
  const answered = once(asked, "response") as Promise<[IncomingMessage]>;
  asked.end(JSON.stringify(body));
  const [response] = await answered;
  response.resume();
  return response.statusCode;
}

test("an agent without a login pauses dispatch and names the mend, and a login and resume end that", async () => {
  const decide = (asked: ModelRequest): ModelReply =>
    asked.headers.authorization === undefined
      ? { kind: "status", status: 401, body: { error: { message: "who are you?" } } }
      : worker(asked);
  await using stage = await Stage.make(decide, {}, ["HOME-1", "HOME-2"]);
  const { bench, model } = stage;
  const config = join(bench.env["CODEX_HOME"] ?? "", "config.toml");
  const text = await readFile(config, "utf8");
  await writeFile(
    config,
    text.replace('wire_api = "responses"', 'wire_api = "responses"\nrequires_openai_auth = true'),
  );
  await bench.start();
  const [pause] = await until("dispatch is paused", async () => {
    const rows = await stage.rows("paused");
    return rows.length > 0 ? rows : null;
  });
  expect(pause).toMatchObject({ kind: "auth", message: expect.stringContaining("codex login") });
  // They were ready before the daemon was, and no run began beside the look.
  expect(await bench.runs()).toEqual([]);
  await writeFile(join(bench.env["CODEX_HOME"] ?? "", "auth.json"), JSON.stringify({ OPENAI_API_KEY: "sk-of-a-test" }));
  expect(await post(bench, "/api/v1/resume")).toBe(202);
  const runs = await until("both tickets are done", async () => {
    const done = (await bench.runs()).filter(({ outcome }) => outcome === "succeeded");
    return done.length === 2 ? done : null;
  });
  expect(runs.map(({ attempt }) => attempt)).toEqual([null, null]);
  expect(model.requests.at(-1)?.headers.authorization).toBe("Bearer sk-of-a-test");
  expect(await stage.rows("paused")).toEqual([]);
});

test("a usage limit pauses dispatch until its reset, then one ticket probes, and the others follow", async () => {
  let resetsAt = 0;
  const decide = (asked: ModelRequest): ModelReply => {
    if (resetsAt !== 0) return worker(asked);
    resetsAt = Math.ceil(Date.now() / 1000) + 3;
    const headers = {
      "x-codex-primary-used-percent": "100",
      "x-codex-primary-window-minutes": "300",
      "x-codex-primary-reset-at": String(resetsAt),
    };
    const error = { type: "usage_limit_reached", message: "limit", resets_at: resetsAt };
    return { kind: "status", status: 429, headers, body: { error } };
  };
  await using stage = await Stage.make(decide, { agent: { max_concurrent_agents: 1 } }, ["HOME-1", "HOME-2"]);
  const { bench } = stage;
  await bench.start();
  const [first] = await bench.endedRuns("HOME-1");
  expect(first).toMatchObject({ outcome: "failed", class: "usage_limit" });
  const [again] = (await bench.endedRuns("HOME-1", 2)).slice(1);
  const [other] = await bench.endedRuns("HOME-2");
  // The limit was no fault of the ticket: its attempt isn't counted.
  expect(again).toMatchObject({ outcome: "succeeded", attempt: first?.attempt });
  expect(other).toMatchObject({ outcome: "succeeded" });
  const order = (await bench.runs()).map(({ issue_identifier: name }) => name);
  expect(order).toEqual(["HOME-1", "HOME-1", "HOME-2"]);
  expect(await stage.rows("paused")).toEqual([]);
});

test("a setting that the agent refuses blocks the ticket, and names the key and the accepted values", async () => {
  await using stage = await Stage.make(worker, { codex: { approval_policy: "sometimes" } }, ["HOME-1"]);
  await stage.bench.start();
  const [blocked] = await until("the ticket is blocked", async () => {
    const rows = await stage.rows("blocked");
    return rows.length > 0 ? rows : null;
  });
  for (const words of ["codex.approval_policy", "sometimes", "on-request", "untrusted"]) {
    expect(JSON.stringify(blocked)).toContain(words);
  }
  expect(stage.model.requests).toEqual([]);
});

test("a command that needs a person blocks its ticket, and the answer resumes the thread with a grant for it", async () => {
  const escalated = callTool("exec_command", {
    cmd: "sleep 0.2; echo it ran",
    sandbox_permissions: "require_escalated",
    justification: "must go outside",
  });
  const decide = (asked: ModelRequest): ModelReply =>
    asked.outputs.some((output) => output.includes("it ran")) ? worker(asked) : escalated;
  const more = { codex: { approval_policy: "on-request" }, approvals: { commands: "ask", timeout_ms: 1000 } };
  await using stage = await Stage.make(decide, more, ["HOME-1"]);
  const { bench, model } = stage;
  await bench.start();
  const [blocked] = await until("the ticket is blocked", async () => {
    const rows = await stage.rows("blocked");
    return rows.length > 0 ? rows : null;
  });
  const question = blocked?.["question"];
  if (!isRecord(question)) throw new Error(`the blocked ticket has no question: ${JSON.stringify(blocked)}`);
  expect(question).toMatchObject({ kind: "command" });
  expect(await post(bench, `/api/v1/questions/${String(question["id"])}/answer`, { accept: true })).toBe(202);
  const [asking, resumed] = await bench.endedRuns("HOME-1", 2);
  expect(asking).toMatchObject({ outcome: "needs_input" });
  expect(resumed).toMatchObject({ outcome: "succeeded", thread_id: asking?.thread_id });
  expect(model.requests.at(-1)?.outputs.some((output) => output.includes("it ran"))).toBe(true);
});
