/** Counts what runs, issues and the day spend against their budgets: read from the ledger once, then kept in memory with each report. */
import type { IssueId, RunId } from "../domain/ids.ts";
import { costOfAll, roundUsd } from "../domain/price.ts";
import type { BudgetSettings } from "../domain/settings.ts";
import type { ModelTokens, TokenCounts } from "../domain/tokens.ts";
import type { Clock } from "../lib/clock.ts";
import type { Log } from "../lib/log.ts";
import type { Event } from "../scheduler/events.ts";
import {
  addSpent,
  budgetedTokens,
  nextUtcMidnight,
  spentByRun,
  spentToday,
  unpricedModels,
  utcDayNumber,
  type Spent,
} from "./budget.ts";

export interface BudgetWatchDeps {
  readonly clock: Clock;
  readonly log: Log;
  /** Of the newest settings: a limit that is changed counts for what runs. */
  budget(): BudgetSettings;
  readonly ledger: {
    tokensOfIssue(issueId: IssueId): readonly ModelTokens[];
    tokensOfDay(at: number): readonly ModelTokens[];
  };
  post(event: Event): void;
}

interface RunCounter {
  readonly issueId: IssueId;
  run: Spent;
  /** Earlier runs' too; null until the ledger was asked. */
  issue: Spent | null;
  told: boolean;
}

export class BudgetWatch {
  readonly #deps: BudgetWatchDeps;
  readonly #runs = new Map<RunId, RunCounter>();
  readonly #warned = new Set<string | null>();
  #day: { number: number; spent: Spent } | null = null;
  #dayTold = false;

  constructor(deps: BudgetWatchDeps) {
    this.#deps = deps;
  }

  /** Reads the day so far. `paused`: the scheduler holds a pause for a spent day. Throws `ledger_unusable`. */
  start(paused: boolean): void {
    this.#dayTold = paused;
    this.#checkDay();
  }

  begin(runId: RunId, issueId: IssueId): void {
    this.#runs.set(runId, { issueId, run: [], issue: null, told: false });
  }

  end(runId: RunId): void {
    this.#runs.delete(runId);
  }

  /** The budget that the run or its issue has spent, with its numbers, or null: asked before each turn. Throws `ledger_unusable`. */
  spentBy(runId: RunId): string | null {
    const counter = this.#runs.get(runId);
    if (counter === undefined) return null;
    counter.issue ??= this.#deps.ledger.tokensOfIssue(counter.issueId);
    return spentByRun(this.#deps.budget(), counter.run, counter.issue);
  }

  /** Counts what the ledger has just counted. A spent budget is told as an event, once. */
  count(runId: RunId, growth: TokenCounts, model: string | null): void {
    const counter = this.#runs.get(runId);
    if (counter !== undefined) {
      counter.run = addSpent(counter.run, growth, model);
      // A ledger that is asked only now knows of this growth already.
      if (counter.issue !== null) counter.issue = addSpent(counter.issue, growth, model);
      this.#checkRun(runId, counter);
    }
    const day = this.#today();
    day.spent = addSpent(day.spent, growth, model);
    this.#warnOfUnpriced(day.spent);
    this.#checkDay();
  }

  /** Limits or prices may have changed. */
  settingsChanged(): void {
    for (const [runId, counter] of this.#runs) this.#checkRun(runId, counter);
    this.#checkDay();
  }

  /** For the status: what the UTC day has used so far, under the API's names. `usd` is null where a price is missing. */
  today(): Readonly<Record<string, number | string | null>> {
    const { prices, tokensPerDay, usdPerDay } = this.#deps.budget();
    const { spent } = this.#today();
    const { usd, unpriced } = costOfAll(spent, prices);
    const isPriced = unpriced.length === 0 && Object.keys(prices).length > 0;
    return {
      day: new Date(this.#deps.clock.now()).toISOString().slice(0, 10),
      tokens: budgetedTokens(spent),
      tokens_per_day: tokensPerDay,
      usd: isPriced ? roundUsd(usd) : null,
      usd_per_day: usdPerDay,
    };
  }

  #today(): { number: number; spent: Spent } {
    const now = this.#deps.clock.now();
    const number = utcDayNumber(now);
    if (this.#day === null) this.#day = { number, spent: this.#deps.ledger.tokensOfDay(now) };
    else if (this.#day.number !== number) {
      this.#day = { number, spent: [] };
      // The pause of the day before ends by itself.
      this.#dayTold = false;
    }
    return this.#day;
  }

  #checkRun(runId: RunId, counter: RunCounter): void {
    if (counter.told) return;
    const message = this.spentBy(runId);
    if (message === null) return;
    counter.told = true;
    this.#deps.post({ kind: "run_budget", runId, message });
  }

  #checkDay(): void {
    const { spent } = this.#today();
    const message = spentToday(this.#deps.budget(), spent);
    if ((message !== null) === this.#dayTold) return;
    this.#dayTold = message !== null;
    if (message === null) this.#deps.post({ kind: "budget_day_renewed" });
    else this.#deps.post({ kind: "budget_day_spent", until: nextUtcMidnight(this.#deps.clock.now()), message });
  }

  /** Once for each model, so that a limit that can't work doesn't look as if it did. */
  #warnOfUnpriced(spent: Spent): void {
    for (const model of unpricedModels(this.#deps.budget(), spent)) {
      if (this.#warned.has(model)) continue;
      this.#warned.add(model);
      const mend = model === null ? "the agent didn't name it" : `add budget.prices.${JSON.stringify(model)}`;
      this.#deps.log.warn({ model, mend }, "a model has no price, so dollar budgets don't count it");
    }
  }
}
