import { execFileSync } from "node:child_process";
import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import type { Params } from "../../../test/fakes/app-server-client.ts";
import { isRunning, pidFrom, untilGone } from "../../../test/support/processes.ts";
import { messages, oneRun, SimulatedBench } from "../../../test/support/simulated-agent.ts";

let bench: SimulatedBench;

beforeEach(async () => {
  bench = await SimulatedBench.make("ENG-7");
});

afterEach(() => bench.dispose());

describe("processes", () => {
  test("a running command ends with the agent when stdin is closed, and on TERM", async () => {
    const tickets = oneRun([{ do: "shell", command: "echo $$ > pid; exec sleep 60" }]);
    for (const end of ["stdin", "term"]) {
      const [client, threadId] = await bench.start({ tickets });
      await client.startTurn(threadId, "one");
      const pid = await pidFrom(join(bench.cwd, "pid"));
      expect(await isRunning(pid)).toBe(true);
      if (end === "term") client.child.kill("SIGTERM");
      expect(await client.close()).toBe(0);
      await untilGone(pid);
      execFileSync("rm", ["pid"], { cwd: bench.cwd });
    }
  });

  test("a background command outlives its turn, and its item completes later with the old turn's id", async () => {
    const tickets = oneRun([{ do: "shell", command: "until [ -e go ]; do sleep 0.02; done", background: true }]);
    const [client, threadId] = await bench.start({ tickets });
    const turn = await client.runTurn(threadId, "one");
    const isCommand = (params: Params): boolean => JSON.stringify(params["item"]).includes("until");
    execFileSync("touch", ["go"], { cwd: bench.cwd });
    const late = await client.seen("item/completed", isCommand);
    expect(late["turnId"]).toBe(turn["id"]);
    const end = client.received.findIndex((message) => message.method === "turn/completed");
    expect(client.received.findLastIndex((message) => message.method === "item/completed")).toBeGreaterThan(end);
  });

  test("an archived thread's turn and commands end; taken back and resumed, it plays the script's next run", async () => {
    const work = { do: "shell", command: "echo $$ > pid; printenv MARK > mark; exec sleep 60" };
    const runs = [[work], [{ do: "say", text: "run {{run}}" }]].map((steps) => ({ turns: [{ steps }] }));
    const client = await bench.launch({ tickets: { "ENG-7": { runs } } });
    const config = { "shell_environment_policy.set.MARK": "mine" };
    const threadId = await client.thread("thread/start", { cwd: bench.cwd, config });
    await client.startTurn(threadId, "one");
    const pid = await pidFrom(join(bench.cwd, "pid"));
    await expect.poll(() => readFile(join(bench.cwd, "mark"), "utf8").catch(() => "")).toBe("mine\n");
    await client.request("thread/archive", { threadId });
    await untilGone(pid);
    expect(await client.seen("turn/completed")).toMatchObject({ turn: { status: "interrupted" } });
    const resume = (): Promise<string> => client.thread("thread/resume", { threadId, excludeTurns: true });
    await expect(resume()).rejects.toThrow(`session ${threadId} is archived`);
    await client.request("thread/unarchive", { threadId });
    await resume();
    await client.runTurn(threadId, "two");
    expect(messages(client)).toEqual(["run 2"]);
  });

  test("a thread has one writer at a time, and a killed one is replaced", async () => {
    const tickets = oneRun([{ do: "say", text: "x" }]);
    const [first, threadId] = await bench.start({ tickets });
    await first.runTurn(threadId, "one");
    const second = await bench.launch({ tickets });
    const resume = (): Promise<string> => second.thread("thread/resume", { threadId, excludeTurns: true });
    await expect(resume()).rejects.toThrow(`thread ${threadId} already has an active writer`);
    first.child.kill("SIGKILL");
    await new Promise((resolve) => first.child.once("exit", resolve));
    expect(await resume()).toBe(threadId);
  });
});
