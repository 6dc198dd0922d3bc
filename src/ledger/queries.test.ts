import { spawn } from "node:child_process";
import { once } from "node:events";

import Database from "better-sqlite3";
import { describe, expect, test } from "vitest";

import { makeIssue } from "../../test/support/issues.ts";
import { changeOf, ended, makeLedgerPlace, started, type LedgerPlace } from "../../test/support/ledger.ts";
import { issueId, runId } from "../domain/ids.ts";
import { failed, type RunOutcome } from "../domain/outcome.ts";
import type { TokenCounts } from "../domain/tokens.ts";
import type { Ledger } from "./port.ts";

const A = makeIssue("A-1");
const B = makeIssue("B-2");
const HOUR = 3_600_000;
/** 2026-03-01T22:00:00Z: two hours before the day ends. */
const EVENING = Date.UTC(2026, 2, 1, 22);

function counts(input: number, cachedInput: number, output: number, reasoning: number): TokenCounts {
  return { input, cachedInput, output, reasoning };
}

function turn(ledger: Ledger, run: string, number: number, at: number): void {
  ledger.turnIntended({ runId: runId(run), turn: number, intentId: `${run}-${number}`, at });
  ledger.turnStarted({ runId: runId(run), turn: number, threadId: `thread-${run}`, turnId: `turn-${number}`, at });
}

/** A-1 ran over midnight and went well; B-2 failed, and runs again now. */
function history(ledger: Ledger, now: number): void {
  ledger.commit(changeOf({ facts: [started("run-1", EVENING, A)] }));
  turn(ledger, "run-1", 1, EVENING);
  const usage = {
    runId: runId("run-1"),
    turn: 1,
    threadId: "thread-run-1",
    issueId: A.id,
    subAgent: false,
    model: "m-1",
  };
  ledger.recordTokens({ ...usage, total: counts(100, 60, 10, 4), at: EVENING + HOUR });
  turn(ledger, "run-1", 2, EVENING + HOUR);
  ledger.recordTokens({ ...usage, turn: 2, total: counts(300, 200, 30, 5), at: EVENING + 3 * HOUR });
  ledger.recordTokens({
    ...usage,
    turn: 2,
    threadId: "sub",
    subAgent: true,
    total: counts(7, 0, 1, 0),
    at: EVENING + 3 * HOUR,
  });
  ledger.commit(changeOf({ facts: [ended("run-1", EVENING + 5 * HOUR, { kind: "succeeded" }, 2)] }));
  ledger.commit(changeOf({ facts: [started("run-2", EVENING + 5 * HOUR, B)] }));
  ledger.commit(
    changeOf({ facts: [ended("run-2", EVENING + 5 * HOUR + 1500, failed("hook", "before_run failed"), 0)] }),
  );
  ledger.commit(changeOf({ facts: [started("run-3", now - 2000, B, 1)] }));
  turn(ledger, "run-3", 1, now - 1500);
}

async function filledPlace(): Promise<LedgerPlace & { readonly ledger: Ledger }> {
  const place = await makeLedgerPlace();
  const ledger = place.open();
  history(ledger, place.clock.now());
  return { ...place, ledger };
}

describe("runs", () => {
  test("are shown as the contract says, newest first", async () => {
    await using place = await filledPlace();
    expect(place.reader().runs()).toEqual([
      {
        run_id: "run-2",
        issue_id: "id-B-2",
        issue_identifier: "B-2",
        attempt: null,
        outcome: "failed",
        class: "hook",
        error: "before_run failed",
        thread_id: null,
        turns: 0,
        started_at: "2026-03-02T03:00:00.000Z",
        ended_at: "2026-03-02T03:00:01.500Z",
        tokens: { input: 0, cached_input: 0, output: 0, reasoning: 0, total: 0, fresh: false },
      },
      {
        run_id: "run-1",
        issue_id: "id-A-1",
        issue_identifier: "A-1",
        attempt: null,
        outcome: "succeeded",
        class: null,
        error: null,
        thread_id: "thread-run-1",
        turns: 2,
        started_at: "2026-03-01T22:00:00.000Z",
        ended_at: "2026-03-02T03:00:00.000Z",
        tokens: { input: 307, cached_input: 200, output: 31, reasoning: 5, total: 338, fresh: true },
      },
      {
        run_id: "run-3",
        issue_id: "id-B-2",
        issue_identifier: "B-2",
        attempt: 1,
        outcome: null,
        class: null,
        error: null,
        thread_id: "thread-run-3",
        turns: 1,
        started_at: "2025-12-31T23:59:58.000Z",
        ended_at: null,
        tokens: { input: 0, cached_input: 0, output: 0, reasoning: 0, total: 0, fresh: false },
      },
    ]);
  });

  test("can be asked for by identifier or id, and as many as wanted", async () => {
    await using place = await filledPlace();
    const reader = place.reader();
    const ids = (query: Parameters<typeof reader.runs>[0]): string[] => reader.runs(query).map((run) => run.run_id);
    expect(ids({ issue: "B-2" })).toEqual(["run-2", "run-3"]);
    expect(ids({ issue: "id-B-2", limit: 1 })).toEqual(["run-2"]);
    expect(ids({ issue: "b-2" })).toEqual([]);
    expect(ids({ limit: 2 })).toEqual(["run-2", "run-1"]);
  });

  const question = {
    id: "q",
    kind: "question",
    summary: "Which?",
    subject: null,
    detail: "",
    askedAt: 1,
    deadlineAt: null,
  } as const;
  test.each<[RunOutcome, string, string | null, string | null]>([
    [{ kind: "succeeded" }, "succeeded", null, null],
    [failed("usage_limit", "limit"), "failed", "usage_limit", "limit"],
    [{ kind: "timed_out", message: "late" }, "timed_out", null, "late"],
    [{ kind: "stalled", message: "silent" }, "stalled", null, "silent"],
    [{ kind: "cancelled", by: "operator", message: "stop" }, "cancelled", "operator", "stop"],
    [{ kind: "needs_input", question }, "needs_input", null, "Which?"],
  ])("end with %j", async (outcome, word, kind, error) => {
    await using place = await makeLedgerPlace();
    const ledger = place.open();
    ledger.commit(changeOf({ facts: [started("run-1", 1), ended("run-1", 2, outcome)] }));
    expect(place.reader().runs()).toMatchObject([{ outcome: word, class: kind, error }]);
  });

  test("keep their first end, and their turns and thread when the end doesn't know them", async () => {
    await using place = await makeLedgerPlace();
    const ledger = place.open();
    ledger.commit(changeOf({ facts: [started("run-1", 1)] }));
    turn(ledger, "run-1", 1, 2);
    turn(ledger, "run-1", 2, 3);
    const cancelled = { kind: "cancelled", by: "shutdown", message: "killed" } as const;
    ledger.commit(changeOf({ facts: [ended("run-1", 5, cancelled, 0), ended("run-1", 9, { kind: "succeeded" }, 7)] }));
    expect(place.reader().runs()).toMatchObject([{ outcome: "cancelled", turns: 2, thread_id: "thread-run-1" }]);
  });
});

describe("usage", () => {
  const zero = { cached_input_tokens: 0, output_tokens: 0, reasoning_tokens: 0, usd: null };

  test("by issue adds up every run of an issue", async () => {
    await using place = await filledPlace();
    const a = {
      input_tokens: 307,
      cached_input_tokens: 200,
      output_tokens: 31,
      reasoning_tokens: 5,
      total_tokens: 338,
    };
    expect(place.reader().usage({ by: "issue" })).toEqual({
      by: "issue",
      rows: [
        { key: "A-1", runs: 1, turns: 2, ...a, seconds_running: 18_000, usd: null },
        { key: "B-2", runs: 2, turns: 1, input_tokens: 0, ...zero, total_tokens: 0, seconds_running: 3.5 },
      ],
      total: { runs: 3, turns: 3, ...a, seconds_running: 18_003.5, usd: null },
    });
  });

  test("by day books a run on its first day, time and tokens on the days they fell on", async () => {
    await using place = await filledPlace();
    const { rows, total } = place.reader().usage({ by: "day" });
    expect(rows).toEqual([
      { key: "2025-12-31", runs: 1, turns: 1, input_tokens: 0, ...zero, total_tokens: 0, seconds_running: 2 },
      {
        key: "2026-03-01",
        runs: 1,
        turns: 2,
        input_tokens: 100,
        cached_input_tokens: 60,
        output_tokens: 10,
        reasoning_tokens: 4,
        total_tokens: 110,
        seconds_running: 7200,
        usd: null,
      },
      {
        key: "2026-03-02",
        runs: 1,
        turns: 0,
        input_tokens: 207,
        cached_input_tokens: 140,
        output_tokens: 21,
        reasoning_tokens: 1,
        total_tokens: 228,
        seconds_running: 10_801.5,
        usd: null,
      },
    ]);
    expect(total).toEqual(place.reader().usage({ by: "issue" }).total);
  });

  test("has a price where every model has one, and none where one is missing", async () => {
    await using place = await filledPlace();
    const price = { input: 10_000, cachedInput: 1000, output: 100_000 };
    const priced = place.reader().usage({ by: "issue", prices: { "m-1": price } });
    expect(priced.rows.map((row) => [row.key, row.usd])).toEqual([
      ["A-1", 1.07 + 0.2 + 3.1],
      ["B-2", 0],
    ]);
    expect(priced.total.usd).toBe(1.07 + 0.2 + 3.1);
    const byDay = place.reader().usage({ by: "day", prices: { "m-1": price } });
    expect(byDay.rows.map((row) => row.usd)).toEqual([0, 0.4 + 0.06 + 1, 0.67 + 0.14 + 2.1]);
    const other = place.reader().usage({ by: "issue", prices: { "m-2": price } });
    expect([...other.rows, other.total].map((row) => row.usd)).toEqual([null, 0, null]);
  });

  test("orders identifiers as people do, and follows a renamed issue", async () => {
    await using place = await makeLedgerPlace();
    const ledger = place.open();
    const facts = ["A-10", "A-9", "A-2"].map((name) => started(`run-${name}`, 1, makeIssue(name)));
    ledger.commit(changeOf({ facts }));
    ledger.commit(changeOf({ facts: [started("again", 2, makeIssue("B-9", { id: issueId("id-A-9") }))] }));
    const { rows } = place.reader().usage({ by: "issue" });
    expect(rows.map(({ key, runs }) => [key, runs])).toEqual([
      ["A-2", 1],
      ["A-10", 1],
      ["B-9", 2],
    ]);
  });

  test("counts a run that was cut off up to its last event, not up to now", async () => {
    await using place = await makeLedgerPlace();
    const ledger = place.open();
    const at = place.clock.now() - 3_600_000;
    ledger.commit(changeOf({ facts: [started("run-1", at)] }));
    ledger.appendEvent({ runId: runId("run-1"), issueId: A.id, at: at + 4000, event: "message", message: null });
    ledger.flush();
    expect(place.reader().usage({ by: "issue" }).total.seconds_running).toBe(3600);
    const gone = spawn(process.execPath, ["-e", ""]);
    await once(gone, "exit");
    const hand = new Database(place.path);
    hand.prepare("UPDATE daemon SET pid = ?").run(gone.pid);
    hand.close();
    expect(place.reader().usage({ by: "issue" }).total.seconds_running).toBe(4);
  });
});

describe("a reader", () => {
  test("works beside a daemon and after it, and sees what was committed meanwhile", async () => {
    await using place = await filledPlace();
    const reader = place.reader();
    expect(reader.runs()).toHaveLength(3);
    place.ledger.commit(changeOf({ facts: [started("run-4", place.clock.now(), A)] }));
    expect(reader.runs()).toHaveLength(4);
    place.ledger.close();
    expect(reader.runs()).toHaveLength(4);
    expect(place.reader().damage()).toEqual([]);
  });

  test("names a ledger that isn't there, and makes none", async () => {
    await using place = await makeLedgerPlace();
    const missing = expect.objectContaining({
      code: "ledger_unusable",
      message: expect.stringMatching(new RegExp(`${place.path} does not exist; start the daemon once`)),
    });
    expect(() => place.reader()).toThrow(missing);
    place.open().close();
  });

  test("finds an issue by the identifier it has now", async () => {
    await using place = await filledPlace();
    const reader = place.reader();
    expect(reader.issueByIdentifier("A-1")).toEqual({
      issue_id: "id-A-1",
      identifier: "A-1",
      title: "Title of A-1",
      state: "Todo",
    });
    expect(reader.issueByIdentifier("Z-1")).toBeNull();
  });

  test("answers the last events, oldest first", async () => {
    await using place = await filledPlace();
    for (let number = 0; number < 60; number += 1) {
      place.ledger.appendEvent({
        runId: runId("run-1"),
        issueId: A.id,
        at: place.clock.now() + number,
        event: "plan",
        message: String(number),
      });
    }
    place.ledger.flush();
    const events = place.reader().recentEvents(A.id);
    expect(events).toHaveLength(50);
    expect([events[0]?.message, events.at(-1)?.message]).toEqual(["10", "59"]);
    expect(place.reader().recentEvents(A.id, 1)).toEqual([
      { at: "2026-01-01T00:00:00.059Z", event: "plan", message: "59" },
    ]);
    expect(place.reader().recentEvents(B.id)).toEqual([]);
  });
});
