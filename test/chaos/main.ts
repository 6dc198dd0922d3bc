/**
 * `npm run chaos -- --minutes N [--seed S]`: plays rounds until the time is up; with a seed alone, that one round again. The whole
 * trace of a round with losses goes into a file of its own; `--trace` keeps it of every round.
 */
import { mkdtempSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { parseArgs } from "node:util";
import { playRound, type RoundResult } from "./round.ts";
import { summarize } from "./table.ts";

const DEFAULT_MINUTES = 2;

function keepTrace({ seed, trace }: RoundResult): string {
  const path = join(mkdtempSync(join(tmpdir(), "symphony-chaos-")), `round-${seed}.log`);
  writeFileSync(path, trace);
  return path;
}

function tell(round: RoundResult, keeps: boolean): void {
  const faults = round.faults.map(
    ({ kind, strike }) => `${kind} (${"did" in strike ? strike.did : `skipped: ${strike.skipped}`})`,
  );
  const seconds = (round.tookMs / 1000).toFixed(1);
  process.stdout.write(
    `round ${round.seed}: ${round.losses.length === 0 ? "ok" : "LOSSES"} in ${seconds} s; ${faults.join("; ")}\n`,
  );
  for (const { kind, text } of round.losses) process.stdout.write(`  ${kind}: ${text}\n`);
  if (round.losses.length > 0 || keeps) process.stdout.write(`  trace: ${keepTrace(round)}\n`);
  if (round.losses.length > 0) process.stdout.write(`  replay: npm run chaos -- --seed ${round.seed}\n`);
}

async function run(): Promise<number> {
  const { values } = parseArgs({
    options: { minutes: { type: "string" }, seed: { type: "string" }, trace: { type: "boolean", default: false } },
  });
  const isReplay = values.seed !== undefined && values.minutes === undefined;
  const minutes = Number(values.minutes ?? DEFAULT_MINUTES);
  // A new day plays other rounds; each names its seed.
  let seed = Number(values.seed ?? Date.now() % 1_000_000);
  if (!Number.isInteger(seed) || !Number.isFinite(minutes)) throw new Error("--minutes and --seed take numbers");
  const endAt = performance.now() + minutes * 60_000;
  const rounds: RoundResult[] = [];
  do {
    const round = await playRound(seed);
    rounds.push(round);
    tell(round, values.trace);
    seed += 1;
  } while (!isReplay && performance.now() < endAt);
  process.stdout.write(summarize(rounds));
  return rounds.every(({ losses }) => losses.length === 0) ? 0 : 1;
}

process.exitCode = await run();
