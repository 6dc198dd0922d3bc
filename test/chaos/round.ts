/** One round: a board is worked through while faults strike, then everything is looked at. */
import { setTimeout as pause } from "node:timers/promises";
import { errorMessage } from "../../src/domain/errors.ts";
import { countFigures, findLosses, type Figures, type Loss } from "./checks.ts";
import { FaultLoss, strike, type Strike } from "./faults.ts";
import { ledgerAsText, readLedger } from "./ledger-view.ts";
import { planRound, type FaultKind } from "./plan.ts";
import { isFinished } from "./scripts.ts";
import { World } from "./world.ts";

export interface StruckFault {
  readonly kind: FaultKind;
  readonly strike: Strike;
}

export interface RoundResult {
  readonly seed: number;
  readonly faults: readonly StruckFault[];
  readonly losses: readonly Loss[];
  /** Null when the round never came to its end. */
  readonly figures: Figures | null;
  /** The ledger's decisive rows at the end, the journal, and the daemons' whole log. */
  readonly trace: string;
  readonly tookMs: number;
}

/** A round in which nothing is logged and nobody works for so long is stuck: its longest wait is one of seconds. */
const SILENCE_MS = 180_000;
/** Forty times what a round takes on an idle machine; one that moves and never ends is given up then. */
const SETTLE_PATIENCE_MS = 15 * 60_000;
const LOOK_EVERY_MS = 100;

/** Nothing is left to do: done tickets have no claim and no workspace, and the others wait for a person. */
function isSettled(world: World): boolean {
  const { claims } = readLedger(world.ledger);
  const waits = claims.filter(({ kind }) => kind === "blocked").map(({ ticket }) => ticket);
  const kept = world.workspaces();
  return world.plan.tickets.every(({ id, kind }) =>
    isFinished(kind)
      ? world.stateOf(id) === "Done" && !kept.includes(id) && claims.every(({ ticket }) => ticket !== id)
      : waits.includes(id),
  );
}

/** A slow machine gets all the time that it needs, as long as something moves. */
async function settle(world: World): Promise<void> {
  const startedAt = performance.now();
  let movedAt = startedAt;
  let seen = -1;
  while (!isSettled(world)) {
    const moved = world.log.length + world.journal().length;
    const now = performance.now();
    if (moved !== seen) movedAt = now;
    seen = moved;
    if (now - movedAt > SILENCE_MS) throw new Error("nothing moves, and some tickets aren't done");
    if (now - startedAt > SETTLE_PATIENCE_MS) throw new Error("some tickets are never done");
    await pause(LOOK_EVERY_MS);
  }
}

async function play(world: World, struck: StruckFault[]): Promise<Loss[]> {
  const losses: Loss[] = [];
  world.start();
  await world.ready();
  for (const plan of world.plan.faults) {
    try {
      struck.push({ kind: plan.kind, strike: await strike(world, plan) });
    } catch (error) {
      struck.push({ kind: plan.kind, strike: { did: "answered wrongly" } });
      losses.push({ kind: "fault", text: `${plan.kind}: ${errorMessage(error)}` });
      if (!(error instanceof FaultLoss)) return losses;
    }
  }
  await settle(world);
  const { code } = await world.stopDaemon("SIGTERM");
  if (code !== 0) losses.push({ kind: "process", text: `the last daemon ended with code ${code ?? "none"}, not 0` });
  return losses;
}

function traceOf(world: World): string {
  const journal = world.journal().map(({ name, ticket, run, pid }) => `${name} ${ticket} ${run} ${pid}`);
  return `--- ledger\n${ledgerText(world)}\n--- journal\n${journal.join("\n")}\n--- log\n${world.log}`;
}

function ledgerText(world: World): string {
  try {
    return ledgerAsText(world.ledger);
  } catch (error) {
    return `it can't be read: ${errorMessage(error)}`;
  }
}

/** Plays the round of a seed. Never rejects: what goes wrong is a loss. */
export async function playRound(seed: number): Promise<RoundResult> {
  const startedAt = performance.now();
  await using world = await World.make(planRound(seed));
  const faults: StruckFault[] = [];
  const losses: Loss[] = [];
  let figures: Figures | null = null;
  try {
    losses.push(...(await play(world, faults)));
    const restored = faults.some(({ kind }) => kind === "damaged_ledger");
    losses.push(...findLosses(world, { restored }));
    figures = countFigures(world);
  } catch (error) {
    losses.push({ kind: "ticket", text: `the round did not end: ${errorMessage(error)}` });
  }
  return { seed, faults, losses, figures, trace: traceOf(world), tookMs: performance.now() - startedAt };
}
