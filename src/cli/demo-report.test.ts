/** The figures of `demo --json`. */
import { expect, test } from "vitest";
import type { RunJson } from "../ledger/run-list.ts";
import type { TicketView } from "./demo-progress.ts";
import { summarize, summaryLines } from "./demo-report.ts";

function makeRun(issue: string, outcome: string | null, turns = 1): RunJson {
  return {
    run_id: crypto.randomUUID(),
    issue_id: issue,
    issue_identifier: issue,
    attempt: null,
    outcome,
    class: null,
    error: null,
    thread_id: null,
    turns,
    started_at: "2026-11-30T09:00:00.000Z",
    ended_at: null,
    tokens: { input: 1000, cached_input: 600, output: 10, reasoning: 5, total: 1010, fresh: true },
  };
}

function makeTicket(identifier: string, terminal: boolean): TicketView {
  const nothing = { priority: null, waitsFor: [], claim: null, activity: null, runs: 0, turns: 0, tokens: 0 };
  return { identifier, title: identifier, state: terminal ? "Done" : "Todo", terminal, ...nothing };
}

// Newest first, as the ledger lists them.
const RUNS = [
  makeRun("A", "succeeded", 2),
  makeRun("B", "succeeded"),
  makeRun("A", "stalled"),
  makeRun("C", "failed"),
  makeRun("B", "cancelled"),
  makeRun("A", "failed"),
];

test("a retry is a run whose run before failed, stalled or timed out; a shutdown costs none", () => {
  const summary = summarize(
    [makeTicket("A", true), makeTicket("B", true), makeTicket("C", false)],
    RUNS,
    "/l/ledger.db",
  );
  expect(summary).toEqual({
    issues: 3,
    done: 2,
    runs: 6,
    turns: 7,
    retries: 2,
    tokens: { input: 6000, cached_input: 3600, output: 60, total: 6060 },
    ledger: "/l/ledger.db",
  });
});

test("the sentences at the end say the same, and that no model was asked", () => {
  const lines = summaryLines(summarize([makeTicket("A", true)], RUNS.slice(0, 1), "/l/ledger.db"), 9800);
  expect(lines).toEqual([
    "1 of 1 ticket done in 10 s: 1 run, 2 turns, 0 retries.",
    "1,010 tokens: 1,000 input (600 of them cached), 10 output.",
    expect.stringContaining("no model was called"),
  ]);
});
