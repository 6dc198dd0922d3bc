import { expect, it } from "vitest";
import { captureLog } from "../../test/support/captured-log.ts";
import { makeIssue } from "../../test/support/issues.ts";
import { ManualClock } from "../../test/support/manual-clock.ts";
import type { Tool } from "../domain/tool.ts";
import { createToolRunner, type ToolAudit } from "./tools.ts";

const NEVER = new AbortController().signal;

function runnerOf(call: Tool["call"], audit: Partial<ToolAudit> = {}) {
  const said: string[] = [];
  const clock = new ManualClock();
  const captured = captureLog();
  const tool: Tool = { name: "board", description: "", inputSchema: {}, canChange: () => true, call };
  const run = createToolRunner({
    tools: [tool],
    clock,
    log: captured.log,
    issue: () => makeIssue("ENG-1"),
    signal: NEVER,
    audit: {
      toolIntended: ({ name }) => said.push(`intended ${name}`),
      toolEnded: ({ ok }) => said.push(`ended ${ok ? "well" : "badly"}`),
      ...audit,
    },
  });
  return { run, said, clock, captured };
}

function fail(): never {
  throw new Error("disk full");
}

it("a call that happened is answered though its end can't be written down", async () => {
  const { run, captured } = runnerOf(async () => ({ success: true, text: "moved" }), { toolEnded: fail });
  expect(await run("board", "c-1", {})).toEqual({ success: true, text: "moved" });
  expect(captured.lines().join("")).toContain("recording the end of a tool call failed");
});

it("a call whose intent can't be written down isn't made, and the agent is told", async () => {
  let calls = 0;
  const call = async () => ({ success: true, text: String((calls += 1)) });
  const { run } = runnerOf(call, { toolIntended: fail });
  expect(await run("board", "c-1", {})).toMatchObject({ success: false, text: expect.stringContaining("disk full") });
  expect(calls).toBe(0);
});

it("writes down intent and end of each call, also of one that throws", async () => {
  const { run, said } = runnerOf(fail);
  expect(await run("board", "c-1", {})).toMatchObject({ success: false });
  expect(said).toEqual(["intended board", "ended badly"]);
});

it("a call without an end is given up after two minutes", async () => {
  const { run, clock, said } = runnerOf(() => Promise.withResolvers<never>().promise);
  const answer = run("board", "c-1", {});
  await clock.advance(120_000);
  expect(await answer).toMatchObject({ success: false, text: expect.stringContaining("120000 ms") });
  expect(said).toEqual(["intended board", "ended badly"]);
});
