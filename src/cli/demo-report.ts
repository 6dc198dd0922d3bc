/** The demo's result in figures, all of them from the ledger and the board. */
import type { RunJson } from "../ledger/run-list.ts";
import { showCount, showSpan } from "./figures.ts";
import type { TicketView } from "./demo-progress.ts";

/** `demo --json`, key by key (contract.md). */
export interface DemoSummary {
  readonly issues: number;
  readonly done: number;
  readonly runs: number;
  readonly turns: number;
  readonly retries: number;
  readonly tokens: {
    readonly input: number;
    readonly cached_input: number;
    readonly output: number;
    readonly total: number;
  };
  /** Path of the ledger. */
  readonly ledger: string;
}

/** Outcomes after which the same work is tried again. */
const TRIED_AGAIN: ReadonlySet<string> = new Set(["failed", "timed_out", "stalled"]);

/** `runs` as the ledger lists them, newest first. */
export function summarize(tickets: readonly TicketView[], runs: readonly RunJson[], ledger: string): DemoSummary {
  const sum = (figure: (run: RunJson) => number): number => runs.reduce((total, run) => total + figure(run), 0);
  return {
    issues: tickets.length,
    done: tickets.filter((ticket) => ticket.terminal).length,
    runs: runs.length,
    turns: sum((run) => run.turns),
    retries: countRetries(runs),
    tokens: {
      input: sum((run) => run.tokens.input),
      cached_input: sum((run) => run.tokens.cached_input),
      output: sum((run) => run.tokens.output),
      total: sum((run) => run.tokens.total),
    },
    ledger,
  };
}

/** Runs of an issue whose run before failed. */
function countRetries(runs: readonly RunJson[]): number {
  const last = new Map<string, string | null>();
  let retries = 0;
  for (const run of runs.toReversed()) {
    if (TRIED_AGAIN.has(last.get(run.issue_id) ?? "")) retries += 1;
    last.set(run.issue_id, run.outcome);
  }
  return retries;
}

function plural(count: number, one: string, many = `${one}s`): string {
  return `${showCount(count)} ${count === 1 ? one : many}`;
}

/** The figures in a sentence each. */
export function summaryLines(summary: DemoSummary, tookMs: number): readonly string[] {
  const { issues, done, runs, turns, retries, tokens } = summary;
  const work = [plural(runs, "run"), plural(turns, "turn"), plural(retries, "retry", "retries")].join(", ");
  return [
    `${done} of ${plural(issues, "ticket")} done in ${showSpan(tookMs)}: ${work}.`,
    `${showCount(tokens.total)} tokens: ${showCount(tokens.input)} input (${showCount(tokens.cached_input)} of them cached), ${showCount(tokens.output)} output.`,
    "The agent was simulated: no model was called, and its token figures are made up.",
  ];
}
