/** The agent's own shape is read with care: whatever it is, the page goes on. */
import { expect, test } from "vitest";
import { limitRows } from "./limits.ts";

test("each window that says how much is used is a row, with its reset in milliseconds", () => {
  const limits = {
    limitId: "codex",
    primary: { usedPercent: 42, windowDurationMins: 300, resetsAt: 1_800_000_000 },
    secondary: { usedPercent: 7, windowDurationMins: 10_080 },
  };
  expect(limitRows(limits)).toEqual([
    { name: "codex, 5 h", usedPercent: 42, resetsAt: 1_800_000_000_000 },
    { name: "codex, 7 d", usedPercent: 7, resetsAt: null },
  ]);
});

test.each([null, undefined, 3, "x", [], {}, { primary: null }, { primary: { usedPercent: "many" } }])(
  "%j is no row",
  (limits) => {
    expect(limitRows(limits)).toEqual([]);
  },
);
