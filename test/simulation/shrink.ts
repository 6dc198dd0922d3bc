/** Makes a failing day small: fewer kinds of faults, then less time, as long as it still fails. */
import { FAULT_NAMES, onlyFaults } from "./faults.ts";
import { simulate, type Day, type DayResult } from "./simulate.ts";

/** The smallest day found that still breaks something, and how it ends. */
export function shrink(day: Day): { readonly day: Day; readonly result: DayResult } {
  let best = { day, result: simulate(day) };
  const attempt = (candidate: Day): void => {
    const result = simulate(candidate);
    if (result.breach !== null) best = { day: candidate, result };
  };
  for (const name of FAULT_NAMES) {
    const left = FAULT_NAMES.filter((other) => other !== name && best.day.faults[other]);
    attempt({ ...best.day, faults: onlyFaults(left) });
  }
  for (let hours = best.day.hours / 2; hours >= 0.25; hours /= 2) attempt({ ...best.day, hours });
  return best;
}

/** The command that plays a day again. */
export function replayCommand(day: Day): string {
  const faults = FAULT_NAMES.filter((name) => day.faults[name]).join(",");
  return `npm run simulate -- --seed ${day.seed} --hours ${day.hours} --faults ${faults === "" ? "none" : faults}`;
}
