import { describe, expect, test } from "vitest";
import { costOfAll } from "./price.ts";

const PRICES = { "m-1": { input: 2, cachedInput: 0.5, output: 10 }, "m-2": { input: 1, cachedInput: 1, output: 1 } };

function tokens(input: number, cachedInput: number, output: number) {
  return { input, cachedInput, output, reasoning: 0 };
}

describe("the cost of tokens", () => {
  test("counts cached input at its own price, and reasoning as the output that it is in", () => {
    const spent = [{ model: "m-1", tokens: { ...tokens(1_000_000, 400_000, 100_000), reasoning: 90_000 } }];
    expect(costOfAll(spent, PRICES)).toEqual({ usd: 0.6 * 2 + 0.4 * 0.5 + 0.1 * 10, unpriced: [] });
  });

  test("adds up models, and names those without a price once each", () => {
    const spent = [
      { model: "m-1", tokens: tokens(1_000_000, 0, 0) },
      { model: "m-2", tokens: tokens(0, 0, 1_000_000) },
      { model: "other", tokens: tokens(5, 0, 0) },
      { model: "other", tokens: tokens(6, 0, 0) },
      { model: null, tokens: tokens(0, 0, 1) },
    ];
    expect(costOfAll(spent, PRICES)).toEqual({ usd: 3, unpriced: ["other", null] });
  });

  test("misses no price for tokens that nobody spent, and takes no name of an object's own for a model", () => {
    expect(costOfAll([{ model: null, tokens: tokens(0, 0, 0) }], PRICES)).toEqual({ usd: 0, unpriced: [] });
    expect(costOfAll([{ model: "constructor", tokens: tokens(1, 0, 0) }], PRICES).unpriced).toEqual(["constructor"]);
  });

  test("takes more cached input than input, as a damaged report may say, for no input at all", () => {
    expect(costOfAll([{ model: "m-1", tokens: tokens(10, 1_000_000, 0) }], PRICES).usd).toBe(0.5);
  });
});
