/** Usage by issue or by day as `usage --json` shows it (contract.md). */
import { costOfAll, roundUsd, type Prices } from "../domain/price.ts";
import { addTokens, NO_TOKENS, totalTokens, type TokenCounts } from "../domain/tokens.ts";
import type { Connection } from "./database.ts";
import { TURNS_BEGUN } from "./run-list.ts";
import { utcDay } from "./tokens.ts";

export interface UsageQuery {
  readonly by: "issue" | "day";
  /** None: `usd` is null throughout. */
  readonly prices?: Prices;
}

/** Sums without the key that they are for. */
export interface UsageSums {
  readonly runs: number;
  readonly turns: number;
  readonly input_tokens: number;
  readonly cached_input_tokens: number;
  readonly output_tokens: number;
  readonly reasoning_tokens: number;
  /** input + output. */
  readonly total_tokens: number;
  readonly seconds_running: number;
  /** By the prices that were given; null when one of the models has none. */
  readonly usd: number | null;
}

export interface UsageRow extends UsageSums {
  /** An issue's identifier, or a UTC day. */
  readonly key: string;
}

export interface UsageJson {
  readonly by: "issue" | "day";
  /** Issues by identifier, days oldest first. */
  readonly rows: readonly UsageRow[];
  readonly total: UsageSums;
}

interface RunSpan {
  readonly issue_id: string;
  readonly identifier: string;
  readonly turns: number;
  readonly started_at: number;
  /** When the run ended; for one that was cut off, when it was last heard of. */
  readonly ended_at: number | null;
  readonly last_at: number;
}

interface Growth extends TokenCounts {
  /** An issue's id, or a UTC day. */
  readonly key: string;
  readonly model: string | null;
}

const SPANS = `
  SELECT r.issue_id, COALESCE(i.identifier, r.issue_identifier) AS identifier, r.started_at, r.ended_at,
    ${TURNS_BEGUN},
    CASE WHEN r.ended_at IS NULL THEN MAX(r.started_at, COALESCE(
      (SELECT e.at FROM event_runs AS n JOIN events AS e ON e.run = n.number WHERE n.run_id = r.run_id ORDER BY e.id DESC LIMIT 1), 0)) ELSE 0 END AS last_at
  FROM runs AS r LEFT JOIN issues AS i USING (issue_id)`;

/** In the order of the key's own index. */
function growthSql(key: "issue_id" | "day"): string {
  return `
    SELECT ${key} AS key, model, SUM(input) AS input, SUM(cached_input) AS cachedInput, SUM(output) AS output,
      SUM(reasoning) AS reasoning
    FROM token_usage GROUP BY ${key}, model`;
}

/** Sums in the making; time is kept in milliseconds until the end, so that rounding doesn't add up. */
interface Tally {
  runs: number;
  turns: number;
  readonly tokens: Map<string | null, TokenCounts>;
  runningMs: number;
}

/** What is added to it. */
interface Part {
  readonly runs?: number;
  readonly turns?: number;
  readonly tokens?: { readonly model: string | null; readonly counts: TokenCounts };
  readonly runningMs?: number;
}

class Tallies {
  readonly #byKey = new Map<string, Tally>();
  readonly total = emptyTally();

  /** Adds to a key's sums and to the total. */
  add(key: string, part: Part): void {
    const tally = this.#byKey.get(key) ?? emptyTally();
    this.#byKey.set(key, tally);
    addTo(tally, part);
    addTo(this.total, part);
  }

  rows(prices: Prices): readonly UsageRow[] {
    // As people order them, A-2 before A-10.
    const order = new Intl.Collator("en", { numeric: true });
    return [...this.#byKey]
      .map(([key, tally]) => ({ key, ...toSums(tally, prices) }))
      .toSorted((a, b) => order.compare(a.key, b.key));
  }
}

function emptyTally(): Tally {
  return { runs: 0, turns: 0, tokens: new Map(), runningMs: 0 };
}

function addTo(tally: Tally, { runs = 0, turns = 0, tokens, runningMs = 0 }: Part): void {
  tally.runs += runs;
  tally.turns += turns;
  tally.runningMs += runningMs;
  if (tokens === undefined) return;
  tally.tokens.set(tokens.model, addTokens(tally.tokens.get(tokens.model) ?? NO_TOKENS, tokens.counts));
}

function toSums({ runs, turns, tokens, runningMs }: Tally, prices: Prices): UsageSums {
  const all = [...tokens.values()].reduce(addTokens, NO_TOKENS);
  return {
    runs,
    turns,
    input_tokens: all.input,
    cached_input_tokens: all.cachedInput,
    output_tokens: all.output,
    reasoning_tokens: all.reasoning,
    total_tokens: totalTokens(all),
    seconds_running: Math.round(runningMs) / 1000,
    usd: usdOf(tokens, prices),
  };
}

/** A part without a price makes the whole unknown: too low a sum would look like one. */
function usdOf(tokens: ReadonlyMap<string | null, TokenCounts>, prices: Prices): number | null {
  const spent = [...tokens].map(([model, counts]) => ({ model, tokens: counts }));
  const { usd, unpriced } = costOfAll(spent, prices);
  if (unpriced.length > 0 || Object.keys(prices).length === 0) return null;
  return roundUsd(usd);
}

const DAY_MS = 24 * 60 * 60 * 1000;

/** The parts of a span by UTC day. */
function* daysOf(from: number, to: number): Generator<{ readonly day: string; readonly ms: number }> {
  for (let start = from; start < to;) {
    const end = Math.min(to, (Math.floor(start / DAY_MS) + 1) * DAY_MS);
    yield { day: utcDay(start), ms: end - start };
    start = end;
  }
}

/** Runs that go on count up to now, as long as the daemon that runs them lives; what was cut off, up to its last event. */
function spanEnd(span: RunSpan, now: number, alive: boolean): number {
  return span.ended_at ?? (alive ? Math.max(now, span.started_at) : span.last_at);
}

/** By the process that last opened the ledger. A pid that another process has by now makes a cut-off run look alive, no worse. */
function daemonLives(db: Connection): boolean {
  const pid = db.prepare<[], number>("SELECT pid FROM daemon WHERE stopped_at IS NULL").pluck().get();
  if (pid === undefined) return false;
  try {
    process.kill(pid, 0);
    return true;
  } catch (error) {
    return error instanceof Error && "code" in error && error.code === "EPERM";
  }
}

/** A run counts on the day it started, its time on the days it ran, tokens on the days they were reported. */
export function sumUsage(db: Connection, { by, prices = {} }: UsageQuery, now: number): UsageJson {
  const tallies = new Tallies();
  const identifiers = new Map<string, string>();
  const alive = daemonLives(db);
  for (const span of db.prepare<[], RunSpan>(SPANS).all()) {
    const { identifier, turns, started_at: startedAt } = span;
    const endedAt = spanEnd(span, now, alive);
    identifiers.set(span.issue_id, identifier);
    tallies.add(by === "issue" ? identifier : utcDay(startedAt), { runs: 1, turns });
    for (const { day, ms } of daysOf(startedAt, endedAt)) {
      tallies.add(by === "issue" ? identifier : day, { runningMs: ms });
    }
  }
  for (const { key, model, ...counts } of db
    .prepare<[], Growth>(growthSql(by === "issue" ? "issue_id" : "day"))
    .all()) {
    tallies.add(identifiers.get(key) ?? key, { tokens: { model, counts } });
  }
  return { by, rows: tallies.rows(prices), total: toSums(tallies.total, prices) };
}
