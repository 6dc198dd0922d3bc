import { existsSync, readFileSync, statSync, writeFileSync } from "node:fs";

import Database from "better-sqlite3";
import { describe, expect, test } from "vitest";

import { makeIssue } from "../../test/support/issues.ts";
import { changeOf, ended, makeLedgerPlace, started, type LedgerPlace } from "../../test/support/ledger.ts";
import { runId } from "../domain/ids.ts";
import type { Ledger } from "./port.ts";
import { backupLedger, checkLedger, pruneLedger } from "./maintenance.ts";
import { DETAILS_KEPT_MS } from "./prune.ts";
import { openLedgerReader } from "./queries.ts";

const ISSUE = makeIssue("A-1");

/** A run with a turn, a tool call, a process, an event and tokens. */
function fullRun(ledger: Ledger, run: string, at: number, end: number | null): void {
  const id = runId(run);
  ledger.commit(changeOf({ facts: [started(run, at, ISSUE)] }));
  ledger.processSpawned(id, { pid: 1, processGroup: 1, startTime: run, marker: run }, at);
  ledger.turnIntended({ runId: id, turn: 1, intentId: run, at });
  ledger.turnStarted({ runId: id, turn: 1, threadId: `thread-${run}`, turnId: "u", at });
  ledger.toolIntended({ runId: id, turn: 1, callId: "c", name: "t", at });
  const total = { input: 10, cachedInput: 1, output: 2, reasoning: 0 };
  const usage = { runId: id, turn: 1, threadId: `thread-${run}`, issueId: ISSUE.id, total, subAgent: false };
  ledger.recordTokens({ ...usage, model: null, at });
  const item = { threadId: `thread-${run}`, turnId: "u", itemId: "i", kind: "message", data: { text: run } } as const;
  ledger.appendEvent({ runId: id, issueId: ISSUE.id, at, event: "message", message: run, item });
  if (end !== null) ledger.commit(changeOf({ facts: [ended(run, end, { kind: "succeeded" }, 0)] }));
}

function rowsOf(place: LedgerPlace, table: string): number {
  const db = new Database(place.path, { readonly: true });
  const count = db.prepare<[], number>(`SELECT count(*) FROM ${table}`).pluck().get();
  db.close();
  return count ?? -1;
}

describe("backup", () => {
  test("is a ledger of its own as of now, while the daemon goes on writing", async () => {
    await using place = await makeLedgerPlace();
    const ledger = place.open();
    fullRun(ledger, "run-1", 1, 2);
    const target = `${place.dir}/copy.db`;
    backupLedger(place.path, target);
    fullRun(ledger, "run-2", 3, null);
    expect(statSync(target).mode & 0o777).toBe(0o600);
    expect(existsSync(`${target}-wal`)).toBe(false);
    const copy = openLedgerReader(target);
    expect(copy.runs().map((run) => run.run_id)).toEqual(["run-1"]);
    copy.close();
    const restored = place.open({ path: target });
    expect(restored.id).toBe(ledger.id);
    expect(restored.totals().tokens.input).toBe(10);
  });

  test("overwrites nothing", async () => {
    await using place = await makeLedgerPlace();
    place.open();
    const target = `${place.dir}/precious`;
    writeFileSync(target, "mine");
    expect(() => backupLedger(place.path, target)).toThrow(/precious exists already; choose another file/);
    expect(readFileSync(target, "utf8")).toBe("mine");
  });
});

describe("check", () => {
  test("finds nothing wrong with a ledger in use", async () => {
    await using place = await makeLedgerPlace();
    fullRun(place.open(), "run-1", 1, 2);
    expect(checkLedger(place.path)).toEqual([]);
  });

  test("finds references that lead nowhere, and rows that a start couldn't read", async () => {
    await using place = await makeLedgerPlace();
    fullRun(place.open(), "run-1", 1, 2);
    const hand = new Database(place.path);
    hand.pragma("foreign_keys = OFF");
    hand.exec("INSERT INTO turns (run_id, turn, intent_id, intended_at) VALUES ('nobody', 1, 'x', 1)");
    expect(checkLedger(place.path)).toEqual(["1 rows refer to rows that are gone"]);
    hand.exec("DELETE FROM turns WHERE run_id = 'nobody'; INSERT INTO pauses VALUES ('auth', 1, NULL, '{}')");
    hand.close();
    expect(checkLedger(place.path)).toEqual([expect.stringMatching(/row auth of table pauses/)]);
  });

  test("finds damage inside the file", async () => {
    await using place = await makeLedgerPlace();
    const ledger = place.open();
    ledger.commit(changeOf({ facts: Array.from({ length: 400 }, (_, number) => started(`run-${number}`, number)) }));
    ledger.close();
    const bytes = readFileSync(place.path);
    bytes.fill(0xee, 4096 * 24, 4096 * 26);
    writeFileSync(place.path, bytes);
    let found: readonly string[] = [];
    try {
      found = checkLedger(place.path);
    } catch (error) {
      found = [String(error)];
    }
    expect(found.join()).toMatch(/btree|page|malformed|corrupt/i);
  });
});

describe("old details", () => {
  const DETAILS = ["events", "event_turns", "turns", "tool_calls", "processes", "token_marks"] as const;

  test("go, beside a running daemon too; runs, their turn counts and every token stay", async () => {
    await using place = await makeLedgerPlace();
    const ledger = place.open();
    const day = 24 * 3_600_000;
    const now = Date.now();
    fullRun(ledger, "old", now - 3 * day, now - 2 * day);
    fullRun(ledger, "open", now - 3 * day, null);
    fullRun(ledger, "new", now, now + 1);
    ledger.flush();
    const before = { totals: ledger.totals(), runs: place.reader().runs() };
    expect(pruneLedger(place.path, day)).toEqual({
      events: 2,
      turns: 1,
      tool_calls: 1,
      processes: 1,
      token_marks: 2,
    });
    expect(DETAILS.map((table) => rowsOf(place, table))).toEqual([1, 1, 2, 2, 2, 1]);
    expect({ totals: ledger.totals(), runs: place.reader().runs() }).toEqual(before);
    expect(before.runs.map((run) => run.turns)).toEqual([1, 1, 1]);
  });

  test("keep the mark of a thread that can be resumed", async () => {
    await using place = await makeLedgerPlace();
    const ledger = place.open();
    fullRun(ledger, "old", 1, 2);
    ledger.bindThread({ issueId: ISSUE.id, threadId: "thread-old", binding: {}, at: 2 });
    expect(pruneLedger(place.path, 1).token_marks).toBe(0);
    ledger.unbindThread(ISSUE.id);
    expect(pruneLedger(place.path, 1).token_marks).toBe(1);
  });

  test("go by themselves once a day while a daemon runs", async () => {
    await using place = await makeLedgerPlace();
    const ledger = place.open();
    const at = place.clock.now();
    fullRun(ledger, "run-1", at, at + 1);
    ledger.flush();
    await place.clock.advance(DETAILS_KEPT_MS + 2);
    expect(rowsOf(place, "turns")).toBe(1);
    fullRun(ledger, "run-2", place.clock.now(), null);
    ledger.flush();
    expect(DETAILS.map((table) => rowsOf(place, table))).toEqual([1, 1, 1, 1, 1, 1]);
    expect(place.reader().runs()).toHaveLength(2);
  });

  test("give their space back", async () => {
    await using place = await makeLedgerPlace();
    const ledger = place.open();
    fullRun(ledger, "run-1", 1, 2);
    for (let number = 0; number < 400; number += 1) {
      const message = "x".repeat(2000);
      ledger.appendEvent({ runId: runId("run-1"), issueId: ISSUE.id, at: 1, event: "message", message });
    }
    ledger.close();
    const full = statSync(place.path).size;
    pruneLedger(place.path, 1);
    expect(statSync(place.path).size).toBeLessThan(full / 2);
  });
});
