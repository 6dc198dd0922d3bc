import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { makeIssue, makeSettings } from "../../test/support/issues.ts";
import { changeOf, makeLedgerPlace, started, type LedgerPlace } from "../../test/support/ledger.ts";
import { runId } from "../domain/ids.ts";
import type { BudgetSettings } from "../domain/settings.ts";
import type { Ledger } from "../ledger/port.ts";
import type { Event } from "../scheduler/events.ts";
import { BudgetWatch } from "./budget-watch.ts";
import { nextUtcMidnight } from "./budget.ts";

const ISSUE = makeIssue("A-1");
const PRICES = { "m-1": { input: 1, cachedInput: 0, output: 10 } };

let place: LedgerPlace;
let ledger: Ledger;
let budget: BudgetSettings;
let posted: Event[];
let watch: BudgetWatch;
/** How often the ledger was asked for sums. */
let reads: number;

function limits(changes: Partial<BudgetSettings>): void {
  budget = { ...makeSettings().budget, ...changes };
}

function makeWatch(): BudgetWatch {
  const asked = <T>(answer: T): T => {
    reads += 1;
    return answer;
  };
  return new BudgetWatch({
    clock: place.clock,
    log: place.captured.log,
    budget: () => budget,
    ledger: {
      tokensOfIssue: (id) => asked(ledger.tokensOfIssue(id)),
      tokensOfDay: (at) => asked(ledger.tokensOfDay(at)),
    },
    post: (event) => posted.push(event),
  });
}

/** A run of the issue that has begun and may start its first turn. */
function begin(run: string): string | null {
  ledger.commit(changeOf({ facts: [started(run, place.clock.now(), ISSUE)] }));
  watch.begin(runId(run), ISSUE.id);
  return watch.spentBy(runId(run));
}

/** The run's thread reports a total, as the runner passes it on. */
function use(run: string, input: number, cachedInput = 0, model: string | null = "m-1"): void {
  const total = { input, cachedInput, output: 0, reasoning: 0 };
  const ids = { runId: runId(run), turn: 1, threadId: `thread-${run}`, issueId: ISSUE.id };
  const growth = ledger.recordTokens({ ...ids, total, subAgent: false, model, at: place.clock.now() });
  watch.count(runId(run), growth, model);
}

beforeEach(async () => {
  place = await makeLedgerPlace();
  ledger = place.open();
  posted = [];
  reads = 0;
  limits({});
  watch = makeWatch();
});

afterEach(async () => {
  await place[Symbol.asyncDispose]();
});

describe("a run", () => {
  test("is told once when its budget is spent, and the next run starts anew", () => {
    limits({ tokensPerRun: 100 });
    watch.start(false);
    expect(begin("run-1")).toBeNull();
    use("run-1", 1099, 1000);
    expect(posted).toEqual([]);
    use("run-1", 1100, 1000);
    use("run-1", 2000, 1000);
    const message = "budget.tokens_per_run is spent: 100 of 100 tokens (uncached input and output)";
    expect(posted).toEqual([{ kind: "run_budget", runId: "run-1", message }]);
    expect(watch.spentBy(runId("run-1"))).toContain("1,000 of 100");
    watch.end(runId("run-1"));
    expect(begin("run-2")).toBeNull();
  });

  test("is counted without a read of the ledger for each report", () => {
    limits({ tokensPerIssue: 1_000_000, tokensPerDay: 1_000_000 });
    watch.start(false);
    begin("run-1");
    for (let total = 1; total <= 50; total += 1) use("run-1", total);
    expect(reads).toBe(2);
    expect(watch.today()).toMatchObject({ tokens: 50 });
  });

  test("may not start a turn when its issue's budget was spent before, over a restart too", () => {
    limits({ tokensPerIssue: 100 });
    watch.start(false);
    begin("run-1");
    use("run-1", 60);
    watch.end(runId("run-1"));
    watch = makeWatch();
    watch.start(false);
    expect(begin("run-2")).toBeNull();
    use("run-2", 39);
    expect(posted).toEqual([]);
    use("run-2", 40);
    expect(posted).toMatchObject([{ kind: "run_budget", runId: "run-2" }]);
    watch.end(runId("run-2"));
    expect(begin("run-3")).toBe("budget.tokens_per_issue is spent: 100 of 100 tokens (uncached input and output)");
  });

  test("that goes on is told when its limit is lowered", () => {
    watch.start(false);
    begin("run-1");
    use("run-1", 60);
    limits({ tokensPerRun: 50 });
    watch.settingsChanged();
    watch.settingsChanged();
    expect(posted).toMatchObject([{ kind: "run_budget", runId: "run-1" }]);
  });

  test("costs what its model costs, and a model without a price is named once", () => {
    limits({ prices: PRICES, usdPerIssue: 0.5 });
    watch.start(false);
    begin("run-1");
    use("run-1", 499_999);
    use("run-1", 600_000, 0, "m-2");
    use("run-1", 700_000, 0, "m-2");
    expect(posted).toEqual([]);
    expect(place.captured.warnings()).toHaveLength(1);
    expect(place.captured.warnings()[0]).toContain('budget.prices.\\"m-2\\"');
    expect(watch.today()).toMatchObject({ usd: null });
    use("run-1", 700_001);
    expect(posted).toMatchObject([{ kind: "run_budget", message: "budget.usd_per_issue is spent: $0.50 of $0.50" }]);
  });
});

describe("the day", () => {
  test("is told spent until midnight UTC, once, and begins anew then", async () => {
    limits({ tokensPerDay: 100 });
    watch.start(false);
    begin("run-1");
    use("run-1", 100);
    use("run-1", 120);
    const until = nextUtcMidnight(place.clock.now());
    expect(posted).toMatchObject([{ kind: "budget_day_spent", until, message: expect.stringContaining("100 of 100") }]);
    await place.clock.advance(until - place.clock.now());
    use("run-1", 219);
    expect(posted).toHaveLength(1);
    use("run-1", 220);
    expect(posted).toMatchObject([{}, { kind: "budget_day_spent", until: until + 24 * 3_600_000 }]);
  });

  test("is counted over a restart, with the pause that held or without it", () => {
    limits({ tokensPerDay: 100 });
    watch.start(false);
    begin("run-1");
    use("run-1", 100);
    posted = [];
    makeWatch().start(true);
    expect(posted).toEqual([]);
    makeWatch().start(false);
    expect(posted).toMatchObject([{ kind: "budget_day_spent" }]);
  });

  test("has budget again when the limit is raised, while the daemon runs or between two of them", () => {
    limits({ tokensPerDay: 100 });
    watch.start(false);
    begin("run-1");
    use("run-1", 100);
    posted = [];
    limits({ tokensPerDay: 101 });
    watch.settingsChanged();
    watch.settingsChanged();
    makeWatch().start(true);
    expect(posted).toEqual([{ kind: "budget_day_renewed" }, { kind: "budget_day_renewed" }]);
  });

  test("shows what it has used and may use", () => {
    limits({ prices: PRICES, usdPerDay: 3, tokensPerDay: 9000 });
    watch.start(false);
    begin("run-1");
    use("run-1", 1000, 500);
    expect(watch.today()).toEqual({
      day: "2026-01-01",
      tokens: 500,
      tokens_per_day: 9000,
      usd: 0.0005,
      usd_per_day: 3,
    });
  });
});
