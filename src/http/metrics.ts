/** What a Prometheus server reads: figures of the daemon, computed when it asks. Labels are of fixed sets, never tickets or people. */
import type { Gauge, Registry } from "prom-client";
import { BLOCK_REASONS, CLAIM_KINDS, PAUSE_KINDS } from "../domain/claim.ts";
import type { Settings } from "../domain/settings.ts";
import type { LedgerReader } from "../ledger/queries.ts";
import type { Orchestrator } from "../orchestrator/orchestrator.ts";
import type { State } from "../scheduler/state.ts";
import { stateSchema } from "./schemas/state.ts";

export interface MetricsDeps {
  readonly orchestrator: Pick<Orchestrator, "snapshot" | "state">;
  readonly ledger: Pick<LedgerReader, "outcomes">;
  settings(): Settings;
  readonly version: string;
}

type Labels = Readonly<Record<string, string>>;

/** A figure and its value for each set of labels. */
interface Figure {
  readonly name: string;
  readonly help: string;
  readonly labels: readonly string[];
  read(now: Reading): readonly (readonly [labels: Labels, value: number])[];
}

interface Reading {
  readonly state: State;
  readonly snapshot: ReturnType<typeof stateSchema.parse>;
  readonly deps: MetricsDeps;
}

const NONE: Labels = {};

function count<T extends string>(
  label: string,
  kinds: readonly T[],
  found: Iterable<T>,
): readonly (readonly [Labels, number])[] {
  const counts = new Map<T, number>(kinds.map((kind) => [kind, 0]));
  for (const kind of found) counts.set(kind, (counts.get(kind) ?? 0) + 1);
  return [...counts].map(([kind, value]) => [{ [label]: kind }, value] as const);
}

/** Names end in their unit; what only grows ends in `_total`. */
const FIGURES: readonly Figure[] = [
  {
    name: "symphony_info",
    help: "Always 1; the version is its label.",
    labels: ["version"],
    read: ({ deps }) => [[{ version: deps.version }, 1]],
  },
  {
    name: "symphony_claims",
    help: "Tickets by what they are doing.",
    labels: ["kind"],
    read: ({ state }) =>
      count(
        "kind",
        CLAIM_KINDS,
        [...state.claims.values()].map(({ kind }) => kind),
      ),
  },
  {
    name: "symphony_blocked_claims",
    help: "Blocked tickets by reason.",
    labels: ["why"],
    read: ({ state }) => {
      const blocked = [...state.claims.values()].filter((claim) => claim.kind === "blocked");
      return count(
        "why",
        BLOCK_REASONS,
        blocked.map(({ why }) => why),
      );
    },
  },
  {
    name: "symphony_slots",
    help: "Runs that may go on at one time.",
    labels: [],
    read: ({ deps }) => [[NONE, deps.settings().agent.maxConcurrentAgents]],
  },
  {
    name: "symphony_paused",
    help: "1 for each reason for which nothing starts.",
    labels: ["kind"],
    read: ({ state }) => PAUSE_KINDS.map((kind) => [{ kind }, state.pauses.has(kind) ? 1 : 0]),
  },
  {
    name: "symphony_accepting",
    help: "0 while the daemon drains or stops.",
    labels: [],
    read: ({ state }) => [[NONE, state.mode === "running" ? 1 : 0]],
  },
  {
    name: "symphony_runs_total",
    help: "Runs that have ended, by outcome, over the ledger's whole life.",
    labels: ["outcome"],
    read: ({ deps }) => deps.ledger.outcomes().map(({ outcome, runs }) => [{ outcome }, runs]),
  },
  {
    name: "symphony_tokens_total",
    help: "Tokens counted, over the ledger's whole life. Input contains cached input.",
    labels: ["kind"],
    read: ({ snapshot: { codex_totals: totals } }) => [
      [{ kind: "input" }, totals.input_tokens],
      [{ kind: "cached_input" }, totals.cached_input_tokens],
      [{ kind: "output" }, totals.output_tokens],
      [{ kind: "reasoning" }, totals.reasoning_tokens],
    ],
  },
  {
    name: "symphony_run_seconds_total",
    help: "Time that agents have been at work.",
    labels: [],
    read: ({ snapshot }) => [[NONE, snapshot.codex_totals.seconds_running]],
  },
  {
    name: "symphony_tracker_failed_polls",
    help: "Polls that have failed in a row.",
    labels: [],
    read: ({ state }) => [[NONE, state.tracker.failures]],
  },
  {
    name: "symphony_tracker_last_ok_timestamp_seconds",
    help: "When the tracker last answered; 0 = not yet.",
    labels: [],
    read: ({ state }) => [[NONE, (state.tracker.lastOkAt ?? 0) / 1000]],
  },
  {
    name: "symphony_candidates",
    help: "Tickets that the last poll listed, and how many of them may start.",
    labels: ["kind"],
    read: ({ state: { tracker } }) => [
      [{ kind: "seen" }, tracker.seen],
      [{ kind: "eligible" }, tracker.eligible],
    ],
  },
  {
    name: "symphony_workflow_broken",
    help: "1 while the workflow file can't be used as it stands.",
    labels: [],
    read: ({ snapshot }) => [[NONE, snapshot.workflow.last_error === null ? 0 : 1]],
  },
  {
    name: "symphony_ledger_broken",
    help: "1 while the ledger can't be written.",
    labels: [],
    read: ({ snapshot }) => [[NONE, snapshot.ledger.last_error === null ? 0 : 1]],
  },
];

/** Loads its library with the first question. */
export class Metrics {
  readonly #deps: MetricsDeps;
  #loaded: Promise<{ registry: Registry; gauges: ReadonlyMap<Figure, Gauge> }> | null = null;

  constructor(deps: MetricsDeps) {
    this.#deps = deps;
  }

  /** In Prometheus' text format, with the figures of the process itself. */
  async text(): Promise<string> {
    this.#loaded ??= load();
    const { registry, gauges } = await this.#loaded;
    const { orchestrator } = this.#deps;
    const reading = {
      state: orchestrator.state,
      snapshot: stateSchema.parse(orchestrator.snapshot()),
      deps: this.#deps,
    };
    for (const [figure, gauge] of gauges) {
      gauge.reset();
      for (const [labels, value] of figure.read(reading)) gauge.set(labels, value);
    }
    return registry.metrics();
  }
}

async function load(): Promise<{ registry: Registry; gauges: ReadonlyMap<Figure, Gauge> }> {
  const { collectDefaultMetrics, Gauge, Registry } = (await import("prom-client")).default;
  const registry = new Registry();
  collectDefaultMetrics({ register: registry });
  const gauges = new Map(
    FIGURES.map((figure) => {
      const { name, help, labels } = figure;
      return [figure, new Gauge({ name, help, labelNames: labels, registers: [registry] })] as const;
    }),
  );
  return { registry, gauges };
}
