import { execFileSync } from "node:child_process";
import { mkdir, readFile } from "node:fs/promises";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import type { AppServerClient, Params } from "../../../test/fakes/app-server-client.ts";
import { isRunning, pidFrom, untilGone } from "../../../test/support/processes.ts";
import { declareTool, type Launch, launchSimulated, toolReply } from "../../../test/support/simulated-agent.ts";
import { makeTempDir, type TempDir } from "../../../test/support/temp-dir.ts";
import { isRecord } from "./wire.ts";

let dir: TempDir;
let cwd: string;
let clients: AppServerClient[];

beforeEach(async () => {
  dir = await makeTempDir();
  cwd = join(dir.path, "ENG-7");
  await mkdir(cwd);
  clients = [];
});

afterEach(async () => {
  for (const client of clients) await client[Symbol.asyncDispose]();
  await dir.dispose();
});

async function launch(options: Launch = {}): Promise<AppServerClient> {
  const client = await launchSimulated(dir.path, cwd, options);
  clients.push(client);
  await client.initialize();
  return client;
}

async function start(options: Launch = {}, tools: readonly string[] = []): Promise<[AppServerClient, string]> {
  const client = await launch(options);
  const dynamicTools = tools.map(declareTool);
  return [client, await client.thread("thread/start", { cwd, sandbox: "workspace-write", dynamicTools })];
}

/** A script for one ticket, of one run. */
function oneRun(...turns: readonly (readonly Params[])[]): unknown {
  return { "ENG-7": { runs: [{ turns: turns.map((steps) => ({ steps })) }] } };
}

function messages(client: AppServerClient): string[] {
  return client.received.flatMap((message) => {
    const item = message.kind === "notification" && message.method === "item/completed" ? message.params["item"] : null;
    return isRecord(item) && item["type"] === "agentMessage" ? [String(item["text"])] : [];
  });
}

/** The newest totals, as `[input, cached, output, reasoning]`. */
function totals(client: AppServerClient): number[] {
  const last = client.received.findLast((message) => message.method === "thread/tokenUsage/updated");
  const usage = last?.kind === "notification" ? last.params["tokenUsage"] : null;
  const total = isRecord(usage) && isRecord(usage["total"]) ? usage["total"] : {};
  return ["inputTokens", "cachedInputTokens", "outputTokens", "reasoningOutputTokens"].map((key) => Number(total[key]));
}

function toolCalls(client: AppServerClient): Params[] {
  return client.received.flatMap((message) => (message.kind === "request" ? [message.params] : []));
}

describe("without a script", () => {
  test("it changes a file, commits, comments and moves the ticket to Done on a local board", async () => {
    execFileSync("git", ["init", "-q"], { cwd });
    const [client, threadId] = await start({ answer: () => toolReply("ok") }, ["local_board"]);
    const turn = await client.runTurn(threadId, "Work on the ticket.");
    expect(turn["status"]).toBe("completed");
    expect(await readFile(join(cwd, "simulated", "ENG-7.md"), "utf8")).toContain("simulated agent");
    const log = execFileSync("git", ["log", "--format=%an: %s"], { cwd, encoding: "utf8" });
    expect(log).toBe("Simulated agent: Simulated change for ENG-7\n");
    expect(toolCalls(client).map((call) => call["arguments"])).toEqual([
      { action: "comment", body: expect.stringContaining("simulated agent") },
      { action: "move", state: "Done" },
    ]);
    expect(messages(client).at(-1)).toBe("Simulated agent: commented and moved to Done.");
  });

  test("it finds the issue and its Done state through linear_graphql", async () => {
    const states = {
      nodes: [
        { id: "s1", name: "Shipped" },
        { id: "s2", name: "Done" },
      ],
    };
    const found = JSON.stringify({ data: { issue: { id: "issue-1", team: { states } } } });
    const [client, threadId] = await start({ answer: () => toolReply(found) }, ["linear_graphql"]);
    await client.runTurn(threadId, "Work on the ticket.");
    const variables = toolCalls(client).map((call) =>
      isRecord(call["arguments"]) ? call["arguments"]["variables"] : null,
    );
    expect(variables).toEqual([
      { id: "ENG-7" },
      { id: "issue-1", body: expect.any(String) },
      { id: "issue-1", state: "s2" },
    ]);
  });

  test("it says so when the tracker refuses, and when no tool was offered", async () => {
    const [client, threadId] = await start({ answer: () => toolReply("no such state", false) }, ["local_board"]);
    await client.runTurn(threadId, "Work.");
    expect(messages(client).at(-1)).toBe("Simulated agent: the tracker refused: no such state");
    const [other, otherThread] = await start();
    await other.runTurn(otherThread, "Work.");
    expect(messages(other).at(-1)).toContain("no tracker tool was offered");
  });
});

describe("a script", () => {
  test("plays one run per process and one turn per turn, and repeats the last of each", async () => {
    const say = (text: string): Params => ({ do: "say", text: `${text} of run {{run}} turn {{turn}} for {{ticket}}` });
    const tickets = {
      "ENG-7": {
        runs: [{ turns: [{ steps: [say("a")] }, { steps: [say("b")] }] }, { turns: [{ steps: [say("c")] }] }],
      },
    };
    const heard: string[] = [];
    for (let run = 0; run < 3; run += 1) {
      const [client, threadId] = await start({ tickets });
      for (const prompt of ["one", "two", "three"]) await client.runTurn(threadId, prompt);
      heard.push(...messages(client));
      await client.close();
    }
    const ticket = "for ENG-7";
    expect(heard).toEqual([
      `a of run 1 turn 1 ${ticket}`,
      `b of run 1 turn 2 ${ticket}`,
      `b of run 1 turn 3 ${ticket}`,
      ...[2, 3].flatMap((run) => [1, 2, 3].map((turn) => `c of run ${run} turn ${turn} ${ticket}`)),
    ]);
  });

  test("reports the tokens that it states, adds them up, and carries the totals into the next process", async () => {
    const tokens = { input: 100, cached_input: 40, output: 10, reasoning: 3 };
    const tickets = oneRun([
      { do: "say", text: "x", tokens },
      { do: "tokens", ...tokens },
    ]);
    const [client, threadId] = await start({ tickets });
    await client.runTurn(threadId, "one");
    expect(totals(client)).toEqual([200, 80, 20, 6]);
    await client.close();
    const next = await launch({ tickets });
    await next.thread("thread/resume", { threadId, excludeTurns: true });
    await next.seen("thread/goal/cleared");
    expect(totals(next)).toEqual([200, 80, 20, 6]);
    await next.runTurn(threadId, "two");
    expect(totals(next)).toEqual([400, 160, 40, 12]);
  });

  test("invents figures that grow where it states none, and reports nothing for null", async () => {
    const [client, threadId] = await start({
      tickets: oneRun(
        [{ do: "say", text: "x", tokens: null }],
        [
          { do: "say", text: "four" },
          { do: "say", text: "four" },
        ],
      ),
    });
    await client.runTurn(threadId, "one");
    expect(client.received.filter((message) => message.method === "thread/tokenUsage/updated")).toEqual([]);
    await client.runTurn(threadId, "two");
    expect(totals(client)).toEqual([1200 + 1600, 1200, 21 + 21, 0]);
  });

  test("gives the ticket to shell commands by environment, and puts nothing of it into the command", async () => {
    const command = 'printf "%s %s %s" "$SIMULATED_TICKET" "$SIMULATED_RUN" "$SIMULATED_TURN" > out.txt # {{ticket}}';
    const [client, threadId] = await start({ tickets: oneRun([{ do: "shell", command }]) });
    await client.runTurn(threadId, "one");
    expect(await readFile(join(cwd, "out.txt"), "utf8")).toBe("ENG-7 1 1");
    const { item } = await client.seen("item/started", (params) => JSON.stringify(params["item"]).includes("printf"));
    expect(JSON.stringify(item)).toContain("# {{ticket}}");
  });

  test("fails the turn on a command or tool that fails, unless it may", async () => {
    const tickets = oneRun(
      [{ do: "shell", command: "echo why >&2; exit 3" }],
      [{ do: "shell", command: "exit 3", may_fail: true }],
      [{ do: "tool", tool: "local_board", arguments: {} }],
      [{ do: "tool", tool: "local_board", arguments: {}, may_fail: true }],
    );
    const [client, threadId] = await start({ tickets, answer: () => toolReply("nope", false) }, ["local_board"]);
    const ends = [];
    for (const prompt of ["1", "2", "3", "4"]) ends.push(await client.runTurn(threadId, prompt));
    expect(ends.map((turn) => turn["status"])).toEqual(["failed", "completed", "failed", "completed"]);
    const failures = ends.map((turn) => (isRecord(turn["error"]) ? turn["error"]["message"] : null));
    expect(failures).toEqual([
      "command exited with 3: echo why >&2; exit 3: why",
      null,
      "tool local_board failed: nope",
      null,
    ]);
  });

  test("writes and appends files inside the thread's directory only", async () => {
    const tickets = oneRun(
      [
        { do: "write_file", path: "deep/{{ticket}}.txt", content: "one\n" },
        { do: "write_file", path: "deep/ENG-7.txt", content: "two\n", append: true },
      ],
      [{ do: "write_file", path: "../outside.txt", content: "x" }],
    );
    const [client, threadId] = await start({ tickets });
    await client.runTurn(threadId, "one");
    expect(await readFile(join(cwd, "deep", "ENG-7.txt"), "utf8")).toBe("one\ntwo\n");
    expect((await client.runTurn(threadId, "two"))["status"]).toBe("failed");
    await expect(readFile(join(dir.path, "outside.txt"))).rejects.toThrow("ENOENT");
  });

  test("calls tools side by side: all requests before the first answer", async () => {
    const calls = [1, 2, 3].map((n) => ({ tool: "local_board", arguments: { n } }));
    const [client, threadId] = await start({ tickets: oneRun([{ do: "parallel", calls }]) }, ["local_board"]);
    const turnId = await client.startTurn(threadId, "one");
    await client.seen("item/tool/call", (params) => JSON.stringify(params["arguments"]) === `{"n":3}`);
    for (const message of client.received.toReversed()) {
      if (message.kind === "request") client.send({ id: message.id, result: toolReply("ok") });
    }
    expect((await client.turnEnd(turnId))["status"]).toBe("completed");
  });

  test("bursts as many deltas as it is told to", async () => {
    const [client, threadId] = await start({ tickets: oneRun([{ do: "burst", events: 250 }]) });
    await client.runTurn(threadId, "one");
    expect(client.received.filter((message) => message.method === "item/agentMessage/delta")).toHaveLength(250);
  });

  test("ends the process in the middle of a turn", async () => {
    const [client, threadId] = await start({
      tickets: oneRun([
        { do: "say", text: "bye" },
        { do: "exit", code: 7 },
      ]),
    });
    await client.startTurn(threadId, "one");
    await new Promise((resolve) => client.child.once("exit", resolve));
    expect(client.child.exitCode).toBe(7);
    expect(client.received.some((message) => message.method === "turn/completed")).toBe(false);
  });

  test("states the reset time of a usage limit before the turn fails", async () => {
    const before = Math.floor(Date.now() / 1000);
    const [client, threadId] = await start({ tickets: oneRun([{ do: "usage_limit", resets_in_ms: 60_000 }]) });
    const turn = await client.runTurn(threadId, "one");
    expect(turn["error"]).toMatchObject({ codexErrorInfo: "usageLimitExceeded" });
    const { rateLimits } = await client.seen("account/rateLimits/updated");
    const primary = isRecord(rateLimits) ? rateLimits["primary"] : null;
    expect(primary).toMatchObject({ usedPercent: 100, windowDurationMins: 300 });
    expect(isRecord(primary) && Number(primary["resetsAt"])).toBeGreaterThanOrEqual(before + 60);
  });

  test("says what was answered to a question, a permission request and an elicitation", async () => {
    const about = ["question", "permissions", "elicitation"];
    const [client, threadId] = await start({
      tickets: oneRun(about.map((what) => ({ do: "ask", about: what, text: "may I?" }))),
      answer: (method) => {
        if (method === "item/tool/requestUserInput") return { answers: { q1: { answers: ["yes"] } } };
        return method === "item/permissions/requestApproval"
          ? { permissions: {}, scope: "turn" }
          : { action: "decline" };
      },
    });
    await client.runTurn(threadId, "one");
    expect(messages(client)).toEqual([
      'Answers: {"q1":{"answers":["yes"]}}',
      "Permissions: {}",
      "Elicitation: decline",
    ]);
  });

  test("that isn't valid ends the agent with one line that names the place", async () => {
    const client = await launchSimulated(dir.path, cwd, { tickets: oneRun([{ do: "say" }, { do: "dance" }]) });
    clients.push(client);
    await new Promise((resolve) => client.child.once("exit", resolve));
    expect(client.child.exitCode).toBe(1);
    const lines = client.stderr.trim().split("\n");
    expect(lines).toHaveLength(1);
    expect(lines[0]).toContain("tickets.ENG-7.runs[0].turns[0].steps[0].text");
    expect(lines[0]).toContain("steps[1].do");
  });
});

describe("processes", () => {
  test("a running command ends with the agent when stdin is closed, and on TERM", async () => {
    const tickets = oneRun([{ do: "shell", command: "echo $$ > pid; exec sleep 60" }]);
    for (const end of ["stdin", "term"]) {
      const [client, threadId] = await start({ tickets });
      await client.startTurn(threadId, "one");
      const pid = await pidFrom(join(cwd, "pid"));
      expect(await isRunning(pid)).toBe(true);
      if (end === "term") client.child.kill("SIGTERM");
      expect(await client.close()).toBe(0);
      await untilGone(pid);
      execFileSync("rm", ["pid"], { cwd });
    }
  });

  test("a background command outlives its turn, and its item completes later with the old turn's id", async () => {
    const tickets = oneRun([{ do: "shell", command: "until [ -e go ]; do sleep 0.02; done", background: true }]);
    const [client, threadId] = await start({ tickets });
    const turn = await client.runTurn(threadId, "one");
    const isCommand = (params: Params): boolean => JSON.stringify(params["item"]).includes("until");
    execFileSync("touch", ["go"], { cwd });
    const late = await client.seen("item/completed", isCommand);
    expect(late["turnId"]).toBe(turn["id"]);
    const end = client.received.findIndex((message) => message.method === "turn/completed");
    expect(client.received.findLastIndex((message) => message.method === "item/completed")).toBeGreaterThan(end);
  });

  test("a thread has one writer at a time, and a killed one is replaced", async () => {
    const tickets = oneRun([{ do: "say", text: "x" }]);
    const [first, threadId] = await start({ tickets });
    await first.runTurn(threadId, "one");
    const second = await launch({ tickets });
    const resume = (): Promise<string> => second.thread("thread/resume", { threadId, excludeTurns: true });
    await expect(resume()).rejects.toThrow(`thread ${threadId} already has an active writer`);
    first.child.kill("SIGKILL");
    await new Promise((resolve) => first.child.once("exit", resolve));
    expect(await resume()).toBe(threadId);
  });
});
