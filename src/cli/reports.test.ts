/** Golden tables of `runs` and `usage`. */
import { expect, test } from "vitest";
import type { RunJson } from "../ledger/run-list.ts";
import { runLines } from "./runs.ts";
import { usageLines } from "./usage.ts";

const ENDED: RunJson = {
  run_id: "r-1",
  issue_id: "id-1",
  issue_identifier: "ENG-1",
  attempt: null,
  outcome: "succeeded",
  class: null,
  error: null,
  thread_id: "t-1",
  turns: 2,
  started_at: "2026-11-30T09:00:00.000Z",
  ended_at: "2026-11-30T09:03:05.000Z",
  tokens: { input: 12_000, cached_input: 6000, output: 345, reasoning: 5, total: 12_345, fresh: true },
};

const FAILED: RunJson = {
  ...ENDED,
  issue_identifier: "ENG-2",
  attempt: 3,
  outcome: "failed",
  class: "agent",
  error: "the model said \u001b[31m500\u001b[0m\nand no more",
  tokens: { ...ENDED.tokens, total: 0, fresh: false },
};

const RUNNING: RunJson = { ...ENDED, outcome: null, ended_at: null, thread_id: null, turns: 0 };

const SCREEN = { limit: null, wide: false };

test("runs: figures that are not known are dashes, and an error is one harmless line", () => {
  expect(runLines([RUNNING, FAILED, ENDED], SCREEN)).toEqual([
    "STARTED (UTC)        ISSUE  ATTEMPT  OUTCOME         TURNS  TOKENS        TIME  THREAD  ERROR",
    "2026-11-30 09:00:00  ENG-1        -  not ended           0  12,345           -  -",
    "2026-11-30 09:00:00  ENG-2        3  failed (agent)      2       -  3 min 05 s  t-1     the model said \\x1b[31m500\\x1b[0m and no more",
    "2026-11-30 09:00:00  ENG-1        -  succeeded           2  12,345  3 min 05 s  t-1",
  ]);
});

test("runs: a long table shows the newest and says so, unless a limit was given", () => {
  const many = Array.from({ length: 41 }, () => ENDED);
  expect(runLines(many, SCREEN)).toHaveLength(42);
  expect(runLines(many, SCREEN).at(-1)).toBe("The newest 40 are shown; --limit N shows more.");
  expect(runLines(many, { limit: 41, wide: false })).toHaveLength(42);
  expect(runLines(many, { limit: 41, wide: false }).at(-1)).toContain("ENG-1");
  expect(runLines([], SCREEN)).toEqual(["No runs yet."]);
});

test("runs: a long error is cut with a hint, and whole when it is asked for", () => {
  const error = `the hook said ${"no ".repeat(40)}at last`;
  const failed = { ...FAILED, error };
  const [, row, hint] = runLines([failed], SCREEN);
  expect([row?.endsWith("…"), hint]).toEqual([true, "Long errors are cut; --wide shows them whole."]);
  const wide = runLines([failed], { limit: null, wide: true });
  expect([wide.length, wide[1]?.endsWith(error)]).toEqual([2, true]);
});

const SUMS = {
  runs: 2,
  turns: 3,
  input_tokens: 12_000,
  cached_input_tokens: 6000,
  output_tokens: 345,
  reasoning_tokens: 5,
  total_tokens: 12_345,
  seconds_running: 185.2,
  usd: null,
};

test("usage: a row for each key and the total below; prices only where there are any", () => {
  const rows = [{ key: "ENG-1", ...SUMS }];
  expect(usageLines({ by: "issue", rows, total: SUMS })).toEqual([
    "ISSUE  RUNS  TURNS   INPUT  CACHED  OUTPUT  REASONING   TOTAL        TIME",
    "ENG-1     2      3  12,000   6,000     345          5  12,345  3 min 05 s",
    "total     2      3  12,000   6,000     345          5  12,345  3 min 05 s",
  ]);
  const priced = usageLines({ by: "day", rows: [{ key: "2026-11-30", ...SUMS }], total: { ...SUMS, usd: 1.5 } });
  expect(priced[0]).toMatch(/^DAY \(UTC\) .* USD$/);
  expect(priced.map((line) => line.trim().split(/ +/).at(-1))).toEqual(["USD", "-", "1.50"]);
  expect(usageLines({ by: "day", rows: [], total: SUMS })).toEqual(["No runs yet."]);
});
