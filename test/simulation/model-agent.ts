/** A model run: goes through the phases that the real runner goes through, and fails in all the ways that real ones do. */
import { outcomeOfStop } from "../../src/agent/run-outcomes.ts";
import type { StopReason } from "../../src/domain/claim.ts";
import type { OperatorAnswer, OperatorMessage } from "../../src/domain/inbox.ts";
import type { Issue } from "../../src/domain/issue.ts";
import { failed, type Question, type RunOutcome } from "../../src/domain/outcome.ts";
import type { Settings } from "../../src/domain/settings.ts";
import type { Clock } from "../../src/lib/clock.ts";
import type { Effect } from "../../src/scheduler/effects.ts";
import { continueGate } from "../../src/scheduler/eligibility.ts";
import type { Event } from "../../src/scheduler/events.ts";
import type { Faults } from "./faults.ts";
import type { ModelBoard } from "./model-board.ts";
import { pickFailure, pickLimit } from "./model-failures.ts";
import type { Rng } from "./rng.ts";

export type StartRun = Extract<Effect, { kind: "start_run" }>;

export interface AgentWorld {
  readonly clock: Clock;
  readonly board: ModelBoard;
  readonly rng: Rng;
  faults(): Faults;
  settings(): Settings;
  /** Time without standstills, for what an agent has lived through. */
  lived(): number;
  /** Reports to the loop, unless the daemon that started this run is dead. */
  post(event: Event): void;
  /** The run is over and its processes are gone. */
  ended(agent: ModelAgent): void;
}

const SECOND = 1000;
const MINUTE = 60 * SECOND;

export class ModelAgent {
  readonly start: StartRun;
  readonly path: string;
  /** Killed with its daemon, or over: nothing of it acts any more. */
  dead = false;
  readonly #world: AgentWorld;
  readonly #rng: Rng;
  #issue: Issue | null;
  #phase: "preparing" | "launching" | "turn" | "between" | "finishing" = "preparing";
  #turn = 0;
  #finishing: StopReason | null = null;
  #outcome: RunOutcome | null = null;
  #threadId: string | null;
  #changed = false;
  /** When it last said anything, in {@link AgentWorld.lived} time. */
  spokeAt: number;
  /** Messages that no turn has begun with. */
  readonly #messages: OperatorMessage[];
  /** Answers of before, each good for one question. */
  #grants: readonly OperatorAnswer[];
  #question: Question | null = null;
  #asked = 0;
  /** Goes up when a turn is interrupted: what it had begun is void. */
  #turnNumber = 0;

  constructor(world: AgentWorld, start: StartRun) {
    this.#world = world;
    this.start = start;
    this.#rng = world.rng.fork();
    this.#issue = start.issue;
    this.#threadId = start.threadId;
    this.#messages = start.inbox.filter((item) => item.kind === "message");
    this.#grants = start.inbox.filter((item) => item.kind === "answer");
    this.spokeAt = world.lived();
    this.path = start.workspace?.path ?? `/workspaces/${start.issue.identifier}`;
  }

  begin(): void {
    this.#later(this.#rng.int(10, 8 * SECOND), () => this.#prepared());
  }

  /** As {@link Run.finish}. */
  finish(why: StopReason): void {
    this.#finishing = why;
    if (this.#phase === "turn") return;
    if (this.#phase !== "between") this.stop(why);
    else if (why === "terminal") this.#decide({ kind: "succeeded" });
  }

  /** As {@link Run.stop}: the first reason wins. */
  stop(why: StopReason): void {
    this.#decide(outcomeOfStop(why));
  }

  /** As {@link Run.deliver}. */
  deliver(message: OperatorMessage): void {
    const isTaken = this.#phase === "turn" && this.#outcome === null && this.#rng.chance(0.8);
    if (isTaken) this.#later(this.#rng.int(1, 2 * SECOND), () => this.#took(message.id));
    else this.#messages.push(message);
  }

  /** As {@link Run.answer}. */
  answer(questionId: string): void {
    if (this.#question?.id !== questionId || this.#outcome !== null) return;
    this.#question = null;
    this.#later(this.#rng.int(1, 2 * SECOND), () => {
      this.#took(questionId);
      this.#post({ kind: "run_question", runId: this.start.runId, question: null });
    });
    this.#work(this.#rng.int(1, 4));
  }

  /** As {@link Run.interrupt}. */
  interrupt(): void {
    if (this.#phase !== "turn" || this.#outcome !== null) return;
    this.#turnNumber += 1;
    this.#dropQuestion();
    this.#next(this.#rng.int(10, 500), () => {
      this.#enter("between");
      this.#reread();
    });
  }

  #took(itemId: string): void {
    // That it has a message is no sign of life.
    this.#world.post({ kind: "run_took", runId: this.start.runId, itemId });
  }

  #post(event: Event): void {
    this.spokeAt = this.#world.lived();
    this.#world.post(event);
  }

  #dropQuestion(): void {
    if (this.#question === null) return;
    this.#question = null;
    this.#post({ kind: "run_question", runId: this.start.runId, question: null });
  }

  /** Waits for a person: the answer, or the end of the time that the question has. */
  #ask(): void {
    const grant = this.#grants[0];
    if (grant !== undefined) {
      this.#grants = this.#grants.slice(1);
      this.#took(grant.id);
      return this.#work(1);
    }
    this.#asked += 1;
    const askedAt = this.#world.clock.now();
    const deadlineAt = askedAt + this.#world.settings().approvals.timeoutMs;
    const id = `${this.start.runId}.q${this.#asked}`;
    const text = { kind: "command", summary: "May I run make?", subject: "make", detail: "" } as const;
    const question: Question = { id, ...text, askedAt, deadlineAt };
    this.#question = question;
    const { runId } = this.start;
    this.#post({ kind: "run_question", runId, question });
    this.#post({ kind: "run_activity", runId, at: askedAt, open: 1 });
    this.#next(deadlineAt - askedAt, () => {
      if (this.#question?.id === id) this.#decide({ kind: "needs_input", question });
    });
  }

  #later(delayMs: number, act: () => void): void {
    this.#world.clock.setTimer(delayMs, () => {
      if (!this.dead) act();
    });
  }

  /** Goes on with the pipeline unless the outcome is decided. */
  #next(delayMs: number, act: () => void): void {
    this.#later(delayMs, () => {
      if (this.#outcome === null) act();
    });
  }

  #decide(outcome: RunOutcome): void {
    if (this.#outcome !== null) return;
    this.#outcome = outcome;
    this.#phase = "finishing";
    const stubborn = this.#world.faults().stubbornStops && this.#rng.chance(0.1);
    this.#later(stubborn ? this.#rng.int(5 * SECOND, 3 * MINUTE) : this.#rng.int(0, 2 * SECOND), () =>
      this.#end(outcome),
    );
  }

  #end(outcome: RunOutcome): void {
    const event: Event = {
      kind: "run_ended",
      runId: this.start.runId,
      result: { outcome, issue: this.#issue, turns: this.#turn, threadId: this.#threadId, changed: this.#changed },
    };
    this.dead = true;
    this.#world.ended(this);
    this.#world.post(event);
    if (!this.#world.faults().lateEvents || !this.#rng.chance(0.2)) return;
    const runId = this.start.runId;
    this.#world.clock.setTimer(this.#rng.int(1, MINUTE), () => {
      this.#world.post({ kind: "run_activity", runId, at: this.#world.clock.now(), open: 1 });
      this.#world.post({ kind: "run_thread", runId, threadId: "late" });
      this.#world.post(event);
    });
  }

  #prepared(): void {
    if (this.#outcome !== null) return;
    const { issue, runId } = this.start;
    if (this.#world.faults().hookFailures && this.#rng.chance(0.03)) {
      return this.#decide(failed("hook", "after_create: exit 1"));
    }
    this.#post({
      kind: "run_prepared",
      runId,
      workspace: {
        issueId: issue.id,
        identifier: issue.identifier,
        path: this.path,
        host: "local",
        createdAt: this.#world.clock.now(),
      },
    });
    this.#enter("launching");
    this.#next(this.#rng.int(100, 3 * SECOND), () => this.#startTurn());
  }

  #enter(phase: "launching" | "turn" | "between"): void {
    this.#phase = phase;
    this.#post({ kind: "run_phase", runId: this.start.runId, phase, turn: this.#turn });
  }

  #startTurn(): void {
    if (this.#world.faults().limits && this.#rng.chance(0.01)) {
      return this.#decide(pickLimit(this.#rng, this.#world.clock.now()));
    }
    this.#turn += 1;
    this.#turnNumber += 1;
    this.#enter("turn");
    for (const { id } of this.#messages.splice(0)) this.#took(id);
    if (this.#threadId === null) {
      this.#threadId = `thread-${this.start.runId}`;
      this.#post({ kind: "run_thread", runId: this.start.runId, threadId: this.#threadId });
    }
    this.#work(this.#rng.int(1, 8));
  }

  /** Some output now and then, until the turn ends or goes silent for good. */
  #work(steps: number): void {
    const { clock } = this.#world;
    if (this.#world.faults().stalls && this.#rng.chance(0.01)) return;
    if (this.#world.faults().questions && this.#rng.chance(0.03)) return this.#ask();
    const turn = this.#turnNumber;
    this.#next(this.#rng.int(SECOND, 4 * MINUTE), () => {
      if (turn !== this.#turnNumber) return;
      const open = this.#rng.chance(0.2) ? this.#rng.int(1, 3) : 0;
      this.#post({ kind: "run_activity", runId: this.start.runId, at: clock.now(), open });
      if (this.#world.faults().agentFailures && this.#rng.chance(0.02)) {
        return this.#decide(pickFailure(this.#rng, this.start.runId));
      }
      this.#sayThatItBegan();
      if (steps > 0) this.#work(steps - 1);
      else this.#endTurn();
    });
  }

  /** As prompts ask for: long before the turn ends, and so before anybody looks at the ticket. */
  #sayThatItBegan(): void {
    const { id } = this.start.issue;
    if (this.#world.board.issues.get(id)?.state !== "Todo" || !this.#rng.chance(0.5)) return;
    this.#world.board.update(id, { state: "In Progress" });
  }

  #endTurn(): void {
    this.#changed ||= this.#rng.chance(0.7);
    const move = this.#rng.next();
    const id = this.start.issue.id;
    if (move < 0.35) this.#world.board.update(id, { state: "Done" });
    else if (move < 0.45) this.#world.board.update(id, { state: "Human Review" });
    else if (move < 0.6) this.#world.board.update(id, { state: "In Progress" });
    this.#post({ kind: "run_turn_completed", runId: this.start.runId });
    if (this.#finishing === "terminal") return this.#decide({ kind: "succeeded" });
    this.#enter("between");
    this.#reread();
  }

  #reread(): void {
    this.#world.board.read(
      this.#world.faults(),
      (issue) => issue.id === this.start.issue.id,
      (answer) => {
        if (this.dead || this.#outcome !== null) return;
        if ("failure" in answer) return this.#next(30 * SECOND, () => this.#reread());
        this.#seen(answer.issues[0] ?? null);
      },
    );
  }

  #seen(issue: Issue | null): void {
    this.#issue = issue;
    if (issue !== null) this.#post({ kind: "run_issue", runId: this.start.runId, issue });
    const settings = this.#world.settings();
    const over = issue === null || this.#turn >= settings.agent.maxTurns || continueGate(issue, settings) !== null;
    if (over) this.#decide({ kind: "succeeded" });
    else if (this.#finishing !== null) this.#decide(outcomeOfStop(this.#finishing));
    else this.#next(this.#rng.int(10, 500), () => this.#startTurn());
  }
}
