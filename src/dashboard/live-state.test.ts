/** What didn't change stays the same object: that is what keeps hundreds of rows from being drawn again. */
import { expect, test } from "vitest";
import type { Snapshot } from "./data.ts";
import { reduceLive, UNCONNECTED, type LiveState } from "./live-state.ts";

const AT = Date.parse("2026-12-01T10:00:00.000Z");

/** Of the snapshot, only what the reducer looks at and the rows. */
function snapshot(running: readonly object[], generatedAt = AT): Snapshot {
  const told = { generated_at: new Date(generatedAt).toISOString(), running, tracker: { kind: "local", failures: 0 } };
  return JSON.parse(JSON.stringify(told)) as Snapshot;
}

function take(state: LiveState, told: Snapshot, receivedAt = AT): LiveState {
  return reduceLive(state, { kind: "snapshot", snapshot: told, receivedAt });
}

const A = { issue_id: "a", tokens: { total_tokens: 1 } };
const B = { issue_id: "b", tokens: { total_tokens: 2 } };

test("a row that didn't change stays the same object, wherever it stands", () => {
  const first = take(UNCONNECTED, snapshot([A, B])).snapshot;
  const second = take(
    { ...UNCONNECTED, snapshot: first },
    snapshot([{ issue_id: "new" }, B, { ...A, phase: "turn" }]),
  ).snapshot;
  expect(second?.running[1]).toBe(first?.running[1]);
  expect(second?.running[2]).not.toBe(first?.running[0]);
  expect(second?.running[2]).toEqual({ ...A, phase: "turn" });
  expect(second?.running[2]?.tokens).toBe(first?.running[0]?.tokens);
  expect(second?.tracker).toBe(first?.tracker);
});

test("the same rows are the same list, and fewer, more or reordered ones aren't", () => {
  const first = take(UNCONNECTED, snapshot([A, B]));
  const same = take(first, snapshot([A, B], AT + 1000), AT + 1000);
  expect(same.snapshot).not.toBe(first.snapshot);
  expect(same.snapshot?.running).toBe(first.snapshot?.running);
  for (const rows of [[A], [A, B, { issue_id: "c" }], [B, A]]) {
    expect(take(first, snapshot(rows)).snapshot?.running).toEqual(rows);
  }
});

test("a field that went isn't kept", () => {
  const first = take(UNCONNECTED, snapshot([{ ...A, error: "boom" }]));
  expect(take(first, snapshot([A])).snapshot?.running).toEqual([A]);
});

test("a snapshot means that the connection lives, and a lost one keeps what was known", () => {
  const live = take(UNCONNECTED, snapshot([A]));
  expect(live.connection).toBe("live");
  const lost = reduceLive(live, { kind: "connection", connection: "lost" });
  expect([lost.connection, lost.snapshot]).toEqual(["lost", live.snapshot]);
  expect(reduceLive(lost, { kind: "connection", connection: "lost" })).toBe(lost);
});

test("clocks that differ are made up for, and the way of a message isn't", () => {
  expect(take(UNCONNECTED, snapshot([]), AT + 400).skewMs).toBe(0);
  expect(take(UNCONNECTED, snapshot([]), AT + 60_000).skewMs).toBe(-60_000);
});
