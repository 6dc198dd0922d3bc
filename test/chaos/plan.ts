/** What a round does, drawn from its seed: the same seed makes the same tickets and the same faults. Timing is the machine's own. */
import { Rng } from "../simulation/rng.ts";

/** What an agent makes of a ticket; each kind's script is in scripts.ts. */
export const TICKET_KINDS = ["plain", "turns", "stubborn", "flaky", "asks", "limited", "silent"] as const;
export type TicketKind = (typeof TICKET_KINDS)[number];

export interface TicketPlan {
  readonly id: string;
  readonly kind: TicketKind;
  /** Pauses inside of its turns. */
  readonly pauseMs: number;
}

/** Everything that is done to a daemon, and what it is (faults.ts does it). */
export const FAULTS = {
  kill_daemon: "SIGKILL of the daemon, then a new one",
  kill_boots: "SIGKILL of the daemon, and of those that start after it, while they start",
  kill_launcher: "SIGKILL of an agent's launcher",
  kill_agent: "SIGKILL of an agent's process",
  freeze_agent: "SIGSTOP of an agent, with or without SIGCONT",
  freeze_daemon: "SIGSTOP of the daemon, a second one started meanwhile, SIGCONT",
  kill_all: "SIGKILL of the daemon and everything that it started, then a new one",
  stop_daemon: "SIGTERM of the daemon, once or twice, then a new one",
  tracker_away: "the board's folder moved away and back",
  ticket_unreadable: "a ticket that can't be read for a while",
  full_disk: "no space left for the state directory",
  full_disk_kill: "SIGKILL of the daemon while no space is left",
  damaged_ledger: "SIGKILL, a damaged ledger, and its backup put back",
} as const satisfies Readonly<Record<string, string>>;
export type FaultKind = keyof typeof FAULTS;

/** Signs by which a fault is timed: lines of the daemon's log, and of the journal that hooks and agents write. */
export const MOMENTS = [
  "run started",
  "after_create",
  "before_run",
  "launch",
  "begin",
  "tool",
  "done",
  "after_run",
  "cleaning workspace",
  "before_remove",
] as const;
export type Moment = (typeof MOMENTS)[number];

export interface FaultPlan {
  readonly kind: FaultKind;
  /** It strikes `delayMs` after the next such moment. */
  readonly on: Moment;
  readonly delayMs: number;
  /** How long what can be mended stays broken. */
  readonly holdMs: number;
  /** Picks among the ways of a fault, and among the processes that it could strike. */
  readonly pick: number;
}

export interface RoundPlan {
  readonly seed: number;
  readonly tickets: readonly TicketPlan[];
  readonly faults: readonly FaultPlan[];
  /** Whether the shell that starts an agent stays as its parent. */
  readonly launcherStays: boolean;
}

const KINDS = Object.keys(FAULTS) as FaultKind[];
/** They need a state directory of their own kind, or restart time: one of them in a round is enough. */
const HEAVY: ReadonlySet<FaultKind> = new Set(["full_disk", "full_disk_kill", "damaged_ledger"]);
const LIGHT = KINDS.filter((kind) => !HEAVY.has(kind));
const FAULTS_PER_ROUND = 3;

/** Consecutive seeds go through all kinds of faults; everything else is drawn. */
export function planRound(seed: number): RoundPlan {
  const rng = new Rng(seed);
  const first = KINDS[seed % KINDS.length] ?? "kill_daemon";
  const others = Array.from({ length: FAULTS_PER_ROUND - 1 }, () => rng.pick(LIGHT));
  const kinds: readonly TicketKind[] = ["plain", "turns", "stubborn", rng.pick(TICKET_KINDS), rng.pick(TICKET_KINDS)];
  return {
    seed,
    launcherStays: rng.chance(0.5),
    tickets: kinds.map((kind, index) => ({ id: `CHAOS-${index + 1}`, kind, pauseMs: rng.int(20, 600) })),
    faults: [first, ...others].map((kind) => ({
      kind,
      on: rng.pick(MOMENTS),
      // Half of them strike at once: what is under way then takes a few milliseconds.
      delayMs: rng.chance(0.5) ? rng.int(0, 15) : rng.int(0, 400),
      holdMs: rng.int(300, 2500),
      pick: rng.int(0, 999),
    })),
  };
}

/** Five rounds with every kind of fault and of ticket, for whoever has a few minutes. */
export const FIXED_SEEDS: readonly number[] = [13, 153, 168, 379, 466];

/** Kinds of faults and tickets that none of these rounds has. */
export function uncovered(seeds: readonly number[]): readonly string[] {
  const plans = seeds.map(planRound);
  const has = new Set<string>(plans.flatMap(({ faults, tickets }) => [...faults, ...tickets].map(({ kind }) => kind)));
  return [...KINDS, ...TICKET_KINDS].filter((kind) => !has.has(kind));
}
