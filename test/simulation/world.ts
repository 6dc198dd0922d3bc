/** Puts the real loop into a model world: performs its effects with model agents and a model tracker, crashes it, boots it again, and watches. */
import { pino } from "pino";
import type { DurableChange } from "../../src/domain/claim.ts";
import type { IssueId, RunId } from "../../src/domain/ids.ts";
import { normalizeState, type Issue } from "../../src/domain/issue.ts";
import type { Settings } from "../../src/domain/settings.ts";
import { Loop } from "../../src/orchestrator/loop.ts";
import { operate } from "../../src/orchestrator/operate.ts";
import type { Effect } from "../../src/scheduler/effects.ts";
import { isTerminal, startGate } from "../../src/scheduler/eligibility.ts";
import type { Event, OperatorCommand } from "../../src/scheduler/events.ts";
import { dispatchGate } from "../../src/scheduler/pauses.ts";
import { Slots } from "../../src/scheduler/slots.ts";
import type { State } from "../../src/scheduler/state.ts";
import { makeSettings } from "../support/issues.ts";
import { DurableStore } from "./durable-store.ts";
import type { Faults } from "./faults.ts";
import { ModelAgent, type AgentWorld, type StartRun } from "./model-agent.ts";
import { inStates, ModelBoard, type Answer } from "./model-board.ts";
import { Promises } from "./promises.ts";
import { Rng } from "./rng.ts";
import { VirtualClock } from "./virtual-clock.ts";

const START = Date.parse("2026-01-05T00:00:00Z");
/** An eligible ticket with a free slot and no pause may wait this long: a slow tracker, a back-off and a few polls. */
const STARVED_MS = 45 * 60_000;

export class Breach extends Error {
  override readonly name = "Breach";
}

export class World implements AgentWorld {
  readonly clock = new VirtualClock(START);
  readonly rng: Rng;
  readonly board: ModelBoard;
  readonly store = new DurableStore();
  /** The newest happenings, for whoever reads a breach. */
  readonly trace: string[] = [];
  events = 0;
  crashes = 0;
  #faults: Faults;
  #settings: Settings = makeSettings({ agent: { maxConcurrentAgents: 3 }, tracker: { excludedLabels: ["hold"] } });
  #loop: Loop;
  #alive = true;
  #generation = 0;
  #ledgerDown = false;
  readonly #agents = new Map<RunId, ModelAgent>();
  readonly #waitingSince = new Map<IssueId, number>();
  readonly #promises = new Promises();
  /** The next event is decided together with others: a standstill that has yet to be noticed, or what waited for the ledger. */
  #hasCompany = false;

  constructor(seed: number, faults: Faults) {
    this.rng = new Rng(seed);
    this.#faults = faults;
    this.board = new ModelBoard(this.rng.fork(), this.clock);
    this.#loop = this.#boot();
  }

  faults(): Faults {
    return this.#faults;
  }

  settings(): Settings {
    return this.#settings;
  }

  get state(): State {
    return this.#loop.state;
  }

  get agents(): number {
    return this.#agents.size;
  }

  get alive(): boolean {
    return this.#alive;
  }

  setFaults(faults: Faults): void {
    this.#faults = faults;
  }

  setSettings(settings: Settings): void {
    this.#settings = settings;
    this.post({ kind: "settings_changed" });
  }

  setLedgerDown(down: boolean): void {
    this.#ledgerDown = down;
  }

  lived(): number {
    return this.clock.lived();
  }

  /** The machine is suspended for a while: nothing happens, and everything comes late. */
  standStill(ms: number): void {
    this.#note(`standstill of ${ms} ms`);
    this.clock.jump(ms);
    this.#hasCompany = true;
    this.#waitingSince.clear();
  }

  /** A person's command, through the daemon's own front. */
  operate(command: OperatorCommand): void {
    if (!this.#alive) return;
    this.events += 1;
    const before = this.#loop.state;
    const { accepted } = operate(this.#loop, command);
    this.#note(`command ${command.kind}: ${accepted ? "accepted" : "refused"}`);
    if (!this.#alive) return;
    if (accepted && this.#loop.ledgerError === null) this.#promises.accepted(command, this.state, this.board.issues);
    this.#check({ kind: "operator", command }, before);
    if (this.#faults.crashes && this.rng.chance(0.1)) this.crash("after a command");
  }

  /** Lets the next thing happen, if it is due by `until`; false when nothing is. */
  step(until: number): boolean {
    const before = this.#loop.state;
    if (!this.clock.step(until)) return false;
    if (!this.#alive) return true;
    // The loop's own timer has queued its event.
    this.#loop.flush();
    if (this.#alive && this.#loop.state !== before) this.#check({ kind: "timer" }, before);
    return true;
  }

  /** Reports to the daemon of now; what an earlier one started has nobody to tell. */
  post(event: Event): void {
    if (!this.#alive) return;
    this.events += 1;
    this.#note(`event ${event.kind} ${"runId" in event ? event.runId : ""}`);
    const before = this.#loop.state;
    this.#loop.post(event);
    this.#loop.flush();
    if (this.#alive) this.#check(event, before);
  }

  ended(agent: ModelAgent): void {
    this.#agents.delete(agent.start.runId);
  }

  /** kill -9: the loop is gone, and so is what it only had in memory. */
  crash(why: string): void {
    this.#note(`crash: ${why}`);
    this.crashes += 1;
    this.#alive = false;
    this.#loop.stop();
    for (const agent of this.#agents.values()) agent.dead = true;
    this.clock.setTimer(this.rng.int(10, 120_000), () => {
      // The next boot reaps what is left before it decides anything.
      this.#agents.clear();
      this.#waitingSince.clear();
      this.#loop = this.#boot();
    });
  }

  #boot(): Loop {
    this.#alive = true;
    this.#generation += 1;
    const generation = this.#generation;
    const loop = new Loop({
      clock: this.clock,
      log: pino({ level: "silent" }),
      settings: () => this.#settings,
      commit: (change) => this.#commit(change),
      perform: (effect) => {
        if (this.#alive && this.#generation === generation) this.#perform(effect);
      },
      beforeTimer: () => {
        // Model agents hold no activity back.
      },
      changed: () => {
        // Nobody watches.
      },
      seed: () => Math.floor(this.rng.next() * 2 ** 32),
    });
    // The first event needs the loop to be in place before its effects run.
    this.clock.setTimer(0, () => {
      if (this.#generation === generation) this.post({ kind: "boot", durable: this.store.load() });
    });
    return loop;
  }

  #commit(change: DurableChange): void {
    if (this.#ledgerDown) throw new Error("disk full");
    if (this.#faults.crashes && this.rng.chance(0.001)) return this.crash("before a commit");
    this.store.commit(change);
    if (this.#faults.crashes && this.rng.chance(0.001)) this.crash("after a commit");
  }

  #perform(effect: Effect): void {
    if (effect.kind === "log") return;
    this.#note(`effect ${effect.kind}`);
    if (this.#faults.crashes && this.rng.chance(0.0005)) return this.crash(`before ${effect.kind}`);
    const generation = this.#generation;
    const report = (event: Event): void => {
      if (this.#generation === generation) this.post(event);
    };
    switch (effect.kind) {
      case "poll":
        return this.#poll(effect, report);
      case "refresh":
        return this.board.read(this.#faults, ofIds(effect.ids), (answer) => report(refreshEvent(effect, answer)));
      case "start_run":
        return this.#startRun(effect);
      case "finish_run":
        return this.#agents.get(effect.runId)?.finish(effect.why);
      case "stop_run":
        return this.#stopRun(effect);
      case "deliver":
        return this.#agents.get(effect.runId)?.deliver(effect.message);
      case "answer_question":
        return this.#agents.get(effect.runId)?.answer(effect.questionId);
      case "interrupt_turn":
        return this.#agents.get(effect.runId)?.interrupt();
      case "clean":
        return this.#clean(effect, report);
      default:
    }
  }

  #stopRun({ runId, why }: Extract<Effect, { kind: "stop_run" }>): void {
    const agent = this.#agents.get(runId);
    const silentMs = agent === undefined ? Infinity : this.clock.lived() - agent.spokeAt;
    if (why === "stalled" && silentMs < this.#settings.codex.stallTimeoutMs) {
      throw new Breach(`${runId} counts as stalled after a silence of ${silentMs} ms`);
    }
    agent?.stop(why);
  }

  #poll(effect: Extract<Effect, { kind: "poll" }>, report: (event: Event) => void): void {
    const { poll, ids } = effect;
    const isCandidate = inStates(effect.states);
    const isTracked = ofIds(ids);
    this.board.read(
      this.#faults,
      (issue) => isCandidate(issue) || isTracked(issue),
      (answer) => {
        if ("failure" in answer) return report({ kind: "poll_failed", poll, failure: answer.failure });
        const candidates = answer.issues.filter(isCandidate);
        report({ kind: "polled", poll, candidates, tracked: answer.issues.filter(isTracked), trackedIds: ids });
      },
    );
  }

  #startRun(effect: StartRun): void {
    const agent = new ModelAgent(this, effect);
    const spent = this.state.pauses.get("budget");
    if (spent?.until !== undefined && spent.until !== null && spent.until > this.clock.now()) {
      throw new Breach(`${effect.issue.identifier} started though the day's budget is spent`);
    }
    if (this.state.mode !== "running") throw new Breach(`${effect.issue.identifier} started while draining`);
    const broken = this.#promises.brokenByStart(effect, this.board.issues);
    if (broken !== null) throw new Breach(broken);
    const running = [...this.#agents.values()];
    if (running.some((other) => other.start.issue.id === effect.issue.id)) {
      throw new Breach(`two runs of ${effect.issue.identifier}`);
    }
    if (running.some((other) => other.path === agent.path)) throw new Breach(`two agents in ${agent.path}`);
    const { maxConcurrentAgents, maxConcurrentAgentsByState } = this.#settings.agent;
    if (running.length + 1 > maxConcurrentAgents) {
      throw new Breach(`${running.length + 1} runs, cap ${maxConcurrentAgents}`);
    }
    const stateName = normalizeState(effect.issue.state);
    const cap = maxConcurrentAgentsByState[stateName];
    const sameState = [...this.state.claims.values()].filter(
      (claim) => claim.kind === "running" && normalizeState(claim.issue.state) === stateName,
    );
    if (cap !== undefined && sameState.length > cap) {
      throw new Breach(`${sameState.length} runs in ${stateName}, cap ${cap}`);
    }
    if (startGate(effect.issue, this.#settings) !== null) {
      throw new Breach(`${effect.issue.identifier} started though it may not`);
    }
    this.#agents.set(effect.runId, agent);
    agent.begin();
  }

  #clean(effect: Extract<Effect, { kind: "clean" }>, report: (event: Event) => void): void {
    const { record, issue } = effect;
    for (const agent of this.#agents.values()) {
      if (agent.path === record.path) throw new Breach(`${record.path} is cleaned while an agent uses it`);
    }
    const fails = this.#faults.hookFailures && this.rng.chance(0.1);
    this.clock.setTimer(this.rng.int(10, 20_000), () =>
      report(
        fails ? { kind: "clean_failed", issueId: issue.id, message: "busy" } : { kind: "cleaned", issueId: issue.id },
      ),
    );
  }

  #check(event: Event, before: State): void {
    if (this.#loop.breaches > 0) throw new Breach("an invariant of the state is broken");
    if (this.#loop.ledgerError !== null) {
      this.#hasCompany = true;
      return;
    }
    this.#checkRuns(event, before);
    if (event.kind === "run_took" && this.state !== before) this.#promises.taken(event.itemId);
    const broken = this.#promises.broken(this.state);
    if (broken !== null) throw new Breach(broken);
    this.#checkStarvation();
  }

  /** Each running claim has a live run and the reverse; an event of an old run changes no claim. */
  #checkRuns(event: Event, before: State): void {
    let running = 0;
    for (const claim of this.state.claims.values()) {
      if (claim.kind !== "running") continue;
      running += 1;
      if (!this.#agents.has(claim.runId)) throw new Breach(`${claim.issue.identifier} is running without a run`);
    }
    if (running !== this.#agents.size) throw new Breach(`${this.#agents.size} runs for ${running} running claims`);
    const hadCompany = this.#hasCompany;
    // A refused command decides nothing, so what it would have company with is still to come.
    if (this.state !== before) this.#hasCompany = false;
    if (hadCompany || !("runId" in event)) return;
    const known = [...before.claims.values()].some((claim) => claim.kind === "running" && claim.runId === event.runId);
    if (!known && this.state.claims !== before.claims) throw new Breach(`${event.kind} of an old run changed a claim`);
  }

  /** No ticket that may go is forgotten: a claim or a start must come while there is room. */
  #checkStarvation(): void {
    const now = this.clock.now();
    const open = dispatchGate(this.state, now) === "open" && this.state.tracker.failures === 0;
    const slots = new Slots(this.state, this.#settings);
    for (const issue of this.board.issues.values()) {
      const mayGo = open && !this.state.claims.has(issue.id) && startGate(issue, this.#settings) === null;
      if (!mayGo || !slots.isFree(issue.state)) this.#waitingSince.delete(issue.id);
      else if (!this.#waitingSince.has(issue.id)) this.#waitingSince.set(issue.id, now);
      else if (now - (this.#waitingSince.get(issue.id) ?? now) > STARVED_MS) {
        throw new Breach(`${issue.identifier} is forgotten`);
      }
    }
  }

  /** What must hold once the day has ended calmly. */
  checkCalmEnd(): void {
    for (const issue of this.board.issues.values()) {
      if (!isTerminal(issue, this.#settings)) {
        throw new Breach(`${issue.identifier} never ended: ${this.#describe(issue)}`);
      }
      if (this.state.workspaces.has(issue.id)) {
        throw new Breach(`${issue.identifier} ended and its workspace is still there`);
      }
    }
    if (this.state.claims.size > 0) throw new Breach("claims are left on an empty board");
    if (this.store.openRuns.size > 0) throw new Breach("a run was never ended in the ledger");
  }

  #describe(issue: Issue): string {
    return JSON.stringify(this.state.claims.get(issue.id) ?? "unclaimed");
  }

  #note(line: string): void {
    this.trace.push(`${new Date(this.clock.now()).toISOString()} ${line}`);
    if (this.trace.length > 400) this.trace.splice(0, 200);
  }
}

function ofIds(ids: readonly IssueId[]): (issue: Issue) => boolean {
  const wanted = new Set(ids);
  return (issue) => wanted.has(issue.id);
}

function refreshEvent(effect: Extract<Effect, { kind: "refresh" }>, answer: Answer): Event {
  const { check, ids } = effect;
  return "failure" in answer
    ? { kind: "refresh_failed", check, ids, failure: answer.failure }
    : { kind: "refreshed", check, ids, issues: answer.issues };
}
