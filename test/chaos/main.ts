/**
 * `npm run chaos -- --minutes N [--seed S]`: plays rounds until the time is up; with a seed alone, that one round again; with
 * `--fixed`, a short list of rounds that has every kind of fault. The whole trace of a round with losses goes into a file of its own;
 * `--trace` keeps it of every round.
 */
import { mkdtempSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { parseArgs } from "node:util";
import { FIXED_SEEDS, uncovered } from "./plan.ts";
import { playRound, type RoundResult } from "./round.ts";
import { summarize, tellStrike } from "./table.ts";

const DEFAULT_MINUTES = 2;
/** Four times what the fixed rounds take on two processors of their own: a slow machine plays fewer of them, and says so. */
const FIXED_MINUTES = 10;

function keepTrace({ seed, trace }: RoundResult): string {
  const path = join(mkdtempSync(join(tmpdir(), "symphony-chaos-")), `round-${seed}.log`);
  writeFileSync(path, trace);
  return path;
}

function tell(round: RoundResult, keeps: boolean): void {
  const faults = round.faults.map(({ kind, strike }) => `${kind} (${tellStrike(strike)})`);
  const seconds = (round.tookMs / 1000).toFixed(1);
  process.stdout.write(
    `round ${round.seed}: ${round.losses.length === 0 ? "ok" : "LOSSES"} in ${seconds} s; ${faults.join("; ")}\n`,
  );
  for (const { kind, text } of round.losses) process.stdout.write(`  ${kind}: ${text}\n`);
  if (round.losses.length > 0 || keeps) process.stdout.write(`  trace: ${keepTrace(round)}\n`);
  if (round.losses.length > 0) process.stdout.write(`  replay: npm run chaos -- --seed ${round.seed}\n`);
}

interface Course {
  readonly seeds: Iterator<number>;
  readonly minutes: number;
}

function* countFrom(seed: number): Iterator<number> {
  for (let next = seed; ; next += 1) yield next;
}

function courseOf(values: { readonly minutes?: string; readonly seed?: string; readonly fixed: boolean }): Course {
  const minutes = Number(values.minutes ?? (values.fixed ? FIXED_MINUTES : DEFAULT_MINUTES));
  // A new day plays other rounds; each names its seed.
  const seed = Number(values.seed ?? Date.now() % 1_000_000);
  if (!Number.isSafeInteger(seed) || seed < 0) throw new Error(`--seed takes a whole number, not ${values.seed ?? ""}`);
  if (!Number.isFinite(minutes)) throw new Error(`--minutes takes a number, not ${values.minutes ?? ""}`);
  if (!values.fixed) {
    const isReplay = values.seed !== undefined && values.minutes === undefined;
    return { minutes, seeds: isReplay ? [seed].values() : countFrom(seed) };
  }
  const missing = uncovered(FIXED_SEEDS);
  if (missing.length > 0) throw new Error(`the fixed rounds have no ${missing.join(", no ")}; choose other seeds`);
  return { minutes, seeds: FIXED_SEEDS.values() };
}

async function run(): Promise<number> {
  const { values } = parseArgs({
    options: {
      minutes: { type: "string" },
      seed: { type: "string" },
      fixed: { type: "boolean", default: false },
      trace: { type: "boolean", default: false },
    },
  });
  const { seeds, minutes } = courseOf(values);
  const endAt = performance.now() + minutes * 60_000;
  const rounds: RoundResult[] = [];
  for (let seed = seeds.next(); seed.done !== true; seed = seeds.next()) {
    if (rounds.length > 0 && performance.now() >= endAt) {
      if (values.fixed) process.stdout.write(`NOT PLAYED for want of time: round ${seed.value} and those after it\n`);
      break;
    }
    const round = await playRound(seed.value);
    rounds.push(round);
    tell(round, values.trace);
  }
  process.stdout.write(summarize(rounds));
  return rounds.every(({ losses }) => losses.length === 0) ? 0 : 1;
}

process.exitCode = await run();
