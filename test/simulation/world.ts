/** Puts the real loop into a model world: performs its effects with model agents and a model tracker, crashes it, boots it again, and watches. */
import { pino } from "pino";
import type { DurableChange } from "../../src/domain/claim.ts";
import type { RunId } from "../../src/domain/ids.ts";
import type { Settings } from "../../src/domain/settings.ts";
import { Loop } from "../../src/orchestrator/loop.ts";
import { operate } from "../../src/orchestrator/operate.ts";
import type { Effect } from "../../src/scheduler/effects.ts";
import type { Event, OperatorCommand } from "../../src/scheduler/events.ts";
import type { State } from "../../src/scheduler/state.ts";
import { makeSettings } from "../support/issues.ts";
import { Breach } from "./breach.ts";
import { DurableStore } from "./durable-store.ts";
import type { Faults } from "./faults.ts";
import { ModelAgent, type AgentWorld, type StartRun } from "./model-agent.ts";
import { ModelBoard } from "./model-board.ts";
import { answerPoll, answerRefresh } from "./model-reads.ts";
import { Promises } from "./promises.ts";
import { Rng } from "./rng.ts";
import { checkStart } from "./start-rules.ts";
import { VirtualClock } from "./virtual-clock.ts";
import { checkCalmEnd, Watch } from "./watch.ts";

const START = Date.parse("2026-01-05T00:00:00Z");
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
  /** The daemon of now knows what the ledger held; before that its claims are empty, and mean nothing. */
  #booted = false;
  #generation = 0;
  #ledgerDown = false;
  readonly #agents = new Map<RunId, ModelAgent>();
  readonly #watch = new Watch();
  readonly #promises = new Promises();

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
    this.#watch.expectCompany();
    this.#watch.excuseWaiting();
  }

  /** A person's command, through the daemon's own front. */
  operate(command: OperatorCommand): void {
    // Before the boot event the daemon refuses every command.
    if (!this.#alive || !this.#booted) return;
    this.events += 1;
    const before = this.#loop.state;
    const { accepted } = operate(this.#loop, command);
    this.#note(`command ${command.kind}: ${accepted ? "accepted" : "refused"}`);
    if (!this.#alive) return this.#promises.inDoubt(command);
    if (accepted && this.#loop.ledgerError === null) this.#promises.accepted(command, this.state, this.board.issues);
    else if (accepted) this.#promises.inDoubt(command);
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
    if (event.kind === "run_took") this.#promises.said(event.itemId);
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
      this.#watch.excuseWaiting();
      this.#loop = this.#boot();
    });
  }

  #boot(): Loop {
    this.#alive = true;
    this.#booted = false;
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
      if (this.#generation !== generation) return;
      this.#booted = true;
      this.post({ kind: "boot", durable: this.store.load() });
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
        return answerPoll(this.board, this.#faults, effect, report);
      case "refresh":
        return answerRefresh(this.board, this.#faults, effect, report);
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

  #startRun(effect: StartRun): void {
    const agent = new ModelAgent(this, effect);
    const others = [...this.#agents.values()];
    checkStart({ agent, others, state: this.state, settings: this.#settings, now: this.clock.now() });
    const broken = this.#promises.brokenByStart(effect, this.board.issues);
    if (broken !== null) throw new Breach(broken);
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
    if (!this.#booted) return;
    if (this.#loop.breaches > 0) throw new Breach("an invariant of the state is broken");
    if (this.#loop.ledgerError !== null) return this.#watch.expectCompany();
    const { issues } = this.board;
    this.#watch.check(event, {
      state: this.state,
      before,
      runs: new Set(this.#agents.keys()),
      board: issues,
      settings: this.#settings,
      now: this.clock.now(),
    });
    const broken =
      this.#promises.broken(this.state) ??
      (event.kind === "boot" ? this.#promises.brokenByRestart(this.state, issues) : null);
    if (broken !== null) throw new Breach(broken);
  }

  /** What must hold once the day has ended calmly. */
  checkCalmEnd(): void {
    checkCalmEnd(this.state, this.#settings, this.board.issues, this.store.openRuns);
  }

  #note(line: string): void {
    this.trace.push(`${new Date(this.clock.now()).toISOString()} ${line}`);
    if (this.trace.length > 400) this.trace.splice(0, 200);
  }
}
