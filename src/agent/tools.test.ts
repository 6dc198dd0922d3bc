import { expect, it } from "vitest";
import { captureLog } from "../../test/support/captured-log.ts";
import { makeIssue } from "../../test/support/issues.ts";
import { ManualClock } from "../../test/support/manual-clock.ts";
import type { Tool } from "../domain/tool.ts";
import { createToolRunner, type ToolAudit, type ToolCallEnd } from "./tools.ts";

const NEVER = new AbortController().signal;

function runnerOf(call: Tool["call"], audit: Partial<ToolAudit> = {}, signal = NEVER) {
  const said: string[] = [];
  const clock = new ManualClock();
  const captured = captureLog();
  const tool: Tool = { name: "board", description: "", inputSchema: {}, canChange: () => true, call };
  const run = createToolRunner({
    tools: [tool],
    clock,
    log: captured.log,
    issue: () => makeIssue("ENG-1"),
    signal,
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

it("a call of a run that ends is given up with it, and its end is written down", async () => {
  const ended = new AbortController();
  const { run, said } = runnerOf(() => Promise.withResolvers<never>().promise, {}, ended.signal);
  const answer = run("board", "c-1", {});
  ended.abort(new Error("the run was stopped"));
  expect(await answer).toMatchObject({ success: false, text: expect.stringContaining("the run was stopped") });
  expect(said).toEqual(["intended board", "ended badly"]);
});

it("an answer that is too long for the model is cut, says how to get less, and is counted as it was sent", async () => {
  const ends: ToolCallEnd[] = [];
  const { run } = runnerOf(async () => ({ success: true, text: "x".repeat(100_000) }), {
    toolEnded: (end) => ends.push(end),
  });
  const { success, text } = await run("board", "c-1", {});
  expect(success).toBe(true);
  expect(text.length).toBeLessThan(50_000);
  expect(text).toMatch(/\[cut: 100000 characters; ask for fewer fields, fewer rows or one page at a time\]$/);
  expect(ends).toEqual([{ callId: "c-1", name: "board", ok: true, durationMs: 0, bytes: Buffer.byteLength(text) }]);
});

it("a tool that isn't there is refused with the names of those that are, and none is asked", async () => {
  const { run, said } = runnerOf(fail);
  const answer = await run("bord", "c-1", {});
  expect(answer).toMatchObject({ success: false, text: expect.stringContaining("there are: board") });
  expect(said).toEqual([]);
});
