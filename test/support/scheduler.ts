/** Drives the pure scheduler by hand: a state, a time, and what the last event asked for. */
import type { Claim, DurableChange } from "../../src/domain/claim.ts";
import type { RunId } from "../../src/domain/ids.ts";
import type { Issue } from "../../src/domain/issue.ts";
import { failed, type RunOutcome, type RunResult } from "../../src/domain/outcome.ts";
import type { Settings } from "../../src/domain/settings.ts";
import type { Effect } from "../../src/scheduler/effects.ts";
import type { Event, OperatorCommand, OperatorResult } from "../../src/scheduler/events.ts";
import { findBreaches } from "../../src/scheduler/invariants.ts";
import { judge } from "../../src/scheduler/operator-result.ts";
import { reduce } from "../../src/scheduler/reduce.ts";
import { initialState, type State } from "../../src/scheduler/state.ts";
import { nextWakeAt } from "../../src/scheduler/timers.ts";
import { DurableStore } from "../simulation/durable-store.ts";
import { makeSettings } from "./issues.ts";

export class SchedulerDriver {
  state: State = initialState();
  now = 1_000_000;
  settings: Settings;
  effects: readonly Effect[] = [];
  change: DurableChange | null = null;
  /** What a ledger would hold. */
  readonly store: DurableStore;
  #seed = 1;
  #poll: Extract<Effect, { kind: "poll" }> | undefined;

  constructor(settings: Settings = makeSettings(), store = new DurableStore()) {
    this.settings = settings;
    this.store = store;
  }

  /** Applies one event; a broken invariant fails the test that caused it. */
  send(event: Event): readonly Effect[] {
    const decision = reduce(this.state, event, { now: this.now, settings: this.settings, seed: (this.#seed += 1) });
    this.state = decision.state;
    this.effects = decision.effects;
    this.change = decision.change;
    if (decision.change !== null) this.store.commit(decision.change);
    this.#poll = this.effect("poll") ?? this.#poll;
    const breaches = findBreaches(this.state);
    if (breaches.length > 0) throw new Error(breaches.join("; "));
    return decision.effects;
  }

  effect<K extends Effect["kind"]>(kind: K): Extract<Effect, { kind: K }> | undefined {
    return this.effects.find((effect): effect is Extract<Effect, { kind: K }> => effect.kind === kind);
  }

  claim(issue: Issue): Claim | undefined {
    return this.state.claims.get(issue.id);
  }

  /** The claim, which must be of this kind. */
  claimOf<K extends Claim["kind"]>(kind: K, issue: Issue): Extract<Claim, { kind: K }> {
    const claim = this.claim(issue);
    if (claim?.kind !== kind) throw new Error(`${issue.identifier} is ${claim?.kind ?? "unclaimed"}, not ${kind}`);
    return claim as Extract<Claim, { kind: K }>;
  }

  advance(ms: number): readonly Effect[] {
    this.now += ms;
    return this.send({ kind: "timer" });
  }

  get wakeAt(): number | null {
    return nextWakeAt(this.state, this.settings, this.now);
  }

  boot(): void {
    this.send({ kind: "boot", durable: { claims: new Map(), workspaces: new Map(), pauses: new Map() } });
  }

  /** A crash, and the next daemon's boot from what was committed. */
  restart(): SchedulerDriver {
    const next = new SchedulerDriver(this.settings, this.store);
    next.now = this.now + 1000;
    next.send({ kind: "boot", durable: this.store.load() });
    return next;
  }

  /** What a person asks for, and what they are told. */
  operate(command: OperatorCommand): OperatorResult {
    const result = judge(this.state, command);
    this.send({ kind: "operator", command });
    return result;
  }

  /** One whole tick: the poll is due, and the tracker answers with the candidates and with what else it knows of tracked ids. */
  tick(candidates: readonly Issue[], others: readonly Issue[] = []): readonly Effect[] {
    if (this.state.polling === null) {
      this.now = Math.max(this.now, this.state.nextPollAt);
      this.send({ kind: "timer" });
    }
    const poll = this.#poll;
    if (poll === undefined || poll.poll !== this.state.polling) throw new Error("no poll is due");
    return this.send({
      kind: "polled",
      poll: poll.poll,
      candidates,
      tracked: [...candidates, ...others].filter((issue) => poll.ids.includes(issue.id)),
      trackedIds: poll.ids,
    });
  }

  /** Answers the look before a start. */
  answerRefresh(issues: readonly Issue[]): readonly Effect[] {
    const refresh = this.effect("refresh");
    if (refresh === undefined) throw new Error("nothing is being looked at");
    return this.send({ kind: "refreshed", check: refresh.check, ids: refresh.ids, issues });
  }

  /** Polls and confirms, so that every issue that may run does; what is claimed already is still there, unchanged. */
  dispatch(...issues: readonly Issue[]): void {
    if (this.state.nextPollAt === 0) this.boot();
    const claimed = [...this.state.claims.values()].map((claim) => claim.issue);
    this.tick(
      issues,
      claimed.filter((issue) => issues.every((other) => other.id !== issue.id)),
    );
    if (this.effect("refresh") !== undefined) this.answerRefresh(issues);
  }

  runIdOf(issue: Issue): RunId {
    return this.claimOf("running", issue).runId;
  }

  /** The run's last sight of its ticket is `extra.issue`, where that is given. */
  endRun(issue: Issue, outcome: RunOutcome, extra: Partial<RunResult> = {}): readonly Effect[] {
    const runId = this.runIdOf(issue);
    if (extra.issue !== undefined && extra.issue !== null) this.send({ kind: "run_issue", runId, issue: extra.issue });
    return this.send({
      kind: "run_ended",
      runId,
      result: { outcome, issue, turns: 1, threadId: "thread-1", changed: true, ...extra },
    });
  }
}

/** Drives an issue into a claim of this kind, with a known workspace. */
export function driverIn(issue: Issue, kind: Claim["kind"] | "none"): SchedulerDriver {
  const driver = new SchedulerDriver();
  driver.dispatch(issue);
  const workspace = {
    issueId: issue.id,
    identifier: issue.identifier,
    path: `/w/${issue.identifier}`,
    host: "local",
    createdAt: 1,
  };
  driver.send({ kind: "run_prepared", runId: driver.runIdOf(issue), workspace });
  if (kind === "none") driver.endRun(issue, { kind: "succeeded" }, { issue: { ...issue, state: "Human Review" } });
  if (kind === "waiting") driver.endRun(issue, failed("agent", "boom"));
  if (kind === "blocked") driver.endRun(issue, failed("config_refused", "no such policy", { retryable: false }));
  if (kind === "cleaning") driver.endRun(issue, { kind: "succeeded" }, { issue: { ...issue, state: "Done" } });
  const got = driver.claim(issue)?.kind ?? "none";
  if (got !== kind) throw new Error(`${issue.identifier} is ${got}, not ${kind}`);
  return driver;
}
