import { expect, test } from "vitest";
import { changeOf, ended, makeLedgerPlace, started } from "../../test/support/ledger.ts";
import { issueId, runId } from "../domain/ids.ts";

const ISSUE = issueId("id-A-1");

test("earlier work is that of ended runs: turns, the newest words, and what became of tool calls", async () => {
  await using place = await makeLedgerPlace();
  const ledger = place.open();
  const at = place.clock.now();
  ledger.commit(changeOf({ facts: [started("r1", at)] }));
  for (const turn of [1, 2]) {
    ledger.turnIntended({ runId: runId("r1"), turn, intentId: `i${turn}`, at });
    ledger.turnStarted({ runId: runId("r1"), turn, threadId: "t", turnId: `u${turn}`, at });
  }
  ledger.turnEnded({ runId: runId("r1"), turn: 1, status: "completed", error: null, at });
  const call = { runId: runId("r1"), turn: 1, at };
  for (const [callId, name] of [
    ["1", "board"],
    ["2", "board"],
    ["3", "query"],
  ] as const) {
    ledger.toolIntended({ ...call, callId, name });
  }
  ledger.toolEnded({ ...call, callId: "1", ok: false, durationMs: 1, bytes: 1 });
  for (let number = 1; number <= 7; number += 1) {
    const text = `words ${number}`;
    const item = { threadId: "t", turnId: "u1", itemId: `m${number}`, kind: "message", data: { text } } as const;
    ledger.appendEvent({ runId: runId("r1"), issueId: ISSUE, at, event: "message", message: text, item });
  }
  const nothing = { runs: 0, turns: 0, lastTurn: null, messages: [], tools: [] };
  expect(ledger.earlierWork(ISSUE)).toEqual(nothing);
  ledger.commit(changeOf({ facts: [ended("r1", at), started("r2", at)] }));
  expect(ledger.earlierWork(ISSUE)).toEqual({
    runs: 1,
    turns: 2,
    lastTurn: { turn: 2, status: "interrupted", error: null },
    messages: ["words 3", "words 4", "words 5", "words 6", "words 7"],
    tools: [
      { name: "board", calls: 2, failed: 1 },
      { name: "query", calls: 1, failed: 0 },
    ],
  });
  expect(ledger.earlierWork(issueId("another"))).toEqual(nothing);
});

test("all processes of an issue are known, ended or not, and runs without one by their marker", async () => {
  await using place = await makeLedgerPlace();
  const ledger = place.open();
  const identity = { pid: 7, processGroup: 7, startTime: "1", marker: "r1" };
  ledger.commit(changeOf({ facts: [started("r1", 1), started("r2", 2)] }));
  ledger.processSpawned(runId("r1"), identity, 1);
  ledger.processEnded(runId("r1"), 2);
  expect(ledger.processesOf(ISSUE)).toEqual([
    { runId: "r1", issueId: ISSUE, identity },
    { runId: "r2", issueId: ISSUE, identity: { pid: 0, processGroup: 0, startTime: "", marker: "r2" } },
  ]);
  expect(ledger.processesOf(issueId("another"))).toEqual([]);
});
