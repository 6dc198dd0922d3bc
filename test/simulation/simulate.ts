/** One simulated stretch of time: a noisy part in which everything may go wrong, and a calm end in which everything must come right. */
import type { IssueId } from "../../src/domain/ids.ts";
import type { OperatorCommand } from "../../src/scheduler/events.ts";
import { makeSettings } from "../support/issues.ts";
import { Breach } from "./breach.ts";
import { onlyFaults, type Faults } from "./faults.ts";
import { World } from "./world.ts";

const MINUTE = 60_000;
const HOUR = 60 * MINUTE;
/** After the noise every ticket must end within this time: limits run out after an hour, and each run has up to 20 slow turns. */
const CALM_MS = 72 * HOUR;

export interface Day {
  readonly seed: number;
  readonly hours: number;
  readonly faults: Faults;
}

export interface DayResult {
  readonly events: number;
  readonly runs: number;
  readonly crashes: number;
  /** What was broken, or null. */
  readonly breach: string | null;
  /** Virtual time of the breach, in hours since the start. */
  readonly atHours: number;
  readonly trace: readonly string[];
}

/** Plays the day; the same day plays the same way again. */
export function simulate(day: Day): DayResult {
  const world = new World(day.seed, day.faults);
  const startAt = world.clock.now();
  let breach: string | null = null;
  try {
    play(world, day);
  } catch (error) {
    if (!(error instanceof Breach)) throw error;
    breach = error.message;
  }
  return {
    events: world.events,
    runs: world.store.runsStarted,
    crashes: world.crashes,
    breach,
    atHours: (world.clock.now() - startAt) / HOUR,
    trace: world.trace,
  };
}

function play(world: World, day: Day): void {
  const noiseEndsAt = world.clock.now() + day.hours * HOUR;
  for (let count = world.rng.int(1, 12); count > 0; count -= 1) world.board.create();
  every(world, 40 * MINUTE, noiseEndsAt, () => world.board.create());
  if (day.faults.people) every(world, 7 * MINUTE, noiseEndsAt, () => world.board.meddle(day.faults));
  if (day.faults.reloads) every(world, 90 * MINUTE, noiseEndsAt, () => reload(world));
  if (day.faults.ledgerFailures) every(world, 180 * MINUTE, noiseEndsAt, () => breakLedger(world));
  if (day.faults.operators) every(world, 12 * MINUTE, noiseEndsAt, () => operate(world));
  if (day.faults.questions) every(world, 25 * MINUTE, noiseEndsAt, () => answer(world));
  if (day.faults.standstills) every(world, 300 * MINUTE, noiseEndsAt, () => standStill(world));
  if (day.faults.budgets) every(world, 200 * MINUTE, noiseEndsAt, () => spend(world));
  if (day.faults.restarts) every(world, 240 * MINUTE, noiseEndsAt, () => restart(world));
  while (world.step(noiseEndsAt));
  calmDown(world);
  const endsAt = world.clock.now() + CALM_MS;
  while (!isOver(world) && world.step(endsAt));
  world.checkCalmEnd();
}

/** Acts again and again at irregular times. */
function every(world: World, meanMs: number, until: number, act: () => void): void {
  const delay = Math.round(meanMs * (0.2 + 1.6 * world.rng.next()));
  world.clock.setTimer(delay, () => {
    if (world.clock.now() >= until) return;
    act();
    every(world, meanMs, until, act);
  });
}

function isOver(world: World): boolean {
  if (!world.alive || world.agents > 0 || world.state.claims.size > 0) return false;
  const open = [...world.board.issues.values()].some((issue) => issue.state !== "Done" && issue.state !== "Cancelled");
  return !open && [...world.state.workspaces.keys()].every((id) => !world.board.issues.has(id));
}

/** People leave the board alone, unblock what is blocked, and nothing fails any more. */
function calmDown(world: World): void {
  world.setFaults(onlyFaults([]));
  world.setLedgerDown(false);
  world.setSettings(makeSettings({ tracker: { excludedLabels: ["hold"] }, agent: { maxIdleRuns: 0 } }));
  world.post({ kind: "workflow_mended" });
  world.board.calm();
  // A daemon that is down right now gets the same when it is back; an operator's pause outlives it.
  every(world, 10 * MINUTE, Number.MAX_SAFE_INTEGER, () => {
    world.operate({ kind: "resume" });
    for (const claim of world.state.claims.values()) if (claim.kind === "blocked") retry(world, claim.issue.id);
    for (const issue of world.board.issues.values()) {
      if (issue.state === "Human Review") world.board.update(issue.id, { state: "Done" });
    }
  });
}

function retry(world: World, issueId: IssueId): void {
  world.operate({ kind: "retry", issueId });
}

function reload(world: World): void {
  if (world.rng.chance(0.3)) {
    world.post({ kind: "workflow_broken", message: "line 3: what is this?" });
    world.clock.setTimer(world.rng.int(1000, 20 * MINUTE), () => world.post({ kind: "workflow_mended" }));
    return;
  }
  const byState: Record<string, number> = world.rng.chance(0.5) ? { todo: world.rng.int(1, 2) } : {};
  world.setSettings({
    ...makeSettings({
      agent: {
        maxConcurrentAgents: world.rng.int(1, 6),
        maxConcurrentAgentsByState: byState,
        maxTurns: world.rng.int(1, 5),
      },
      tracker: { excludedLabels: world.rng.chance(0.8) ? ["hold"] : [] },
    }),
    polling: { intervalMs: world.rng.pick([1000, 30_000, 120_000]) },
  });
}

function breakLedger(world: World): void {
  world.setLedgerDown(true);
  world.clock.setTimer(world.rng.int(100, 5 * MINUTE), () => world.setLedgerDown(false));
}

function operate(world: World): void {
  const all = [...world.board.issues.keys()];
  if (all.length === 0) return;
  const claimed = [...world.state.claims.keys()];
  const issueId = world.rng.pick(claimed.length > 0 && world.rng.chance(0.8) ? claimed : all);
  const commands: readonly OperatorCommand[] = [
    { kind: "pause" },
    { kind: "resume" },
    { kind: "resume" },
    { kind: "resume" },
    { kind: "refresh" },
    { kind: "stop", issueId },
    { kind: "retry", issueId },
    { kind: "release", issueId },
    { kind: "reset", issueId },
    { kind: "steer", issueId, text: "go left" },
    { kind: "steer", issueId, text: "go right" },
    { kind: "interrupt", issueId },
    { kind: "compact", issueId },
    { kind: "drain" },
  ];
  world.operate(world.rng.pick(commands));
}

function standStill(world: World): void {
  world.standStill(world.rng.int(MINUTE, 2 * HOUR));
}

/** Somebody looks at what is asked, answers some of it, and now and then something that was asked long ago. */
function answer(world: World): void {
  const claims = [...world.state.claims.values()];
  const asked = claims.flatMap((claim) => ("question" in claim && claim.question !== null ? [claim.question.id] : []));
  const accept = world.rng.chance(0.7);
  for (const questionId of [...asked, "run-0.q1"]) {
    if (world.rng.chance(0.6)) world.operate({ kind: "answer", questionId, answer: { accept, text: null } });
  }
}

/** A run's budget is spent, or the day's; somebody may raise the day's limit later. */
function spend(world: World): void {
  const claim = [...world.state.claims.values()].find((candidate) => candidate.kind === "running");
  if (world.rng.chance(0.5)) {
    if (claim?.kind === "running") world.post({ kind: "run_budget", runId: claim.runId, message: "120 of 100 tokens" });
    return;
  }
  const until = (Math.floor(world.clock.now() / (24 * HOUR)) + 1) * 24 * HOUR;
  world.post({ kind: "budget_day_spent", until, message: "1,200 of 1,000 tokens" });
  if (world.rng.chance(0.5)) {
    world.clock.setTimer(world.rng.int(MINUTE, 3 * HOUR), () => world.post({ kind: "budget_day_renewed" }));
  }
}

/** An orderly stop: drain, then interrupt; the next daemon comes up a little later, sometimes before the drain is over. */
function restart(world: World): void {
  const crashes = world.crashes;
  const isSameDaemon = (): boolean => world.alive && world.crashes === crashes;
  world.post({ kind: "shutdown" });
  world.clock.setTimer(world.rng.int(1000, 60_000), () => {
    if (!isSameDaemon()) return;
    world.post({ kind: "stop_runs" });
    world.clock.setTimer(world.rng.int(100, 5000), () => {
      if (isSameDaemon()) world.crash("the end of a restart");
    });
  });
}
