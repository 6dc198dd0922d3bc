/** A ledger that can't be written for a while, and then can: SQLite's own limit on pages stands in for the disk's. */
import Database from "better-sqlite3";
import { expect, test } from "vitest";

import { makeIssue } from "../../test/support/issues.ts";
import { changeOf, makeLedgerPlace, started } from "../../test/support/ledger.ts";
import type { Claim } from "../domain/claim.ts";
import { openForWriting } from "./database.ts";
import { createWriter } from "./writer.ts";

const ISSUE = makeIssue("A-1");
const BLOCKED: Claim = {
  kind: "blocked",
  why: "operator",
  class: null,
  attempt: null,
  message: "stopped",
  question: null,
  since: 1,
  issue: ISSUE,
  threadId: null,
  inbox: [],
};

test("a write that finds the disk full is undone whole, names the mend, and works once there is room", async () => {
  await using place = await makeLedgerPlace();
  const db = openForWriting(place.path, place.captured.log);
  try {
    const writer = createWriter(db, place.path);
    const setIssue = db.prepare("INSERT INTO issues VALUES (?, 'A', ?, 'Todo', '{}', 1)");
    const count = db.prepare<[], number>("SELECT count(*) FROM issues").pluck();
    db.pragma(`max_page_count = ${String(db.pragma("page_count", { simple: true }))}`);
    const write = (): void =>
      writer.durable("keeping issues", () => {
        for (let id = 0; id < 100; id += 1) setIssue.run(String(id), "x".repeat(1000));
      });
    expect(write).toThrow(
      expect.objectContaining({
        code: "ledger_unusable",
        message: expect.stringMatching(/^keeping issues: .*SQLITE_FULL.*; free some disk space$/),
        data: expect.objectContaining({ reason: "SQLITE_FULL" }),
      }),
    );
    expect(count.get()).toBe(0);
    db.pragma("max_page_count = 100000");
    write();
    expect(count.get()).toBe(100);
  } finally {
    db.close();
  }
});

test("a decision that failed can be written later, the issue that it was the first to name too", async () => {
  await using place = await makeLedgerPlace();
  const ledger = place.open();
  const hand = new Database(place.path);
  const change = changeOf({ claims: [[ISSUE.id, BLOCKED]], facts: [started("run-1", 1, ISSUE)] });
  try {
    hand.exec("CREATE TRIGGER full BEFORE INSERT ON claims BEGIN SELECT RAISE(ABORT, 'no room'); END");
    expect(() => ledger.commit(change)).toThrow("no room");
    hand.exec("DROP TRIGGER full");
  } finally {
    hand.close();
  }
  ledger.commit(change);
  expect(ledger.loadState().claims).toEqual(new Map([[ISSUE.id, BLOCKED]]));
  expect(place.reader().runs()).toHaveLength(1);
});
