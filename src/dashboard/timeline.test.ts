/** Pages and stream overlap: each event is shown once, in order. */
import { expect, test } from "vitest";
import type { RunEvent } from "./data.ts";
import { mergeEvents, visibleEvents } from "./timeline.ts";

function event(sequence: number, name = "message"): RunEvent {
  return {
    sequence,
    run_id: "r",
    issue_id: "i",
    at: "2026-12-01T10:00:00.000Z",
    event: name,
    message: null,
    item: null,
  };
}

function numbers(events: readonly RunEvent[]): number[] {
  return events.map(({ sequence }) => sequence);
}

test("what the stream told before the page came is neither lost nor told twice", () => {
  const told = mergeEvents([], [event(7), event(9)]);
  expect(numbers(mergeEvents(told, [event(3), event(5), event(7)]))).toEqual([3, 5, 7, 9]);
});

test("no news is the same list", () => {
  const known = [event(1), event(2)];
  expect(mergeEvents(known, [event(2)])).toBe(known);
});

test("of a plan that was told again, the last stands", () => {
  expect(numbers(visibleEvents([event(1, "plan"), event(2), event(3, "plan")]))).toEqual([2, 3]);
});
