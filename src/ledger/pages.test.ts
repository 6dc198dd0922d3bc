import Database from "better-sqlite3";
import { describe, expect, test } from "vitest";

import { makeIssue } from "../../test/support/issues.ts";
import { changeOf, ended, makeLedgerPlace, started, type LedgerPlace } from "../../test/support/ledger.ts";
import { runId } from "../domain/ids.ts";
import { failed } from "../domain/outcome.ts";
import { DAYS_SQL } from "./daily.ts";
import { eventsStatement } from "./event-list.ts";
import { issuesSql } from "./issue-list.ts";
import type { Ledger } from "./port.ts";
import { QUESTIONS_SQL } from "./question-list.ts";
import { runsStatement, type RunsQuery } from "./run-list.ts";

const A = makeIssue("A-1");
const B = makeIssue("B-2");
const DAY = 24 * 3_600_000;

/** Eight runs of two issues, two of them begun in the same millisecond; every third failed, and the last goes on. */
async function placeWithRuns(): Promise<LedgerPlace & { readonly ledger: Ledger; readonly now: number }> {
  const place = await makeLedgerPlace();
  const ledger = place.open();
  const now = place.clock.now();
  for (let number = 1; number <= 8; number += 1) {
    const at = now - DAY + Math.min(number, 7) * 1000;
    ledger.commit(changeOf({ facts: [started(`run-${number}`, at, number % 2 === 0 ? A : B)] }));
    const outcome = number % 3 === 0 ? failed("agent", "broke") : ({ kind: "succeeded" } as const);
    if (number < 8) ledger.commit(changeOf({ facts: [ended(`run-${number}`, at + number * 1000, outcome)] }));
  }
  return { ...place, ledger, now };
}

describe("pages of runs", () => {
  test("lead through all of them, newest first, each once", async () => {
    await using place = await placeWithRuns();
    const reader = place.reader();
    const seen: string[] = [];
    for (let before: string | undefined; ;) {
      const page = reader.runs(before === undefined ? { limit: 3 } : { limit: 3, before });
      seen.push(...page.map((run) => run.run_id));
      before = page.at(-1)?.run_id;
      if (page.length < 3) break;
    }
    expect(seen).toEqual(["run-8", "run-7", "run-6", "run-5", "run-4", "run-3", "run-2", "run-1"]);
    expect(reader.runs({ before: "nobody" })).toEqual([]);
  });

  test.each<[RunsQuery, string[]]>([
    [{ issue: "A-1" }, ["run-8", "run-6", "run-4", "run-2"]],
    [{ issue: "id-A-1", outcome: "failed" }, ["run-6"]],
    [{ outcome: "failed" }, ["run-6", "run-3"]],
    [{ outcome: "running" }, ["run-8"]],
    [{ outcome: "succeeded", before: "run-4", limit: 1 }, ["run-2"]],
    [{ outcome: "stalled" }, []],
  ])("are filtered by %j", async (query, runs) => {
    await using place = await placeWithRuns();
    expect(
      place
        .reader()
        .runs(query)
        .map((run) => run.run_id),
    ).toEqual(runs);
    const { limit: _, before: __, ...filters } = query;
    expect(place.reader().runCount(filters)).toBe(place.reader().runs(filters).length);
  });
});

describe("one run", () => {
  test("is shown with what each turn used and said last, and its tool calls", async () => {
    await using place = await placeWithRuns();
    const { ledger, now } = place;
    const run = runId("run-8");
    for (const turn of [1, 2]) {
      ledger.turnIntended({ runId: run, turn, intentId: `i-${turn}`, at: now });
      ledger.turnStarted({ runId: run, turn, threadId: "t", turnId: `u-${turn}`, at: now + turn });
    }
    ledger.turnEnded({ runId: run, turn: 1, status: "completed", error: null, at: now + 2 });
    const total = { input: 10, cachedInput: 4, output: 2, reasoning: 1 };
    const usage = { runId: run, turn: 1, threadId: "t", issueId: A.id, total, subAgent: false, model: null };
    ledger.recordTokens({ ...usage, at: now });
    for (const text of ["first", "last"]) {
      const item = { threadId: "t", turnId: "u-1", itemId: text, kind: "message", data: { text } } as const;
      ledger.appendEvent({ runId: run, issueId: A.id, at: now, event: "message", message: text, item });
    }
    ledger.toolIntended({ runId: run, turn: 1, callId: "c-1", name: "linear_graphql", at: now });
    ledger.toolEnded({ runId: run, callId: "c-1", ok: false, durationMs: 5, bytes: 7, at: now + 5 });
    ledger.toolIntended({ runId: run, turn: 2, callId: "c-2", name: "linear_graphql", at: now + 6 });
    ledger.flush();
    expect(place.reader().run("run-8")).toMatchObject({
      run_id: "run-8",
      outcome: null,
      changed: null,
      turns: 2,
      turn_list: [
        {
          turn: 1,
          thread_id: "t",
          turn_id: "u-1",
          status: "completed",
          error: null,
          started_at: "2026-01-01T00:00:00.001Z",
          ended_at: "2026-01-01T00:00:00.002Z",
          tokens: { input: 10, cached_input: 4, output: 2, reasoning: 1, total: 12, fresh: true },
          final_message: "last",
        },
        { turn: 2, status: null, ended_at: null, tokens: { total: 0, fresh: false }, final_message: null },
      ],
      tool_calls: [
        { call_id: "c-1", turn: 1, name: "linear_graphql", ok: false, duration_ms: 5, bytes: 7 },
        { call_id: "c-2", turn: 2, ok: null, ended_at: null },
      ],
    });
  });

  test("that nobody knows is null", async () => {
    await using place = await placeWithRuns();
    expect(place.reader().run("nobody")).toBeNull();
  });
});

describe("pages of events", () => {
  async function placeWithEvents(): Promise<LedgerPlace & { readonly first: number }> {
    const place = await placeWithRuns();
    const sequences = Array.from({ length: 10 }, (_, number) =>
      place.ledger.appendEvent({
        runId: runId(number % 2 === 0 ? "run-8" : "run-7"),
        issueId: number % 2 === 0 ? A.id : B.id,
        at: place.now + number,
        event: "plan",
        message: String(number),
      }),
    );
    place.ledger.flush();
    return { ...place, first: sequences[0] ?? 0 };
  }

  test("are the newest, what follows a number, or what comes before one; always oldest first", async () => {
    await using place = await placeWithEvents();
    const reader = place.reader();
    const told = (query: Parameters<typeof reader.events>[0]): string =>
      reader
        .events(query)
        .map((event) => event.message)
        .join("");
    expect(told({})).toBe("0123456789");
    expect(told({ limit: 3 })).toBe("789");
    expect(told({ after: place.first + 3, limit: 3 })).toBe("456");
    expect(told({ before: place.first + 3, limit: 2 })).toBe("12");
    expect(told({ run: "run-7" })).toBe("13579");
    expect(told({ run: "run-7", after: place.first + 5 })).toBe("79");
    expect(told({ issue: "id-A-1", limit: 2 })).toBe("68");
    expect(told({ issue: "id-A-1", after: place.first + 9 })).toBe("");
    expect(told({ run: "nobody" })).toBe("");
  });

  test("are never empty by their limit, nor without one", async () => {
    await using place = await placeWithEvents();
    expect(place.reader().events({ limit: 0 })).toHaveLength(1);
    expect(place.reader().events({ limit: Number.MAX_SAFE_INTEGER })).toHaveLength(10);
  });
});

describe("issues", () => {
  test("are listed by when they were seen, with their runs, page by page", async () => {
    await using place = await placeWithRuns();
    await place.clock.advance(1000);
    place.ledger.commit(changeOf({ facts: [started("run-9", 9, makeIssue("C-3"))] }));
    const reader = place.reader();
    expect(reader.issues().map((issue) => issue.issue_identifier)).toEqual(["C-3", "A-1", "B-2"].toSorted(byPlace));
    const [first] = reader.issues({ limit: 1 });
    expect(first).toMatchObject({ issue_identifier: "C-3", runs: 1, last_run_id: "run-9", last_outcome: null });
    const rest = reader.issues({ before: "id-C-3" });
    expect(rest.find((issue) => issue.issue_id === "id-B-2")).toMatchObject({
      title: "Title of B-2",
      runs: 4,
      last_run_id: "run-7",
      last_outcome: "succeeded",
      last_started_at: new Date(place.now - DAY + 7000).toISOString(),
    });
    expect(rest).toHaveLength(2);
    expect(reader.issues({ before: "nobody" })).toEqual([]);
  });
});

/** C-3 was seen last; the other two in one millisecond, and the later row comes first. */
function byPlace(left: string, right: string): number {
  const places = ["C-3", "A-1", "B-2"];
  return places.indexOf(left) - places.indexOf(right);
}

describe("questions", () => {
  function ask(ledger: Ledger, run: string, id: string): void {
    const data = { kind: "command", summary: `may I ${id}`, subject: "git push", detail: "{}", deadline_at: 0 };
    const item = { threadId: "", turnId: null, itemId: id, kind: "question", data } as const;
    const at = Date.UTC(2026, 0, 1);
    ledger.appendEvent({ runId: runId(run), issueId: A.id, at, event: "question_asked", message: null, item });
  }

  test("are listed newest first, page by page, with when the agent had the answer, in a later run too", async () => {
    await using place = await placeWithRuns();
    for (const id of ["q1", "q2", "q3"]) ask(place.ledger, "run-6", id);
    const item = { threadId: "", turnId: null, itemId: "q1.answer", kind: "answer", data: {} } as const;
    const answered = { runId: runId("run-8"), issueId: A.id, at: place.now + 1000, message: null, item };
    place.ledger.appendEvent({ ...answered, event: "question_answered" });
    place.ledger.flush();
    const reader = place.reader();
    const [newest] = reader.questions({ limit: 1 });
    expect(newest).toMatchObject({ id: "q3", run_id: "run-6", issue_identifier: "A-1", answered_at: null });
    const rest = reader.questions(newest === undefined ? {} : { before: newest.sequence });
    expect(rest.map(({ id }) => id)).toEqual(["q2", "q1"]);
    expect(rest[1]).toMatchObject({
      kind: "command",
      summary: "may I q1",
      subject: "git push",
      asked_at: "2026-01-01T00:00:00.000Z",
      deadline_at: "1970-01-01T00:00:00.000Z",
      answered_at: "2026-01-01T00:00:01.000Z",
    });
    expect(reader.events({ run: "run-6" })[0]?.item?.thread_id).toBeNull();
  });
});

describe("days", () => {
  test("count outcomes and durations of the runs that began on them", async () => {
    await using place = await placeWithRuns();
    place.ledger.commit(changeOf({ facts: [started("today", place.now + 5, A), started("long-ago", 5, A)] }));
    const reader = place.reader();
    expect(reader.days(2)).toEqual([
      {
        day: "2025-12-31",
        runs: 8,
        outcomes: { running: 1, succeeded: 5, failed: 2, timed_out: 0, stalled: 0, cancelled: 0, needs_input: 0 },
        seconds: { median: 4, p90: 7, max: 7 },
      },
      {
        day: "2026-01-01",
        runs: 1,
        outcomes: { running: 1, succeeded: 0, failed: 0, timed_out: 0, stalled: 0, cancelled: 0, needs_input: 0 },
        seconds: null,
      },
    ]);
    expect(reader.days(1).map(({ day }) => day)).toEqual(["2026-01-01"]);
  });
});

describe("no page reads a whole table", () => {
  const RUN_QUERIES: readonly RunsQuery[] = [
    { limit: 20 },
    { limit: 20, before: "run-1" },
    { limit: 20, issue: "A-1" },
    { limit: 20, outcome: "failed" },
    { limit: 20, outcome: "failed", before: "run-1" },
    { limit: 20, outcome: "running" },
  ];
  const EVENT_QUERIES = [
    { limit: 20 },
    { after: 1 },
    { run: "run-1", after: 1 },
    { run: "run-1" },
    { issue: "id-A-1", after: 1 },
    { issue: "id-A-1", before: 9 },
  ];
  const statements: readonly (readonly [string, string, object | number])[] = [
    ...RUN_QUERIES.map((query) => [`runs ${JSON.stringify(query)}`, ...ofStatement(runsStatement(query))] as const),
    ...EVENT_QUERIES.map(
      (query) => [`events ${JSON.stringify(query)}`, ...ofStatement(eventsStatement(query))] as const,
    ),
    ["issues", issuesSql(false), { limit: 1 }],
    ["issues before one", issuesSql(true), { limit: 1, before: "x" }],
    ["days", DAYS_SQL, 1],
    ["questions", QUESTIONS_SQL, { before: 1, limit: 1 }],
  ];

  test.each(statements)("%s", async (_, sql, values) => {
    await using place = await placeWithRuns();
    place.ledger.close();
    const db = new Database(place.path, { readonly: true });
    const plan = db.prepare<[object | number], { detail: string }>(`EXPLAIN QUERY PLAN ${sql}`).all(values);
    db.close();
    const scans = plan.map(({ detail }) => detail).filter((detail) => detail.startsWith("SCAN"));
    // The rows of the page itself, and an index or the numbered table read in the order of the page until the limit is reached.
    const harmless = /^SCAN (?:r|i)$|^SCAN (?:runs|issues) USING INDEX |^SCAN e$/;
    expect(scans.filter((detail) => !harmless.test(detail))).toEqual([]);
    expect(plan.map(({ detail }) => detail).filter((detail) => /^SCAN runs$|^SCAN issues$/.test(detail))).toEqual([]);
  });
});

function ofStatement({ sql, values }: { readonly sql: string; readonly values: object }): readonly [string, object] {
  return [sql, values];
}
