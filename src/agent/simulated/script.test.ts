import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import type { Params } from "../../../test/fakes/app-server-client.ts";
import { messages, oneRun, SimulatedBench, toolReply, totals } from "../../../test/support/simulated-agent.ts";
import { parseScript } from "./script.ts";
import { isRecord } from "./wire.ts";

let bench: SimulatedBench;

beforeEach(async () => {
  bench = await SimulatedBench.make("ENG-7");
});

afterEach(() => bench.dispose());

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
      const [client, threadId] = await bench.start({ tickets });
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
    const [client, threadId] = await bench.start({ tickets });
    await client.runTurn(threadId, "one");
    expect(totals(client)).toEqual([200, 80, 20, 6]);
    await client.close();
    const next = await bench.launch({ tickets });
    await next.thread("thread/resume", { threadId, excludeTurns: true });
    await next.seen("thread/goal/cleared");
    expect(totals(next)).toEqual([200, 80, 20, 6]);
    await next.runTurn(threadId, "two");
    expect(totals(next)).toEqual([400, 160, 40, 12]);
  });

  test("invents figures that grow where it states none, and reports nothing for null", async () => {
    const [client, threadId] = await bench.start({
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
    const [client, threadId] = await bench.start({ tickets: oneRun([{ do: "shell", command }]) });
    await client.runTurn(threadId, "one");
    expect(await readFile(join(bench.cwd, "out.txt"), "utf8")).toBe("ENG-7 1 1");
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
    const [client, threadId] = await bench.start({ tickets, answer: () => toolReply("nope", false) }, ["local_board"]);
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
    const [client, threadId] = await bench.start({ tickets });
    await client.runTurn(threadId, "one");
    expect(await readFile(join(bench.cwd, "deep", "ENG-7.txt"), "utf8")).toBe("one\ntwo\n");
    expect((await client.runTurn(threadId, "two"))["status"]).toBe("failed");
    await expect(readFile(join(bench.dir, "outside.txt"))).rejects.toThrow("ENOENT");
  });

  test("calls tools side by side: all requests before the first answer", async () => {
    const calls = [1, 2, 3].map((n) => ({ tool: "local_board", arguments: { n } }));
    const [client, threadId] = await bench.start({ tickets: oneRun([{ do: "parallel", calls }]) }, ["local_board"]);
    const turnId = await client.startTurn(threadId, "one");
    await client.seen("item/tool/call", (params) => JSON.stringify(params["arguments"]) === `{"n":3}`);
    for (const message of client.received.toReversed()) {
      if (message.kind === "request") client.send({ id: message.id, result: toolReply("ok") });
    }
    expect((await client.turnEnd(turnId))["status"]).toBe("completed");
  });

  test("bursts as many deltas as it is told to", async () => {
    const [client, threadId] = await bench.start({ tickets: oneRun([{ do: "burst", events: 250 }]) });
    await client.runTurn(threadId, "one");
    expect(client.received.filter((message) => message.method === "item/agentMessage/delta")).toHaveLength(250);
  });

  test("ends the process in the middle of a turn", async () => {
    const [client, threadId] = await bench.start({
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
    const [client, threadId] = await bench.start({ tickets: oneRun([{ do: "usage_limit", resets_in_ms: 60_000 }]) });
    const turn = await client.runTurn(threadId, "one");
    expect(turn["error"]).toMatchObject({ codexErrorInfo: "usageLimitExceeded" });
    const { rateLimits } = await client.seen("account/rateLimits/updated");
    const primary = isRecord(rateLimits) ? rateLimits["primary"] : null;
    expect(primary).toMatchObject({ usedPercent: 100, windowDurationMins: 300 });
    expect(isRecord(primary) && Number(primary["resetsAt"])).toBeGreaterThanOrEqual(before + 60);
  });

  test("says what was answered to a question, a permission request and an elicitation", async () => {
    const about = ["question", "permissions", "elicitation"];
    const [client, threadId] = await bench.start({
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
    const client = await bench.spawn({ tickets: oneRun([{ do: "say" }, { do: "dance" }]) });
    await new Promise((resolve) => client.child.once("exit", resolve));
    expect(client.child.exitCode).toBe(1);
    const lines = client.stderr.trim().split("\n");
    expect(lines).toHaveLength(1);
    expect(lines[0]).toContain("tickets.ENG-7.runs[0].turns[0].steps[0].text");
    expect(lines[0]).toContain("steps[1].do");
  });

  test("is read with its defaults, and each mistake is told by its place", () => {
    const script = (...steps: readonly unknown[]): string => JSON.stringify({ tickets: oneRun(steps as Params[]) });
    const { tickets } = parseScript(script({ do: "exit" }, { do: "say", text: "x", tokens: null }), "s.json");
    expect(tickets["ENG-7"]?.runs[0]?.turns[0]?.steps).toEqual([
      { do: "exit", code: 1 },
      { do: "say", text: "x", tokens: null },
    ]);
    const wrong = [
      { do: "exit", code: 256 },
      { do: "wait", ms: -1 },
      { do: "shell", command: "", may_fail: 1 },
      { do: "parallel", calls: [] },
      { do: "fail", error: 7 },
      { do: "ask", about: "life" },
      { do: "hang", up: true },
      { do: "tool", tool: "t" },
      "say",
    ];
    const problems = [
      "[0].code: must be a whole number from 0 to 255",
      "[1].ms: must be a whole number from 0",
      "[2].command: must not be empty",
      "[2].may_fail: must be true or false",
      "[3].calls: must be a list that is not empty",
      "[4].error: must be an object",
      "[5].about: must be one of command, file_change, permissions, question, elicitation",
      "[6].up: is not known here; known are do",
      "[7].arguments: is missing",
      "[8]: must be an object",
    ];
    expect(() => parseScript(script(...wrong), "s.json")).toThrow(
      `script s.json is not valid; ${problems.map((problem) => `tickets.ENG-7.runs[0].turns[0].steps${problem}`).join("; ")}`,
    );
    expect(() => parseScript("[]", "s.json")).toThrow("script s.json is not valid; the whole file: must be an object");
    expect(() => parseScript("{", "s.json")).toThrow("script s.json is not JSON: ");
  });
});
