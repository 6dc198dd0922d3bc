import { execFileSync } from "node:child_process";
import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { messages, SimulatedBench, toolCalls, toolReply } from "../../../test/support/simulated-agent.ts";
import { isRecord } from "./wire.ts";

let bench: SimulatedBench;

beforeEach(async () => {
  bench = await SimulatedBench.make("ENG-7");
});

afterEach(() => bench.dispose());

describe("without a script", () => {
  test("it changes a file, commits, comments and moves the ticket to Done on a local board", async () => {
    execFileSync("git", ["init", "-q"], { cwd: bench.cwd });
    const [client, threadId] = await bench.start({ answer: () => toolReply("ok") }, ["local_board"]);
    const turn = await client.runTurn(threadId, "Work on the ticket.");
    expect(turn["status"]).toBe("completed");
    expect(await readFile(join(bench.cwd, "simulated", "ENG-7.md"), "utf8")).toContain("simulated agent");
    const log = execFileSync("git", ["log", "--format=%an: %s"], { cwd: bench.cwd, encoding: "utf8" });
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
    const [client, threadId] = await bench.start({ answer: () => toolReply(found) }, ["linear_graphql"]);
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
    const [client, threadId] = await bench.start({ answer: () => toolReply("no such state", false) }, ["local_board"]);
    await client.runTurn(threadId, "Work.");
    expect(messages(client).at(-1)).toBe("Simulated agent: the tracker refused: no such state");
    const [other, otherThread] = await bench.start();
    await other.runTurn(otherThread, "Work.");
    expect(messages(other).at(-1)).toContain("no tracker tool was offered");
  });
});
