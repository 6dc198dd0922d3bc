import Database from "better-sqlite3";
import fc from "fast-check";
import { describe, expect, test } from "vitest";

import { makeIssue } from "../../test/support/issues.ts";
import { changeOf, ended, makeLedgerPlace, started } from "../../test/support/ledger.ts";
import type { Claim, DurableChange, Pause, WorkspaceRecord } from "../domain/claim.ts";
import { issueId, runId } from "../domain/ids.ts";
import type { Issue } from "../domain/issue.ts";

const RUN = runId("run-1");
const ISSUE = makeIssue("A-1");

const words = fc.string({ unit: "binary", maxLength: 20 });
const nullableWords = fc.option(words);
const time = fc.integer({ min: 0, max: 4e12 });
const count = fc.nat({ max: 1000 });

const anyIssue: fc.Arbitrary<Issue> = fc.record({
  id: fc.constant(ISSUE.id),
  identifier: words,
  title: words,
  state: words,
  description: nullableWords,
  branch_name: nullableWords,
  url: nullableWords,
  assignee_id: nullableWords,
  priority: fc.option(fc.integer()),
  labels: fc.array(words),
  blocked_by: fc.array(fc.record({ id: nullableWords, identifier: nullableWords, state: nullableWords })),
  dispatchable: fc.boolean(),
  native_ref: fc.option(fc.constant({ uuid: "u", nested: [1, null, { a: true }] })),
  created_at: nullableWords,
  updated_at: nullableWords,
});

const questionKind = fc.constantFrom("command", "file_change", "permissions", "elicitation", "question");

const inbox = fc.array(
  fc.oneof(
    fc.record({ kind: fc.constant("message"), id: words, text: words, at: time }),
    fc.record({
      kind: fc.constant("answer"),
      id: words,
      question: questionKind,
      subject: nullableWords,
      summary: words,
      answer: fc.record({ accept: fc.boolean(), text: nullableWords }),
      at: time,
    }),
  ),
);

const question = fc.option(
  fc.record({
    id: words,
    kind: questionKind,
    summary: words,
    subject: nullableWords,
    detail: words,
    askedAt: time,
    deadlineAt: fc.option(time),
  }),
);

const anyClaim: fc.Arbitrary<Claim> = fc.oneof(
  fc.record({
    kind: fc.constant("running"),
    runId: words.map(runId),
    attempt: fc.option(count),
    issue: anyIssue,
    phase: fc.constantFrom("preparing", "launching", "turn", "between", "finishing", "stopping"),
    host: words,
    threadId: nullableWords,
    startedAt: time,
    lastEventAt: time,
    open: count,
    turn: count,
    question,
    stopping: fc.option(
      fc.record({
        why: fc.constantFrom("terminal", "stalled", "operator_stop", "budget", "shutdown"),
        since: time,
        interruptAt: fc.option(time),
        detail: nullableWords,
      }),
    ),
    idle: fc.record({ runs: count, state: words }),
    inbox,
  }),
  fc.record({
    kind: fc.constant("waiting"),
    attempt: fc.option(count),
    issue: anyIssue,
    dueAt: fc.option(fc.double({ min: 0, max: 4e12, noNaN: true, noDefaultInfinity: true }).map((value) => value + 0)),
    why: fc.constantFrom("continuation", "failure", "usage_limit", "recovered", "answered"),
    error: nullableWords,
    threadId: nullableWords,
    check: fc.option(count),
    idle: fc.record({ runs: count, state: words }),
    inbox,
  }),
  fc.record({
    kind: fc.constant("blocked"),
    why: fc.constantFrom("operator", "no_progress", "needs_input", "budget", "not_retryable"),
    message: words,
    class: fc.option(fc.constantFrom("agent", "hook", "config_refused")),
    since: time,
    attempt: fc.option(count),
    issue: anyIssue,
    question,
    threadId: nullableWords,
    inbox,
  }),
  fc.record({ kind: fc.constant("cleaning"), path: words, issue: anyIssue, since: time }),
);

const RUNNING: Claim = {
  kind: "running",
  runId: RUN,
  attempt: null,
  issue: ISSUE,
  phase: "preparing",
  host: "local",
  threadId: null,
  startedAt: 1,
  lastEventAt: 1,
  open: 0,
  turn: 0,
  question: null,
  stopping: null,
  idle: { runs: 0, state: "todo" },
  inbox: [],
};

describe("the scheduler's state", () => {
  test("comes back from the file as it was committed, whatever the claim", async () => {
    await using place = await makeLedgerPlace();
    fc.assert(
      fc.property(anyClaim, (claim) => {
        const before = place.open();
        before.commit(changeOf({ claims: [[ISSUE.id, claim]] }));
        before.close();
        const after = place.open();
        expect(after.loadState().claims).toEqual(new Map([[ISSUE.id, claim]]));
        after.close();
      }),
      { numRuns: 25 },
    );
  });

  test("holds workspaces and pauses, and forgets what a change drops", async () => {
    await using place = await makeLedgerPlace();
    const ledger = place.open();
    const record: WorkspaceRecord = {
      issueId: ISSUE.id,
      identifier: "A-1",
      path: "/w/A-1",
      host: "local",
      createdAt: 5,
    };
    const pause: Pause = { kind: "usage_limit", since: 1, until: 2.5, message: "limit", step: 3, probe: issueId("p") };
    const change: DurableChange = {
      claims: new Map([[ISSUE.id, RUNNING]]),
      workspaces: new Map([[ISSUE.id, record]]),
      pauses: new Map([["usage_limit", pause]]),
      facts: [],
    };
    ledger.commit(change);
    expect(ledger.loadState()).toEqual({ claims: change.claims, workspaces: change.workspaces, pauses: change.pauses });
    ledger.commit({
      claims: new Map([[ISSUE.id, null]]),
      workspaces: new Map([[ISSUE.id, null]]),
      pauses: new Map([["usage_limit", null]]),
      facts: [],
    });
    expect(ledger.loadState()).toEqual({ claims: new Map(), workspaces: new Map(), pauses: new Map() });
  });

  test("follows the newest sight of an issue", async () => {
    await using place = await makeLedgerPlace();
    const ledger = place.open();
    ledger.commit(changeOf({ claims: [[ISSUE.id, RUNNING]] }));
    const moved = { ...RUNNING, issue: { ...ISSUE, state: "In Progress", identifier: "B-9" } };
    ledger.commit(changeOf({ claims: [[ISSUE.id, moved]] }));
    expect(ledger.loadState().claims.get(ISSUE.id)).toEqual(moved);
  });

  test("is committed whole or not at all", async () => {
    await using place = await makeLedgerPlace();
    const ledger = place.open();
    ledger.commit(changeOf({ claims: [[ISSUE.id, RUNNING]], facts: [started("run-1", 1)] }));
    const cyclic = { ...makeIssue("A-2") };
    Object.assign(cyclic, { native_ref: { self: cyclic } });
    const broken = changeOf({
      claims: [
        [ISSUE.id, null],
        [cyclic.id, { ...RUNNING, issue: cyclic }],
      ],
      facts: [ended("run-1", 2)],
    });
    expect(() => ledger.commit(broken)).toThrow(/circular/);
    expect([...ledger.loadState().claims.values()]).toEqual([RUNNING]);
    expect(place.reader().runs()).toMatchObject([{ outcome: null, ended_at: null }]);
  });

  test.each([
    ["claims", "UPDATE claims SET data = '{}'", /row id-A-1 of table claims/],
    ["claims", "UPDATE claims SET data = replace(data, 'preparing', 'dancing')", /row id-A-1 of table claims.*phase/],
    ["issues", "UPDATE issues SET data = 'oops'", /row id-A-1 of table issues.*not JSON/],
    ["pauses", "INSERT INTO pauses VALUES ('auth', 1, NULL, '[]')", /row auth of table pauses/],
  ])("that can't be read names the row of %s", async (_table, sql, message) => {
    await using place = await makeLedgerPlace();
    place.open().commit(changeOf({ claims: [[ISSUE.id, RUNNING]] }));
    const hand = new Database(place.path);
    hand.exec(sql);
    hand.close();
    expect(() => place.open().loadState()).toThrow(
      expect.objectContaining({ code: "ledger_unusable", message: expect.stringMatching(message) }),
    );
  });
});
