/** `npm run simulate -- --seeds N --hours H`: plays N days, or one day again with --seed; exits with 1 when an invariant breaks. */
import { parseArgs } from "node:util";
import { ALL_FAULTS, FAULT_NAMES, onlyFaults, type Faults } from "./faults.ts";
import { replayCommand, shrink } from "./shrink.ts";
import { simulate, type Day } from "./simulate.ts";

function faultsOf(list: string | undefined): Faults {
  if (list === undefined) return ALL_FAULTS;
  const names = list === "none" ? [] : list.split(",");
  const unknown = names.filter((name) => !FAULT_NAMES.some((known) => known === name));
  if (unknown.length > 0) {
    throw new Error(`--faults: unknown ${unknown.join(", ")}; there are ${FAULT_NAMES.join(", ")}`);
  }
  return onlyFaults(FAULT_NAMES.filter((name) => names.includes(name)));
}

function report(day: Day): void {
  const small = shrink(day);
  const { breach, atHours, trace } = small.result;
  process.stdout.write(`seed ${day.seed}: ${breach ?? "?"} (after ${atHours.toFixed(2)} h)\n`);
  process.stdout.write(`replay: ${replayCommand(small.day)}\n${trace.slice(-40).join("\n")}\n`);
}

async function run(): Promise<number> {
  const { values } = parseArgs({
    options: {
      seeds: { type: "string", default: "20" },
      first: { type: "string", default: "1" },
      hours: { type: "string", default: "24" },
      seed: { type: "string" },
      faults: { type: "string" },
    },
  });
  const hours = Number(values.hours);
  const faults = faultsOf(values.faults);
  const first = Number(values.seed ?? values.first);
  const count = values.seed === undefined ? Number(values.seeds) : 1;
  let [events, runs, crashes, broken] = [0, 0, 0, 0];
  for (let seed = first; seed < first + count; seed += 1) {
    const result = simulate({ seed, hours, faults });
    events += result.events;
    runs += result.runs;
    crashes += result.crashes;
    if (result.breach !== null) {
      broken += 1;
      report({ seed, hours, faults });
    }
    // Lets the loops' microtasks go.
    await Promise.resolve();
  }
  process.stdout.write(
    `${count} seeds, ${hours} h each: ${events} events, ${runs} runs, ${crashes} crashes, ${broken} seeds with a breach\n`,
  );
  return broken === 0 ? 0 : 1;
}

process.exitCode = await run();
