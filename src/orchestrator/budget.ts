/** Budgets: what was spent against the limits of the settings. Pure; the counters are kept in budget-watch.ts. */
import { costOfAll } from "../domain/price.ts";
import type { BudgetSettings } from "../domain/settings.ts";
import { addTokens, uncachedInput, type ModelTokens, type TokenCounts } from "../domain/tokens.ts";

/** What was spent, one entry for each model. */
export type Spent = readonly ModelTokens[];

/** Adds a growth to what was spent on its model. */
export function addSpent(spent: Spent, growth: TokenCounts, model: string | null): Spent {
  const known = spent.find((entry) => entry.model === model);
  if (known === undefined) return [...spent, { model, tokens: growth }];
  return spent.map((entry) => (entry === known ? { model, tokens: addTokens(entry.tokens, growth) } : entry));
}

/** What a token budget counts: uncached input and output. Cached input is most of a long thread's, and cheap. */
export function budgetedTokens(spent: Spent): number {
  return spent.reduce((sum, { tokens }) => sum + uncachedInput(tokens) + tokens.output, 0);
}

function count(tokens: number): string {
  return tokens.toLocaleString("en-US");
}

function dollars(usd: number): string {
  return usd.toLocaleString("en-US", { minimumFractionDigits: 2, maximumFractionDigits: 6 });
}

/** Null: within the limit, or there is none. Reaching a limit spends it. */
function tokensOver(key: string, limit: number | null, spent: Spent): string | null {
  if (limit === null) return null;
  const used = budgetedTokens(spent);
  if (used < limit) return null;
  return `budget.${key} is spent: ${count(used)} of ${count(limit)} tokens (uncached input and output)`;
}

/** As {@link tokensOver}. What has no price counts nothing; {@link unpricedModels} names it. */
function dollarsOver(key: string, limit: number | null, spent: Spent, budget: BudgetSettings): string | null {
  if (limit === null || Object.keys(budget.prices).length === 0) return null;
  const { usd } = costOfAll(spent, budget.prices);
  return usd < limit ? null : `budget.${key} is spent: $${dollars(usd)} of $${dollars(limit)}`;
}

/** The budget that a run has spent, with its numbers, or null. `issue` includes what the run has spent. */
export function spentByRun(budget: BudgetSettings, run: Spent, issue: Spent): string | null {
  return (
    tokensOver("tokens_per_run", budget.tokensPerRun, run) ??
    tokensOver("tokens_per_issue", budget.tokensPerIssue, issue) ??
    dollarsOver("usd_per_issue", budget.usdPerIssue, issue, budget)
  );
}

/** The day's budget that is spent, with its numbers, or null. */
export function spentToday(budget: BudgetSettings, day: Spent): string | null {
  return (
    tokensOver("tokens_per_day", budget.tokensPerDay, day) ?? dollarsOver("usd_per_day", budget.usdPerDay, day, budget)
  );
}

/** Models whose tokens a dollar budget can't count, because `budget.prices` lacks them. */
export function unpricedModels(budget: BudgetSettings, spent: Spent): readonly (string | null)[] {
  if (budget.usdPerIssue === null && budget.usdPerDay === null) return [];
  return costOfAll(spent, budget.prices).unpriced;
}

const DAY_MS = 24 * 60 * 60 * 1000;

/** The UTC day of `at`: its number since the epoch. */
export function utcDayNumber(at: number): number {
  return Math.floor(at / DAY_MS);
}

/** When the UTC day of `at` is over, epoch ms. */
export function nextUtcMidnight(at: number): number {
  return (utcDayNumber(at) + 1) * DAY_MS;
}
