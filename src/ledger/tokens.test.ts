import fc from "fast-check";
import { describe, expect, test } from "vitest";

import { makeIssue } from "../../test/support/issues.ts";
import { changeOf, ended, makeLedgerPlace, started } from "../../test/support/ledger.ts";
import { issueId, runId } from "../domain/ids.ts";
import { addTokens, NO_TOKENS, type TokenCounts } from "../domain/tokens.ts";
import type { Ledger, TokenReport } from "./port.ts";

const ISSUE = issueId("id-A-1");

function counts(input: number, output: number, cachedInput = 0, reasoning = 0): TokenCounts {
  return { input, cachedInput, output, reasoning };
}

function report(run: string, total: TokenCounts, more: Partial<TokenReport> = {}): TokenReport {
  const usual = { turn: 1, threadId: "t-1", issueId: ISSUE, subAgent: false, model: "m-1", at: 0 };
  return { runId: runId(run), total, ...usual, ...more };
}

/** A thread's source: what it really used since its counter began, and what it would report. */
class Source {
  total = NO_TOKENS;

  /** A turn's model call. */
  use(growth: TokenCounts): void {
    this.total = addTokens(this.total, growth);
  }
}

type Step =
  | { readonly kind: "use"; readonly thread: number; readonly growth: TokenCounts }
  | { readonly kind: "repeat"; readonly thread: number }
  | { readonly kind: "overflow"; readonly thread: number }
  | { readonly kind: "resume"; readonly thread: number }
  | { readonly kind: "new_run" }
  | { readonly kind: "restart" };

const thread = fc.nat({ max: 2 });
const figures = fc.record({
  input: fc.nat({ max: 1e6 }),
  cachedInput: fc.nat({ max: 1e6 }),
  output: fc.nat({ max: 1e5 }),
  reasoning: fc.nat({ max: 1e5 }),
});
const step: fc.Arbitrary<Step> = fc.oneof(
  { weight: 5, arbitrary: fc.record({ kind: fc.constant("use"), thread, growth: figures }) },
  { weight: 2, arbitrary: fc.record({ kind: fc.constant("repeat"), thread }) },
  { weight: 1, arbitrary: fc.record({ kind: fc.constant("overflow"), thread }) },
  { weight: 2, arbitrary: fc.record({ kind: fc.constant("resume"), thread }) },
  { weight: 1, arbitrary: fc.record({ kind: fc.constant("new_run") }) },
  { weight: 1, arbitrary: fc.record({ kind: fc.constant("restart") }) },
);

describe("counted tokens", () => {
  test("are exactly what the threads used, over turns, repeats, overflows, resumes, retries and restarts", async () => {
    await using place = await makeLedgerPlace();
    let serial = 0;
    fc.assert(
      fc.property(fc.array(step, { minLength: 1, maxLength: 40 }), (steps) => {
        serial += 1;
        let ledger = place.open();
        const base = ledger.totals().tokens;
        let run = `run-${serial}-0`;
        ledger.commit(changeOf({ facts: [started(run, serial)] }));
        const sources = [new Source(), new Source(), new Source()];
        let used = NO_TOKENS;
        let answered = NO_TOKENS;
        const send = (index: number, more: Partial<TokenReport> = {}): void => {
          const { total } = sources[index] ?? new Source();
          const growth = ledger.recordTokens(
            report(run, total, { threadId: `t-${serial}-${index}`, subAgent: index > 0, ...more }),
          );
          answered = addTokens(answered, growth);
        };
        for (const [number, part] of steps.entries()) {
          switch (part.kind) {
            case "use":
              sources[part.thread]?.use(part.growth);
              used = addTokens(used, part.growth);
              send(part.thread);
              break;
            case "repeat":
              send(part.thread);
              break;
            case "resume":
              send(part.thread, { turn: 0 });
              send(part.thread, { replayed: true });
              break;
            case "overflow":
              // Measured: the counters fall to zero and count on from there.
              if (sources[part.thread] !== undefined) sources[part.thread] = new Source();
              send(part.thread);
              break;
            case "new_run":
              ledger.commit(changeOf({ facts: [ended(run, serial), started(`run-${serial}-${number + 1}`, serial)] }));
              run = `run-${serial}-${number + 1}`;
              break;
            case "restart":
              ledger.close();
              ledger = place.open();
              break;
          }
        }
        expect(answered).toEqual(used);
        expect(ledger.totals().tokens).toEqual(addTokens(base, used));
        ledger.close();
      }),
      { numRuns: 60 },
    );
  });

  test("never fall and never count a figure twice, whatever the source reports", async () => {
    await using place = await makeLedgerPlace();
    const ledger = place.open();
    let serial = 0;
    fc.assert(
      fc.property(fc.array(fc.tuple(figures, fc.boolean()), { maxLength: 30 }), (totals) => {
        serial += 1;
        ledger.commit(changeOf({ facts: [started(`r${serial}`, serial)] }));
        let before = ledger.totals().tokens;
        for (const [total, replayed] of totals) {
          const send = (): TokenCounts =>
            ledger.recordTokens(report(`r${serial}`, total, { threadId: `x${serial}`, replayed }));
          const added = send();
          expect(send()).toEqual(NO_TOKENS);
          const after = ledger.totals().tokens;
          expect(after).toEqual(addTokens(before, added));
          expect(Math.min(added.input, added.cachedInput, added.output, added.reasoning)).toBeGreaterThanOrEqual(0);
          before = after;
        }
      }),
      { numRuns: 30 },
    );
  });

  test("follow the measured overflow: in and out fall to zero and later turns add to that", async () => {
    await using place = await makeLedgerPlace();
    const ledger = place.open();
    ledger.commit(changeOf({ facts: [started("run-1", 1)] }));
    expect(ledger.recordTokens(report("run-1", counts(2000, 20)))).toEqual(counts(2000, 20));
    expect(ledger.recordTokens(report("run-1", counts(0, 0)))).toEqual(NO_TOKENS);
    expect(ledger.recordTokens(report("run-1", counts(1000, 10)))).toEqual(counts(1000, 10));
    expect(ledger.totals().tokens).toEqual(counts(3000, 30));
  });

  test("count a source that begins at zero again on its own", async () => {
    await using place = await makeLedgerPlace();
    const ledger = place.open();
    ledger.commit(changeOf({ facts: [started("run-1", 1), started("run-2", 2)] }));
    ledger.recordTokens(report("run-1", counts(500, 50)));
    expect(ledger.recordTokens(report("run-2", counts(200, 20)))).toEqual(counts(200, 20));
  });

  test("take a lower repetition after a crash as where the source counts on from", async () => {
    await using place = await makeLedgerPlace();
    const ledger = place.open();
    ledger.commit(changeOf({ facts: [started("run-1", 1), started("run-2", 2)] }));
    ledger.recordTokens(report("run-1", counts(1000, 100)));
    expect(ledger.recordTokens(report("run-2", counts(900, 90), { turn: 0 }))).toEqual(NO_TOKENS);
    expect(ledger.recordTokens(report("run-2", counts(950, 95)))).toEqual(counts(50, 5));
  });

  test("take in what an earlier run used unseen when the repetition is higher", async () => {
    await using place = await makeLedgerPlace();
    const ledger = place.open();
    ledger.commit(changeOf({ facts: [started("run-1", 1), started("run-2", 2)] }));
    ledger.recordTokens(report("run-1", counts(1000, 100)));
    expect(ledger.recordTokens(report("run-2", counts(1300, 130), { turn: 0 }))).toEqual(counts(300, 30));
  });

  test("ignore what is no count", async () => {
    await using place = await makeLedgerPlace();
    const ledger = place.open();
    ledger.commit(changeOf({ facts: [started("run-1", 1)] }));
    const odd = counts(Number.NaN, -5, 1.9, Number.POSITIVE_INFINITY);
    expect(ledger.recordTokens(report("run-1", odd))).toEqual(counts(0, 0, 1, 0));
  });

  test("are summed by issue and by UTC day, for each model apart", async () => {
    await using place = await makeLedgerPlace();
    const ledger: Ledger = place.open();
    const other = makeIssue("A-2");
    const noon = Date.UTC(2026, 5, 1, 12);
    const nextDay = Date.UTC(2026, 5, 2, 0);
    ledger.commit(changeOf({ facts: [started("run-1", noon), started("run-2", noon, other)] }));
    ledger.recordTokens(report("run-1", counts(10, 1), { at: nextDay - 1 }));
    ledger.recordTokens(report("run-1", counts(30, 3), { at: nextDay }));
    const second = { threadId: "t-2", issueId: other.id };
    ledger.recordTokens(report("run-2", counts(5, 5), { at: noon, ...second, model: "m-2" }));
    ledger.recordTokens(report("run-2", counts(6, 5), { at: noon, ...second, turn: 2, model: null }));
    expect(ledger.tokensOfIssue(ISSUE)).toEqual([{ model: "m-1", tokens: counts(30, 3) }]);
    expect(ledger.tokensOfIssue(other.id)).toEqual([
      { model: null, tokens: counts(1, 0) },
      { model: "m-2", tokens: counts(5, 5) },
    ]);
    expect(ledger.tokensOfDay(noon)).toEqual([
      { model: null, tokens: counts(1, 0) },
      { model: "m-1", tokens: counts(10, 1) },
      { model: "m-2", tokens: counts(5, 5) },
    ]);
    expect(ledger.tokensOfDay(nextDay)).toEqual([{ model: "m-1", tokens: counts(20, 2) }]);
    expect(ledger.tokensOfDay(nextDay + 24 * 3_600_000)).toEqual([]);
  });
});
