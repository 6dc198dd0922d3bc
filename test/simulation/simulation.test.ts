import { randomInt } from "node:crypto";
import { expect, it } from "vitest";
import { ALL_FAULTS, onlyFaults, type Faults } from "./faults.ts";
import { replayCommand, shrink } from "./shrink.ts";
import { simulate, type Day } from "./simulate.ts";

/** Days that are always played, and days that nobody has seen yet. */
const FIXED_SEEDS = Array.from({ length: 24 }, (_, index) => index + 1);
const FRESH_SEEDS = Array.from({ length: 6 }, () => randomInt(1_000_000, 2 ** 31));

function play(seed: number, hours: number, faults: Faults): void {
  const day: Day = { seed, hours, faults };
  const { breach } = simulate(day);
  if (breach === null) return;
  const small = shrink(day);
  expect.fail(`${breach}\n${replayCommand(small.day)}\n${small.result.trace.slice(-30).join("\n")}`);
}

it.each(FIXED_SEEDS)("a day in which everything may go wrong breaks no invariant: seed %i", (seed) => {
  play(seed, 24, ALL_FAULTS);
  expect(simulate({ seed, hours: 1, faults: ALL_FAULTS }).events).toBeGreaterThan(0);
});

it.each(FRESH_SEEDS)("a day that nobody has seen breaks no invariant: seed %i", (seed) => {
  play(seed, 24, ALL_FAULTS);
  expect(simulate({ seed, hours: 1, faults: ALL_FAULTS }).events).toBeGreaterThan(0);
});

it("a quiet day works every ticket off", () => {
  const result = simulate({ seed: 7, hours: 24, faults: onlyFaults([]) });
  expect(result).toMatchObject({ breach: null, crashes: 0 });
  expect(result.runs).toBeGreaterThan(10);
});

it("the same seed plays the same day", () => {
  const day: Day = { seed: 99, hours: 12, faults: ALL_FAULTS };
  expect(simulate(day)).toEqual(simulate(day));
});
