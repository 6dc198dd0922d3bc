import Database from "better-sqlite3";
import { describe, expect, test } from "vitest";

import { changeOf, makeLedgerPlace, started, type LedgerPlace } from "../../test/support/ledger.ts";
import { ManualClock } from "../../test/support/manual-clock.ts";
import { issueId, runId } from "../domain/ids.ts";
import type { TranscriptItem } from "../domain/transcript.ts";
import type { EventEntryJson } from "./event-list.ts";
import { EVENTS_PER_RUN } from "./event-table.ts";
import type { Ledger } from "./port.ts";

const ISSUE = issueId("id-A-1");
/** A second after the test's clock begins. */
const AT = Date.UTC(2026, 0, 1, 0, 0, 1);

function item(itemId: string, data: TranscriptItem["data"], more: Partial<TranscriptItem> = {}): TranscriptItem {
  return { threadId: "t", turnId: "u", itemId, kind: "message", data, ...more };
}

function tell(ledger: Ledger, told: TranscriptItem, run = "run-1"): number {
  return ledger.appendEvent({ runId: runId(run), issueId: ISSUE, at: AT, event: told.kind, message: null, item: told });
}

async function ledgerWithRuns(
  redact?: (text: string) => string,
): Promise<LedgerPlace & { readonly ledger: Ledger; events(run?: string): readonly EventEntryJson[] }> {
  const place = await makeLedgerPlace();
  const ledger = place.open(redact === undefined ? {} : { redact });
  ledger.commit(changeOf({ facts: [started("run-1", AT), started("run-2", AT)] }));
  return {
    ...place,
    ledger,
    events(run = "run-1") {
      ledger.flush();
      return place.reader().events({ run, limit: 1000 });
    },
  };
}

describe("an item", () => {
  test("is kept in full beside its event, under the event's number", async () => {
    await using place = await ledgerWithRuns();
    const sequence = tell(place.ledger, item("m-1", { text: "done" }));
    expect(place.events()).toEqual([
      {
        sequence,
        run_id: "run-1",
        issue_id: "id-A-1",
        at: "2026-01-01T00:00:01.000Z",
        event: "message",
        message: null,
        item: { thread_id: "t", turn_id: "u", item_id: "m-1", kind: "message", data: { text: "done" } },
      },
    ]);
  });

  test("is kept once, by the run that told it first, however often a resumed thread tells it again", async () => {
    await using place = await ledgerWithRuns();
    tell(place.ledger, item("m-1", { text: "done" }));
    tell(place.ledger, item("m-1", { text: "done" }));
    place.ledger.close();
    const next = place.open();
    tell(next, item("m-1", { text: "done, told otherwise" }), "run-2");
    tell(next, item("m-1", { text: "another turn's" }, { turnId: "u-2" }), "run-2");
    tell(next, item("m-1", { text: "another thread's" }, { threadId: "t-2" }), "run-2");
    next.flush();
    const reader = place.reader();
    const texts = (run: string): unknown => reader.events({ run }).map(({ item: kept }) => kept?.data);
    expect(texts("run-1")).toEqual([{ text: "done" }]);
    expect(texts("run-2")).toEqual([{ text: "another turn's" }, { text: "another thread's" }]);
  });

  test("without a turn is kept as one without", async () => {
    await using place = await ledgerWithRuns();
    tell(place.ledger, item("m-1", { text: "x" }, { turnId: null }));
    tell(place.ledger, item("m-1", { text: "x" }, { turnId: null }));
    expect(place.events().map((event) => event.item?.turn_id)).toEqual([null]);
  });

  test("that is a plan is kept as it was told last, and told as often as it changed", async () => {
    await using place = await ledgerWithRuns();
    const plan = (text: string): TranscriptItem => item("plan", { text }, { kind: "plan" });
    tell(place.ledger, plan("[pending] one"));
    tell(place.ledger, plan("[pending] one"));
    const last = tell(place.ledger, plan("[completed] one"));
    const events = place.events();
    expect(events.map((event) => event.item?.data ?? null)).toEqual([null, { text: "[completed] one" }]);
    expect(events.at(-1)?.sequence).toBe(last);
  });

  test("holds no known secret, however its JSON would spell it", async () => {
    const secret = 'pass"word\nwith\\everything';
    await using place = await ledgerWithRuns((text) => text.replaceAll(secret, "[redacted]"));
    const changes = [{ path: "a", change: "add", diff: `+${secret}` }];
    tell(place.ledger, item("c", { changes, n: 1, flag: true, none: null }, { kind: "file_change" }));
    expect(place.events()[0]?.item?.data).toEqual({
      changes: [{ path: "a", change: "add", diff: "+[redacted]" }],
      n: 1,
      flag: true,
      none: null,
    });
  });

  test("of a run that nobody knows is dropped", async () => {
    await using place = await ledgerWithRuns();
    tell(place.ledger, item("m-1", { text: "x" }), "nobody");
    tell(place.ledger, item("m-2", { text: "y" }));
    expect(place.events("nobody")).toEqual([]);
    expect(place.events()).toHaveLength(1);
  });
});

test("the items of a run are bounded, over restarts too, and the newest stay", async () => {
  await using place = await ledgerWithRuns();
  const count = EVENTS_PER_RUN + 250;
  for (let number = 0; number < count / 2; number += 1) tell(place.ledger, item(`m-${number}`, { number }));
  tell(place.ledger, item("other", {}), "run-2");
  place.ledger.close();
  const next = place.open();
  for (let number = count / 2; number < count; number += 1) tell(next, item(`m-${number}`, { number }));
  next.close();
  const db = new Database(place.path, { readonly: true });
  const ids = db
    .prepare("SELECT item_id FROM events JOIN event_runs ON number = run WHERE run_id = ? ORDER BY id")
    .pluck();
  const [kept, others] = [ids.all("run-1"), ids.all("run-2")];
  db.close();
  expect(kept.length).toBeGreaterThanOrEqual(EVENTS_PER_RUN);
  expect(kept.length).toBeLessThanOrEqual(EVENTS_PER_RUN + 200);
  expect(kept.at(-1)).toBe(`m-${count - 1}`);
  expect(others).toEqual(["other"]);
});

describe("sequence numbers", () => {
  test("rise over restarts, after rows were lost or pruned too", async () => {
    await using place = await ledgerWithRuns();
    const first = tell(place.ledger, item("m-1", { text: "x" }));
    expect(tell(place.ledger, item("m-2", { text: "x" }))).toBe(first + 1);
    place.ledger.close();
    const hand = new Database(place.path);
    hand.exec("DELETE FROM events");
    hand.close();
    await place.clock.advance(1000);
    expect(tell(place.open(), item("m-3", { text: "x" }))).toBeGreaterThan(first + 1);
  });

  test("rise with a clock that was set back, while there are rows", async () => {
    await using place = await ledgerWithRuns();
    const first = tell(place.ledger, item("m-1", { text: "x" }));
    place.ledger.close();
    expect(tell(place.open({ clock: new ManualClock(5) }), item("m-2", { text: "x" }))).toBe(first + 1);
  });
});
