/** What tokens cost: prices of `budget.prices`, by the model that they were spent on. */
import type { ModelPrice } from "./settings.ts";
import { uncachedInput, type ModelTokens, type TokenCounts } from "./tokens.ts";

/** US dollars per million tokens, by model. */
export type Prices = Readonly<Record<string, ModelPrice>>;

const MILLION = 1_000_000;

/** US dollars of these tokens at this price. */
function costOf(tokens: TokenCounts, price: ModelPrice): number {
  const perMillion =
    uncachedInput(tokens) * price.input + tokens.cachedInput * price.cachedInput + tokens.output * price.output;
  return perMillion / MILLION;
}

/** Millionths of a dollar: beyond that are only the traces of adding fractions. */
export function roundUsd(usd: number): number {
  return Math.round(usd * MILLION) / MILLION;
}

/** A cost in US dollars, as far as it is known. */
export interface Cost {
  readonly usd: number;
  /** Models that have tokens and no price, each once; null stands for a model that nobody named. */
  readonly unpriced: readonly (string | null)[];
}

/** Adds up what has a price, and names what has none. */
export function costOfAll(spent: readonly ModelTokens[], prices: Prices): Cost {
  let usd = 0;
  const unpriced = new Set<string | null>();
  for (const { model, tokens } of spent) {
    const price = model !== null && Object.hasOwn(prices, model) ? prices[model] : undefined;
    if (price !== undefined) usd += costOf(tokens, price);
    else if (tokens.input + tokens.output > 0) unpriced.add(model);
  }
  return { usd, unpriced: [...unpriced] };
}
