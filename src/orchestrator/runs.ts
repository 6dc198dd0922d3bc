/** The runs that are going on: starts them, hears them, and reports back to the loop as events. */
import type { IssueId, RunId } from "../domain/ids.ts";
import type { RunResult } from "../domain/outcome.ts";
import { errorMessage } from "../domain/errors.ts";
import { failed } from "../domain/outcome.ts";
import { startRun, type RunnerDeps } from "../agent/runner.ts";
import type { Run, RunListener, RunRequest } from "../agent/run-port.ts";
import type { AgentEvent } from "../domain/events.ts";
import type { Event } from "../scheduler/events.ts";
import type { BudgetWatch } from "./budget-watch.ts";
import type { LiveRuns } from "./live.ts";

/** Activity reaches the scheduler at once when the number of open items changes, else this often: it only moves stall deadlines. */
const ACTIVITY_INTERVAL_MS = 1000;

export interface RunsDeps extends RunnerDeps {
  readonly live: LiveRuns;
  readonly budgets: BudgetWatch;
  post(event: Event): void;
  /** Every event of every agent, for the ledger and for subscribers. */
  onAgentEvent(runId: RunId, issueId: IssueId, event: AgentEvent): void;
}

interface Activity {
  at: number;
  open: number;
  postedAt: number;
  postedOpen: number;
}

export class Runs {
  readonly #deps: RunsDeps;
  readonly #runs = new Map<RunId, Run>();
  readonly #activity = new Map<RunId, Activity>();

  constructor(deps: RunsDeps) {
    this.#deps = deps;
  }

  get size(): number {
    return this.#runs.size;
  }

  get(runId: RunId): Run | undefined {
    return this.#runs.get(runId);
  }

  /** Starts the run; its end comes back as `run_ended`, whatever happens. */
  start(asked: Omit<RunRequest, "budgetSpent">): void {
    const { runId } = asked;
    const { budgets } = this.#deps;
    const request: RunRequest = { ...asked, budgetSpent: () => budgets.spentBy(runId) };
    budgets.begin(runId, asked.issue.id);
    const startedAt = this.#deps.clock.now();
    this.#activity.set(runId, { at: startedAt, open: 0, postedAt: startedAt, postedOpen: 0 });
    const run = startRun(this.#deps, request, this.#listener(request));
    this.#runs.set(runId, run);
    const ended = (result: RunResult): void => {
      this.#runs.delete(runId);
      this.#activity.delete(runId);
      budgets.end(runId);
      this.#deps.live.end(runId, this.#deps.clock.now() - startedAt);
      this.#deps.post({ kind: "run_ended", runId, result });
    };
    // `done` never rejects by contract; a claim must not be stuck if it ever does.
    run.done.then(ended, (error: unknown) => ended(brokenRun(request, error)));
  }

  /** Resolves when no run is left. */
  async idle(): Promise<void> {
    while (this.#runs.size > 0) await Promise.allSettled([...this.#runs.values()].map((run) => run.done));
  }

  /** Posts activity that was held back, so that a deadline isn't decided on an old time. */
  flushActivity(): void {
    for (const [runId, activity] of this.#activity) {
      if (activity.at > activity.postedAt) this.#postActivity(runId, activity);
    }
  }

  #postActivity(runId: RunId, activity: Activity): void {
    activity.postedAt = activity.at;
    activity.postedOpen = activity.open;
    this.#deps.post({ kind: "run_activity", runId, at: activity.at, open: activity.open });
  }

  #noteActivity(runId: RunId, open: number): void {
    const activity = this.#activity.get(runId);
    if (activity === undefined) return;
    activity.at = this.#deps.clock.now();
    activity.open = open;
    if (open !== activity.postedOpen || activity.at - activity.postedAt >= ACTIVITY_INTERVAL_MS) {
      this.#postActivity(runId, activity);
    }
  }

  /** A line where a session's turn begins and where it ends, so that a log can be followed by session (section 13.1). */
  #logTurn({ runId, issue }: RunRequest, event: AgentEvent): void {
    const message = turnMessage(event);
    if (message === null) return;
    const { log, live } = this.#deps;
    const session_id = live.get(runId).sessionId;
    log.info({ issue_id: issue.id, issue_identifier: issue.identifier, run_id: runId, session_id }, message);
  }

  #listener(request: RunRequest): RunListener {
    const { runId, issue } = request;
    const { post, live, budgets } = this.#deps;
    return {
      prepared: (workspace) => post({ kind: "run_prepared", runId, workspace }),
      phase: (phase, turn) => {
        const activity = this.#activity.get(runId);
        if (activity !== undefined) activity.postedOpen = 0;
        post({ kind: "run_phase", runId, phase, turn });
      },
      threadStarted: (threadId) => post({ kind: "run_thread", runId, threadId }),
      issueSeen: (seen) => post({ kind: "run_issue", runId, issue: seen }),
      alive: (open) => this.#noteActivity(runId, open),
      turnCompleted: () => post({ kind: "run_turn_completed", runId }),
      question: (question) => post({ kind: "run_question", runId, question }),
      took: (itemId) => post({ kind: "run_took", runId, itemId }),
      agentEvent: (event) => {
        live.see(runId, event);
        this.#logTurn(request, event);
        this.#deps.onAgentEvent(runId, issue.id, event);
      },
      tokens: (growth, model) => {
        live.addTokens(runId, growth);
        budgets.count(runId, growth, model);
      },
    };
  }
}

/** Null for what is neither the beginning nor the end of a turn. */
function turnMessage({ kind }: AgentEvent): string | null {
  switch (kind) {
    case "turn_started":
      return "turn started";
    case "turn_completed":
      return "turn completed";
    case "turn_failed":
      return "turn failed";
    case "turn_cancelled":
      return "turn cancelled";
    default:
      return null;
  }
}

function brokenRun(request: RunRequest, error: unknown): RunResult {
  return {
    outcome: failed("internal", `the run broke: ${errorMessage(error)}`),
    issue: request.issue,
    turns: 0,
    threadId: request.threadId,
    changed: null,
  };
}
