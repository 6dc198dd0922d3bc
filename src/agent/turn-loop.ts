/** The turns of one run on one session: what each is told, what its end means, and whether there is another. */
import { randomUUID } from "node:crypto";
import type { Issue } from "../domain/issue.ts";
import type { Clock } from "../lib/clock.ts";
import type { Log } from "../lib/log.ts";
import type { Controls } from "./controls.ts";
import type { AgentSession, TurnEnd } from "./port.ts";
import { continuationPrompt, type LastTurn } from "./prompt.ts";
import { rereadIssue } from "./reread.ts";
import { outcomeOfStop, outcomeOfTurn } from "./run-outcomes.ts";
import type { RunJournal, RunListener, RunRequest } from "./run-port.ts";
import type { RunState } from "./run-state.ts";

export interface TurnLoopDeps {
  readonly request: RunRequest;
  readonly listener: RunListener;
  readonly journal: RunJournal;
  readonly controls: Controls;
  readonly state: RunState;
  readonly clock: Clock;
  readonly log: Log;
  /** Rejects when the workspace is no longer what the run was given. */
  checkWorkspace(): Promise<void>;
}

export class TurnLoop {
  readonly #deps: TurnLoopDeps;
  readonly #session: AgentSession;
  /** Turns that a full context took away: they don't count. */
  #overflows = 0;

  constructor(deps: TurnLoopDeps, session: AgentSession) {
    this.#deps = deps;
    this.#session = session;
  }

  /** Turn after turn until the run's outcome is decided. `images`: paths of pictures that belong to the first prompt. */
  async run(firstPrompt: string, images: readonly string[] = []): Promise<void> {
    const { state } = this.#deps;
    let prompt: string | null = firstPrompt;
    let pictures = images;
    while (prompt !== null && state.outcome === null && !state.isOverBudget()) {
      // A turn may last for hours: the agent must not go on in a directory that has been removed, or swapped for a link.
      if (state.turn > 0) await this.#deps.checkWorkspace();
      state.turn += 1;
      const end = await this.#runTurn(prompt, pictures);
      pictures = [];
      prompt = await this.#afterTurn(end);
    }
  }

  async #runTurn(prompt: string, images: readonly string[]): Promise<TurnEnd> {
    const { request, listener, journal, controls, state, clock } = this.#deps;
    const { runId } = request;
    const { turn } = state;
    const intentId = randomUUID();
    journal.turnIntended({ runId, turn, intentId, at: clock.now() });
    state.enter("turn");
    const words = await controls.addTo(prompt);
    const turnRequest = { prompt: words, intentId, ...(images.length === 0 ? {} : { images }) };
    const end = await this.#interruptible(this.#session.runTurn(turnRequest));
    const error = end.kind === "failed" ? end.message : null;
    journal.turnEnded({ runId, turn, status: end.kind, error, at: clock.now() });
    if (end.kind === "completed") listener.turnCompleted();
    return end;
  }

  /** The next prompt, or null when the run is over. */
  async #afterTurn(end: TurnEnd): Promise<string | null> {
    const { request, controls, state } = this.#deps;
    const wasInterrupted = controls.hasInterrupted(end);
    const wasCompacted = isOverflow(end) && (await this.#compact());
    state.enter("between");
    const outcome = wasInterrupted || wasCompacted ? null : outcomeOfTurn(end, state.finishing);
    if (outcome !== null) state.decide(outcome);
    if (state.outcome !== null) return null;
    const issue = await this.#lookAgain();
    if (state.outcome !== null || issue === null) return null;
    const { maxTurns } = request.settings.agent;
    const turn = state.turn - this.#overflows + 1;
    if (turn > maxTurns) {
      state.decide({ kind: "succeeded" });
      return null;
    }
    return continuationPrompt({ turn, maxTurns, issue, lastTurn: lastTurn(wasInterrupted, wasCompacted) });
  }

  /**
   * The context is full: the agent shortens it, once in a run, and the work goes on. False: it can't, and the run ends; the next one
   * starts a fresh thread (design section 8), or waits for what the compaction itself met.
   */
  async #compact(): Promise<boolean> {
    const { state, log } = this.#deps;
    if (this.#overflows > 0 || state.outcome !== null || state.finishing !== null) return false;
    this.#overflows += 1;
    log.info({ thread_id: this.#session.threadId, turn: state.turn }, "context is full; compacting the thread");
    const end = await this.#interruptible(this.#session.compact());
    if (end.kind === "completed") return true;
    log.warn({ end: end.kind, reason: end.kind === "failed" ? end.message : null }, "compacting a full thread failed");
    // Nothing is wrong with the thread then, and the compaction is tried again when that is over.
    if (end.kind === "failed" && (end.class === "usage_limit" || end.class === "auth")) state.decide({ ...end });
    return false;
  }

  /** The ticket as it is now; decides the run where it, or a wish from outside, ends here. */
  async #lookAgain(): Promise<Issue | null> {
    const { request, listener, state, clock, log } = this.#deps;
    const { signal } = state;
    const issue = await rereadIssue({ clock, log, signal, read: () => request.readIssue(request.issue.id, signal) });
    if (issue === "aborted" || state.outcome !== null) return null;
    state.issue = issue;
    if (issue !== null) listener.issueSeen(issue);
    if (issue === null || !request.mayContinue(issue)) state.decide({ kind: "succeeded" });
    else if (state.finishing !== null) state.decide(outcomeOfStop(state.finishing));
    return issue;
  }

  /** Waits for a turn; a stop interrupts it, so that the thread's history is honest. */
  async #interruptible(turn: Promise<TurnEnd>): Promise<TurnEnd> {
    const { signal } = this.#deps.state;
    const onAbort = (): void => void this.#session.interrupt();
    if (signal.aborted) onAbort();
    else signal.addEventListener("abort", onAbort, { once: true });
    try {
      return await turn;
    } finally {
      signal.removeEventListener("abort", onAbort);
    }
  }
}

function isOverflow(end: TurnEnd): boolean {
  return end.kind === "failed" && end.class === "context_overflow";
}

function lastTurn(wasInterrupted: boolean, wasCompacted: boolean): LastTurn {
  if (wasCompacted) return "compacted";
  return wasInterrupted ? "interrupted" : "completed";
}
