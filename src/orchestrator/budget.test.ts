import fc from "fast-check";
import { describe, expect, test } from "vitest";
import type { BudgetSettings } from "../domain/settings.ts";
import { NO_TOKENS, type TokenCounts } from "../domain/tokens.ts";
import { addSpent, budgetedTokens, nextUtcMidnight, spentByRun, spentToday, unpricedModels } from "./budget.ts";

const NO_BUDGET: BudgetSettings = {
  tokensPerRun: null,
  tokensPerIssue: null,
  tokensPerDay: null,
  usdPerIssue: null,
  usdPerDay: null,
  prices: {},
};
const PRICES = { "m-1": { input: 1, cachedInput: 0, output: 10 } };

function tokens(input: number, cachedInput: number, output: number): TokenCounts {
  return { input, cachedInput, output, reasoning: 0 };
}

function spent(input: number, cachedInput = 0, output = 0) {
  return [{ model: "m-1", tokens: tokens(input, cachedInput, output) }];
}

describe("a token budget", () => {
  test("counts uncached input and output, over all models", () => {
    const both = addSpent(spent(1000, 900, 20), tokens(5, 0, 1), "m-2");
    expect(budgetedTokens(both)).toBe(126);
    expect(budgetedTokens(addSpent(both, tokens(7, 7, 0), "m-2"))).toBe(126);
    expect(budgetedTokens([])).toBe(0);
  });

  test("is spent when its limit is reached, and says so with the numbers", () => {
    const budget = { ...NO_BUDGET, tokensPerRun: 1200 };
    expect(spentByRun(budget, spent(1199), [])).toBeNull();
    expect(spentByRun(budget, spent(9000, 8000, 200), [])).toBe(
      "budget.tokens_per_run is spent: 1,200 of 1,200 tokens (uncached input and output)",
    );
  });

  test("of an issue and of a day are apart from that of a run", () => {
    const budget = { ...NO_BUDGET, tokensPerIssue: 100, tokensPerDay: 1000 };
    expect(spentByRun(budget, spent(5), spent(100))).toMatch(/^budget\.tokens_per_issue is spent: 100 of 100/);
    expect(spentByRun(budget, spent(5), spent(99))).toBeNull();
    expect(spentToday(budget, spent(999))).toBeNull();
    expect(spentToday(budget, spent(1001))).toMatch(/^budget\.tokens_per_day is spent: 1,001 of 1,000/);
  });

  test("is never spent where there is none", () => {
    const much = spent(1e12, 0, 1e12);
    expect([spentByRun(NO_BUDGET, much, much), spentToday(NO_BUDGET, much)]).toEqual([null, null]);
  });
});

describe("a dollar budget", () => {
  test("counts by the model's prices, cached input at its own", () => {
    const budget = { ...NO_BUDGET, prices: PRICES, usdPerIssue: 2, usdPerDay: 2.5 };
    expect(spentByRun(budget, [], spent(1_000_000, 500_000, 149_999))).toBeNull();
    expect(spentByRun(budget, [], spent(1_000_000, 500_000, 150_000))).toBe(
      "budget.usd_per_issue is spent: $2.00 of $2.00",
    );
    expect(spentToday(budget, spent(2_500_001))).toBe("budget.usd_per_day is spent: $2.500001 of $2.50");
  });

  test("can't count what has no price, and names the model", () => {
    const budget = { ...NO_BUDGET, prices: PRICES, usdPerIssue: 0.01, usdPerDay: 0.01 };
    const other = [{ model: "m-2", tokens: tokens(1e9, 0, 1e9) }];
    expect([spentByRun(budget, other, other), spentToday(budget, other)]).toEqual([null, null]);
    expect(unpricedModels(budget, [...spent(1), ...other])).toEqual(["m-2"]);
    expect(unpricedModels(NO_BUDGET, other)).toEqual([]);
    expect(spentToday({ ...NO_BUDGET, usdPerDay: 0 }, other)).toBeNull();
  });
});

test("what is added in parts is what was spent in all", () => {
  const figures = fc.record({ input: fc.nat(), cachedInput: fc.nat(), output: fc.nat(), reasoning: fc.nat() });
  fc.assert(
    fc.property(fc.array(fc.tuple(fc.constantFrom("a", "b", null), figures)), (parts) => {
      const all = parts.reduce<ReturnType<typeof addSpent>>((sum, [model, part]) => addSpent(sum, part, model), []);
      const output = all.reduce((sum, entry) => sum + entry.tokens.output, 0);
      expect(output).toBe(parts.reduce((sum, [, part]) => sum + part.output, 0));
      expect(new Set(all.map((entry) => entry.model)).size).toBe(all.length);
      expect(addSpent(all, NO_TOKENS, "a").filter((entry) => entry.model === "b")).toEqual(
        all.filter((entry) => entry.model === "b"),
      );
    }),
  );
});

test("a day ends at midnight UTC", () => {
  const midnight = Date.UTC(2026, 0, 2);
  expect(nextUtcMidnight(midnight - 1)).toBe(midnight);
  expect(nextUtcMidnight(midnight)).toBe(midnight + 24 * 3_600_000);
});
