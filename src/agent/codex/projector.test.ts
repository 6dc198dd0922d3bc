import { describe, expect, it } from "vitest";
import type { AgentEventBody } from "../../domain/events.ts";
import { readNotice } from "./notices.ts";
import { Projector } from "./projector.ts";

function completed(item: Readonly<Record<string, unknown>>): AgentEventBody | null {
  return new Projector().project(
    readNotice("item/completed", { threadId: "t", turnId: "u", item: { id: "i", ...item } }),
  );
}

describe("what an item becomes", () => {
  it.each([
    [
      { type: "agentMessage", text: "hi" },
      { kind: "message", text: "hi" },
    ],
    [
      { type: "plan", text: "first this" },
      { kind: "plan", text: "first this" },
    ],
    [
      { type: "reasoning", summary: ["a", "b"], content: ["secret thoughts"] },
      { kind: "reasoning", text: "a\nb" },
    ],
    [
      { type: "commandExecution", command: "ls", exitCode: 2, aggregatedOutput: "no" },
      { kind: "command", command: "ls", exitCode: 2, outputTail: "no" },
    ],
    [{ type: "commandExecution" }, { kind: "command", command: "", exitCode: null, outputTail: "" }],
    [
      { type: "fileChange", changes: [{ path: "a" }, { path: "b" }, { diff: "no path" }] },
      { kind: "file_change", paths: ["a", "b"] },
    ],
    [
      { type: "mcpToolCall", server: "s", tool: "t", status: "completed", durationMs: 5, result: { content: [] } },
      { kind: "tool_call", tool: "s/t", callId: "i", ok: true, durationMs: 5, bytes: 14 },
    ],
    [
      { type: "mcpToolCall", server: "s", tool: "t", status: "completed", result: { isError: true } },
      { kind: "tool_call", tool: "s/t", callId: "i", ok: false, durationMs: 0, bytes: 16 },
    ],
    [
      { type: "mcpToolCall", server: "s", tool: "t", status: "failed", error: { message: "refused" } },
      { kind: "tool_call", tool: "s/t", callId: "i", ok: false, durationMs: 0, bytes: 0 },
    ],
    [{ type: "contextCompaction" }, { kind: "compaction" }],
    [{ type: "agentMessage", text: "  " }, null],
    [{ type: "userMessage", content: [] }, null],
    [{ type: "somethingNew", a: 1 }, null],
  ])("%j", (item, event) => {
    expect(completed(item)).toEqual(event);
  });

  it("is bounded, whatever its size", () => {
    const long = "x".repeat(100_000);
    const events = [
      completed({ type: "agentMessage", text: long }),
      completed({ type: "reasoning", summary: [long, long] }),
      completed({ type: "commandExecution", command: long, aggregatedOutput: `${long}the end` }),
      completed({
        type: "fileChange",
        changes: Array.from({ length: 1000 }, (_, index) => ({ path: `file-${index}` })),
      }),
    ];
    for (const event of events) expect(JSON.stringify(event).length).toBeLessThan(9000);
    expect(events[2]).toMatchObject({ outputTail: expect.stringMatching(/^….*the end$/) });
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
      { kind: "plan", text: "why\n[completed] one\n[pending] two" },
    ],
    ["warning", { message: "careful" }, { kind: "warning", text: "careful" }],
    ["configWarning", { summary: "odd", details: "line 3" }, { kind: "warning", text: "odd (line 3)" }],
    [
      "mcpServer/startupStatus/updated",
      { name: "db", status: "failed", error: "timed out" },
      { kind: "warning", text: `the agent's MCP server "db" did not start: timed out` },
    ],
    ["mcpServer/startupStatus/updated", { name: "db", status: "ready" }, null],
    [
      "model/rerouted",
      { fromModel: "a", toModel: "b" },
      { kind: "warning", text: "the model was changed from a to b" },
    ],
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
