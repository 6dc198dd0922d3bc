import Database from "better-sqlite3";
import { describe, expect, test } from "vitest";

import { changeOf, makeLedgerPlace, started } from "../../test/support/ledger.ts";
import { issueId, runId } from "../domain/ids.ts";
import { EVENTS_PER_RUN } from "./event-table.ts";
import type { EventRow, Ledger } from "./port.ts";

const ISSUE = issueId("id-A-1");

/** When the test's clock begins. */
const START = Date.UTC(2026, 0, 1);

function event(number: number, run = "run-1"): EventRow {
  return { runId: runId(run), issueId: ISSUE, at: START + number, event: "message", message: `text ${number}` };
}

function withRuns(ledger: Ledger): Ledger {
  ledger.commit(changeOf({ facts: [started("run-1", 1), started("run-2", 2)] }));
  return ledger;
}

describe("events", () => {
  test("are written together a quarter of a second after the first", async () => {
    await using place = await makeLedgerPlace();
    const ledger = withRuns(place.open());
    const reader = place.reader();
    ledger.appendEvent(event(1));
    await place.clock.advance(200);
    ledger.appendEvent(event(2));
    expect(reader.recentEvents(ISSUE)).toEqual([]);
    await place.clock.advance(50);
    expect(reader.recentEvents(ISSUE)).toEqual([
      { at: "2026-01-01T00:00:00.001Z", event: "message", message: "text 1" },
      { at: "2026-01-01T00:00:00.002Z", event: "message", message: "text 2" },
    ]);
    expect(place.clock.armedCount()).toBe(0);
  });

  test("are written at once when many wait", async () => {
    await using place = await makeLedgerPlace();
    const ledger = withRuns(place.open());
    for (let number = 0; number < 200; number += 1) ledger.appendEvent(event(number));
    expect(place.reader().recentEvents(ISSUE, 1000)).toHaveLength(200);
    expect(place.clock.armedCount()).toBe(0);
  });

  test("are there after a close, which leaves no timer behind", async () => {
    await using place = await makeLedgerPlace();
    const ledger = withRuns(place.open());
    ledger.appendEvent(event(1));
    ledger.close();
    ledger.appendEvent(event(2));
    expect(place.clock.armedCount()).toBe(0);
    expect(
      place
        .reader()
        .recentEvents(ISSUE)
        .map((row) => row.message),
    ).toEqual(["text 1"]);
  });

  test("are bounded per run, over restarts too, and the newest stay", async () => {
    await using place = await makeLedgerPlace();
    const first = withRuns(place.open());
    first.appendEvent(event(-1, "run-2"));
    for (let number = 0; number < 400; number += 1) first.appendEvent(event(number));
    first.close();
    const second = place.open();
    for (let number = 400; number < 2000; number += 1) second.appendEvent(event(number));
    second.flush();
    const messages = place
      .reader()
      .recentEvents(ISSUE, 10_000)
      .map((row) => row.message);
    expect(messages.length).toBeGreaterThan(EVENTS_PER_RUN);
    expect(messages.length).toBeLessThanOrEqual(EVENTS_PER_RUN + 101);
    expect(messages[0]).toBe("text -1");
    expect(messages.at(-1)).toBe("text 1999");
  });

  test("of a run that nobody knows are dropped alone", async () => {
    await using place = await makeLedgerPlace();
    const ledger = withRuns(place.open());
    ledger.appendEvent(event(1));
    ledger.appendEvent(event(2, "nobody"));
    ledger.appendEvent(event(3));
    ledger.flush();
    expect(
      place
        .reader()
        .recentEvents(ISSUE)
        .map((row) => row.message),
    ).toEqual(["text 1", "text 3"]);
  });

  test("wait in memory while they can't be written, with one line in the log, and lose none", async () => {
    await using place = await makeLedgerPlace();
    const ledger = withRuns(place.open());
    const other = new Database(place.path);
    other.exec("CREATE TRIGGER refuse BEFORE INSERT ON events BEGIN SELECT RAISE(ABORT, 'no'); END");
    for (let number = 0; number < 450; number += 1) ledger.appendEvent(event(number));
    await place.clock.advance(2000);
    expect(place.captured.warnings()).toHaveLength(1);
    other.exec("DROP TRIGGER refuse");
    other.close();
    await place.clock.advance(1000);
    expect(place.reader().recentEvents(ISSUE, 1000)).toHaveLength(450);
  });
});
