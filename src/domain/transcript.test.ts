import { describe, expect, it } from "vitest";
import type { AgentEventBody } from "./events.ts";
import { transcriptItem } from "./transcript.ts";

const ITEM = { threadId: "t", turnId: "u", itemId: "i" };
const QUESTION = {
  id: "q1",
  kind: "command",
  summary: "may I",
  subject: null,
  detail: "{}",
  askedAt: 1,
  deadlineAt: 2,
} as const;

describe("what is kept in full of an event", () => {
  it.each<[AgentEventBody, unknown]>([
    [
      { kind: "message", text: "hi", item: ITEM },
      { ...ITEM, kind: "message", data: { text: "hi" } },
    ],
    [
      { kind: "reasoning", text: "hm", item: ITEM },
      { ...ITEM, kind: "reasoning", data: { text: "hm" } },
    ],
    [
      { kind: "plan", text: "one", item: ITEM },
      { ...ITEM, kind: "plan", data: { text: "one" } },
    ],
    [
      { kind: "command", command: "ls", exitCode: 1, durationMs: 2, outputTail: "x", item: ITEM },
      { ...ITEM, kind: "command", data: { command: "ls", exit_code: 1, duration_ms: 2, output_tail: "x" } },
    ],
    [
      { kind: "file_change", changes: [{ path: "a", change: "add", diff: "+" }], item: ITEM },
      { ...ITEM, kind: "file_change", data: { changes: [{ path: "a", change: "add", diff: "+" }] } },
    ],
    [
      { kind: "tool_call", tool: "s/t", callId: "i", ok: true, durationMs: 3, bytes: 4, item: ITEM },
      { ...ITEM, kind: "tool_call", data: { tool: "s/t", ok: true, duration_ms: 3, bytes: 4 } },
    ],
    [
      { kind: "question_asked", question: QUESTION },
      {
        threadId: "",
        turnId: null,
        itemId: "q1",
        kind: "question",
        data: { kind: "command", summary: "may I", subject: null, detail: "{}", deadline_at: 2 },
      },
    ],
    [
      { kind: "question_answered", questionId: "q1" },
      { threadId: "", turnId: null, itemId: "q1.answer", kind: "answer", data: { question_id: "q1" } },
    ],
    [{ kind: "message", text: "an agent that names no items" }, null],
    [{ kind: "tool_call", tool: "ours", callId: "c", ok: true, durationMs: 3, bytes: 4 }, null],
    [{ kind: "compaction" }, null],
  ])("%j", (event, item) => {
    expect(transcriptItem(event)).toEqual(item);
  });
});
