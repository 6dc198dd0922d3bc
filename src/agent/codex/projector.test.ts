import { describe, expect, it } from "vitest";
import type { AgentEventBody } from "../../domain/events.ts";
import { readNotice } from "./notices.ts";
import { Projector } from "./projector.ts";

function completed(item: Readonly<Record<string, unknown>>): AgentEventBody | null {
  return new Projector().project(
    readNotice("item/completed", { threadId: "t", turnId: "u", item: { id: "i", ...item } }),
  );
}

const ITEM = { threadId: "t", turnId: "u", itemId: "i" };

describe("what an item becomes", () => {
  it.each([
    [
      { type: "agentMessage", text: "hi" },
      { kind: "message", text: "hi", item: ITEM },
    ],
    [
      { type: "plan", text: "first this" },
      { kind: "plan", text: "first this", item: ITEM },
    ],
    [
      { type: "reasoning", summary: ["a", "b"], content: ["secret thoughts"] },
      { kind: "reasoning", text: "a\nb", item: ITEM },
    ],
    [
      { type: "commandExecution", command: "ls", exitCode: 2, durationMs: 7, aggregatedOutput: "no" },
      { kind: "command", command: "ls", exitCode: 2, durationMs: 7, outputTail: "no", item: ITEM },
    ],
    [
      { type: "commandExecution" },
      { kind: "command", command: "", exitCode: null, durationMs: null, outputTail: "", item: ITEM },
    ],
    [
      {
        type: "fileChange",
        status: "completed",
        changes: [
          { path: "a", kind: { type: "add" }, diff: "x\n" },
          { path: "b", kind: { type: "update", move_path: "c" }, diff: "@@" },
          { path: "d", kind: "delete" },
          { diff: "no path" },
        ],
      },
      {
        kind: "file_change",
        changes: [
          { path: "a", change: "add", diff: "x\n" },
          { path: "b -> c", change: "update", diff: "@@" },
          { path: "d", change: "delete", diff: "" },
        ],
        item: ITEM,
      },
    ],
    [
      { type: "fileChange", status: "declined", changes: [{ path: "a" }, { path: "b" }] },
      { kind: "warning", text: "a change was not made (declined): a, b" },
    ],
    [
      { type: "mcpToolCall", server: "s", tool: "t", status: "completed", durationMs: 5, result: { content: [] } },
      { kind: "tool_call", tool: "s/t", callId: "i", ok: true, durationMs: 5, bytes: 14, item: ITEM },
    ],
    [
      { type: "mcpToolCall", server: "s", tool: "t", status: "completed", result: { isError: true } },
      { kind: "tool_call", tool: "s/t", callId: "i", ok: false, durationMs: 0, bytes: 16, item: ITEM },
    ],
    [
      { type: "mcpToolCall", server: "s", tool: "t", status: "failed", error: { message: "refused" } },
      { kind: "tool_call", tool: "s/t", callId: "i", ok: false, durationMs: 0, bytes: 0, item: ITEM },
    ],
    [
      { type: "collabAgentToolCall", tool: "spawnAgent", status: "completed", prompt: "do it" },
      { kind: "tool_call", tool: "agents/spawnAgent", callId: "i", ok: true, durationMs: 0, bytes: 0, item: ITEM },
    ],
    [
      { type: "webSearch", query: "q" },
      { kind: "tool_call", tool: "web_search", callId: "i", ok: true, durationMs: 0, bytes: 0, item: ITEM },
    ],
    [{ type: "contextCompaction" }, { kind: "compaction" }],
    [{ type: "agentMessage", text: "  " }, null],
    [{ type: "userMessage", content: [] }, null],
    [{ type: "dynamicToolCall", tool: "linear_graphql", status: "completed" }, null],
    [{ type: "somethingNew", a: 1 }, null],
  ])("%j", (item, event) => {
    expect(completed(item)).toEqual(event);
  });

  it("is bounded, whatever its size", () => {
    const long = "x".repeat(100_000);
    const many = (count: number, diff: string): readonly object[] =>
      Array.from({ length: count }, (_, index) => ({ path: `${long}${index}`, kind: { type: long }, diff }));
    const events = [
      completed({ type: "agentMessage", text: long }),
      completed({ type: "reasoning", summary: [long, long] }),
      completed({ type: "commandExecution", command: long, aggregatedOutput: `${long}the end` }),
      completed({ type: "fileChange", changes: many(1000, long) }),
      completed({ type: "fileChange", status: "failed", changes: many(1000, "") }),
      completed({ type: "mcpToolCall", server: long, tool: long }),
    ];
    const sizes = events.map((event) => JSON.stringify(event).length);
    expect(Math.max(...sizes)).toBeLessThan(90_000);
    expect(sizes.filter((size) => size > 17_000)).toHaveLength(1);
    expect(events[2]).toMatchObject({ outputTail: expect.stringMatching(/^….*the end$/) });
  });

  it("shows of a large change as many diffs as there is room for, the first ones first", () => {
    const changes = ["a", "b", "c", "d"].map((path) => ({ path, diff: path.repeat(10_000) }));
    const event = completed({ type: "fileChange", changes });
    const diffs = event?.kind === "file_change" ? event.changes.map(({ diff }) => diff.length) : [];
    expect(diffs).toEqual([8000, 8000, 8000, 0]);
  });
});

describe("what other notifications become", () => {
  it.each([
    [
      "turn/plan/updated",
      {
        explanation: "why",
        plan: [
          { step: "one", status: "completed" },
          { step: "two", status: "pending" },
        ],
      },
      {
        kind: "plan",
        text: "why\n[completed] one\n[pending] two",
        item: { threadId: "t", turnId: "u", itemId: "plan" },
      },
    ],
    ["turn/plan/updated", { plan: [] }, null],
    ["warning", { message: "careful" }, { kind: "warning", text: "careful" }],
    ["configWarning", { summary: "odd", details: "line 3" }, { kind: "warning", text: "odd (line 3)" }],
    [
      "mcpServer/startupStatus/updated",
      { name: "db", status: "failed", error: "timed out" },
      { kind: "warning", text: `the agent's MCP server "db" did not start: timed out` },
    ],
    ["mcpServer/startupStatus/updated", { name: "db", status: "ready" }, null],
    ["model/rerouted", { fromModel: "a", toModel: "b" }, { kind: "model_rerouted", from: "a", to: "b" }],
    ["model/rerouted", { fromModel: "a" }, { kind: "other_message", method: "model/rerouted" }],
    [
      "error",
      { willRetry: true, error: { message: "Reconnecting... 1/5", additionalDetails: "status 502" } },
      { kind: "warning", text: "Reconnecting... 1/5 (status 502)" },
    ],
    ["error", { willRetry: false, error: { message: "over" } }, null],
    ["hook/completed", {}, { kind: "notification", method: "hook/completed" }],
    ["item/autoApprovalReview/started", {}, { kind: "notification", method: "item/autoApprovalReview/started" }],
    ["item/agentMessage/delta", { delta: "x" }, null],
  ])("%s", (method, params, event) => {
    expect(new Projector().project(readNotice(method, { threadId: "t", turnId: "u", ...params }))).toEqual(event);
  });

  it.each([
    ["thread/started", null],
    ["codex/event/agent_message", null],
    ["brand/new", { kind: "other_message", method: "brand/new" }],
  ])("without a thread: %s", (method, event) => {
    expect(new Projector().project(readNotice(method, {}))).toEqual(event);
  });

  it("are told once where they repeat", () => {
    const projector = new Projector();
    const tell = (): AgentEventBody | null => projector.project(readNotice("warning", { message: "each turn again" }));
    expect(tell()).not.toBeNull();
    expect(tell()).toBeNull();
  });
});
