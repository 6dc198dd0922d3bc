import { describe, expect, it } from "vitest";
import type { AgentEvent, AgentEventBody } from "../domain/events.ts";
import { issueId, runId } from "../domain/ids.ts";
import { AgentEvents, type EventJournal } from "./agent-events.ts";
import { LiveRuns } from "./live.ts";
import type { RunEvent } from "./run-feed.ts";
import { NO_TOKENS } from "../domain/tokens.ts";

const RUN = runId("run-1");
const ISSUE = issueId("id-A-1");
const ITEM = { threadId: "t", turnId: "u", itemId: "i" };
const SECRET = "hunter2-secret";

function at(body: AgentEventBody): AgentEvent {
  return { ...body, at: 5, agentPid: 1 };
}

function redact(text: string): string {
  return text.replaceAll(SECRET, "[redacted]");
}

/** Takes the events and answers what a ledger and a listener got. */
async function take(events: readonly AgentEventBody[]): Promise<{ rows: unknown[]; heard: RunEvent[] }> {
  const rows: unknown[] = [];
  const ledger: EventJournal = { appendEvent: (row) => rows.push(row) };
  const agentEvents = new AgentEvents({ ledger, redact, identifierOf: () => "A-1" });
  const stream = agentEvents.listen();
  for (const event of events) agentEvents.take(RUN, ISSUE, at(event));
  agentEvents.end();
  const heard: RunEvent[] = [];
  for await (const event of stream) heard.push(event);
  return { rows, heard };
}

describe("an agent's event", () => {
  it("is heard under the number that the ledger keeps it by, with the item in full", async () => {
    const { rows, heard } = await take([
      { kind: "turn_started", turnId: "u" },
      { kind: "message", text: "done", item: ITEM },
    ]);
    expect(rows).toEqual([
      { runId: RUN, issueId: ISSUE, at: 5, event: "turn_started", message: null, item: null },
      {
        runId: RUN,
        issueId: ISSUE,
        at: 5,
        event: "message",
        message: "done",
        item: { ...ITEM, kind: "message", data: { text: "done" } },
      },
    ]);
    expect(heard.map(({ sequence, issueIdentifier, event }) => [sequence, issueIdentifier, event.kind])).toEqual([
      [1, "A-1", "turn_started"],
      [2, "A-1", "message"],
    ]);
  });

  it("that is no news by itself is neither kept nor told", async () => {
    const { rows, heard } = await take([
      { kind: "tokens", threadId: "t", total: NO_TOKENS, subAgent: false, replayed: false },
      { kind: "rate_limits", limits: {} },
      { kind: "notification", method: "hook/completed" },
      { kind: "other_message", method: "new" },
    ]);
    expect([rows, heard]).toEqual([[], []]);
  });

  it("is told without known secrets, wherever they stand", async () => {
    const { heard } = await take([
      { kind: "message", text: SECRET },
      { kind: "command", command: `echo ${SECRET}`, exitCode: 0, durationMs: 1, outputTail: SECRET },
      { kind: "file_change", changes: [{ path: `a-${SECRET}`, change: "add", diff: `+${SECRET}` }] },
      { kind: "turn_failed", turnId: "u", message: SECRET },
      { kind: "approval_declined", method: "m", subject: SECRET },
      { kind: "malformed", sample: SECRET },
      {
        kind: "question_asked",
        question: {
          id: "q1",
          kind: "command",
          summary: SECRET,
          subject: SECRET,
          detail: SECRET,
          askedAt: 1,
          deadlineAt: null,
        },
      },
    ]);
    expect(heard).toHaveLength(7);
    expect(JSON.stringify(heard)).not.toContain(SECRET);
    expect(JSON.stringify(heard)).toContain("[redacted]");
  });
});

describe("the live view of a run", () => {
  it("shows the last message, without known secrets, and keeps it while other events come", () => {
    const live = new LiveRuns({ tokens: NO_TOKENS, endedMs: 0 }, redact);
    live.see(RUN, at({ kind: "message", text: `I use ${SECRET}` }));
    live.see(RUN, at({ kind: "compaction" }));
    expect(live.get(RUN)).toMatchObject({ lastEvent: "compaction", lastMessage: "I use [redacted]" });
    live.see(RUN, at({ kind: "model_rerouted", from: null, to: "m-2" }));
    expect(live.get(RUN).lastMessage).toBe("the model was changed from its own to m-2");
  });
});
