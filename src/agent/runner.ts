/** One run as a pipeline over one value: each step is a no-op once the outcome is decided, and the first reason wins (section 16.5). */
import { randomUUID } from "node:crypto";
import type { RunPhase, StopReason, WorkspaceRecord } from "../domain/claim.ts";
import type { Issue } from "../domain/issue.ts";
import { failed, type Fingerprint, type RunOutcome, type RunResult } from "../domain/outcome.ts";
import type { Clock } from "../lib/clock.ts";
import type { Log } from "../lib/log.ts";
import { renderPrompt } from "../workflow/template.ts";
import type { Workspaces } from "../workspace/workspace.ts";
import { Controls } from "./controls.ts";
import type { AgentBackend, AgentSession, TurnEnd } from "./port.ts";
import { continuationPrompt, resumePrompt } from "./prompt.ts";
import { rereadIssue } from "./reread.ts";
import { outcomeOfError, outcomeOfStop, outcomeOfTurn } from "./run-outcomes.ts";
import type { Run, RunJournal, RunListener, RunRequest } from "./run-port.ts";
import { createSessionListener } from "./session-listener.ts";
import { createToolRunner } from "./tools.ts";

export interface RunnerDeps {
  readonly workspaces: Workspaces;
  readonly backend: AgentBackend;
  readonly journal: RunJournal;
  readonly clock: Clock;
  readonly log: Log;
}

/** Starts the run; it reports through the listener and ends through `done`. */
export function startRun(deps: RunnerDeps, request: RunRequest, listener: RunListener): Run {
  const run = new Runner(deps, request, listener);
  return {
    done: run.execute(),
    finish: (why) => run.finish(why),
    stop: (why) => run.stop(why),
    deliver: (message) => run.controls.deliver(message),
    answer: (questionId, answer) => run.controls.answer(questionId, answer),
    interrupt: () => run.controls.interrupt(),
    compact: () => run.controls.compact(),
  };
}

class Runner {
  readonly #deps: RunnerDeps;
  readonly #request: RunRequest;
  readonly #listener: RunListener;
  readonly #log: Log;
  readonly controls: Controls;
  /** Aborts whatever the run is waiting for, once its outcome is decided from outside. */
  readonly #abort = new AbortController();
  #outcome: RunOutcome | null = null;
  #issue: Issue | null;
  #phase: RunPhase = "preparing";
  #turn = 0;
  #session: AgentSession | null = null;
  #finishing: StopReason | null = null;
  /** The workspace as the agent found it. */
  #before: Fingerprint | null = null;

  constructor(deps: RunnerDeps, request: RunRequest, listener: RunListener) {
    this.#deps = deps;
    this.#request = request;
    this.#listener = listener;
    this.#issue = request.issue;
    this.#log = deps.log.child({
      issue_id: request.issue.id,
      issue_identifier: request.issue.identifier,
      run_id: request.runId,
    });
    this.controls = new Controls({ inbox: request.inbox, log: this.#log, took: (itemId) => listener.took(itemId) });
  }

  finish(why: StopReason): void {
    this.#finishing = why;
    if (this.#phase === "turn") return;
    // Nothing else is under way that could end by itself, but for the look at the ticket, which says how the turn went.
    if (this.#phase !== "between") this.stop(why);
    else if (why === "terminal") this.#decide({ kind: "succeeded" });
  }

  stop(why: StopReason): void {
    this.#decide(outcomeOfStop(why));
  }

  async execute(): Promise<RunResult> {
    const workspace = await this.#step(() => this.#prepare());
    if (workspace !== null) {
      await this.#step(() => this.#work(workspace));
      await this.#close();
      await this.#afterRun(workspace);
    }
    return {
      outcome: this.#outcome ?? { kind: "succeeded" },
      issue: this.#issue,
      turns: this.#turn,
      threadId: this.#session?.threadId ?? this.#request.threadId,
      changed: await this.#hasChanged(workspace),
    };
  }

  /** Runs one step unless the outcome is decided; what it throws decides it. */
  async #step<T>(step: () => Promise<T>): Promise<T | null> {
    if (this.#outcome !== null) return null;
    try {
      return await step();
    } catch (error) {
      if (this.#outcome === null) this.#log.warn({ err: error }, "run step failed");
      this.#decide(outcomeOfError(error));
      return null;
    }
  }

  #decide(outcome: RunOutcome): void {
    if (this.#outcome !== null) return;
    this.#outcome = outcome;
    this.#abort.abort(new Error(`run ended: ${outcome.kind}`));
  }

  #enter(phase: RunPhase): void {
    this.#phase = phase;
    this.#listener.phase(phase, this.#turn);
  }

  async #prepare(): Promise<WorkspaceRecord | null> {
    if (this.#isOverBudget()) return null;
    const { issue, attempt, settings, workspace, runId, isTaken } = this.#request;
    const { record } = await this.#deps.workspaces.prepare({
      issue,
      attempt,
      settings,
      bound: workspace,
      isTaken,
      signal: this.#abort.signal,
      runMarker: runId,
    });
    this.#listener.prepared(record);
    return record;
  }

  async #work(workspace: WorkspaceRecord): Promise<void> {
    await this.#hook("before_run", workspace);
    const session = await this.#open(workspace);
    if (session === null) return;
    // After the agent has been started: a look at a large tree must not hold back the other tickets' agents.
    this.#before = await this.#fingerprint(workspace);
    const { maxTurns } = this.#request.settings.agent;
    let prompt: string | null = this.#firstPrompt(session, maxTurns);
    while (prompt !== null && this.#outcome === null && !this.#isOverBudget()) {
      this.#turn += 1;
      prompt = await this.#runTurn(session, prompt, maxTurns);
    }
  }

  /** What a run spends is watched while it does; this is for what was spent before it, and for a limit that was lowered. */
  #isOverBudget(): boolean {
    const spent = this.#request.budgetSpent();
    if (spent !== null) this.#decide(failed("budget", spent, { retryable: false }));
    return spent !== null;
  }

  async #hook(name: "before_run" | "after_run", workspace: WorkspaceRecord): Promise<void> {
    await this.#deps.workspaces.runHook(name, {
      issue: this.#issue ?? this.#request.issue,
      attempt: this.#request.attempt,
      settings: this.#request.currentSettings(),
      path: workspace.path,
      runMarker: this.#request.runId,
      ...(name === "before_run" ? { signal: this.#abort.signal } : {}),
    });
  }

  async #open(workspace: WorkspaceRecord): Promise<AgentSession | null> {
    const { runId, settings, issue, threadId, tools } = this.#request;
    const { backend, journal, clock, workspaces } = this.#deps;
    this.#enter("launching");
    await workspaces.verify(workspace.path, settings.workspace.root, workspace);
    const callTool = createToolRunner({
      tools,
      clock,
      issue: () => this.#issue ?? issue,
      signal: this.#abort.signal,
      audit: {
        toolIntended: (call) => journal.toolIntended({ ...call, runId, turn: this.#turn, at: clock.now() }),
        toolEnded: ({ callId, ok, durationMs, bytes }) =>
          journal.toolEnded({ runId, callId, ok, durationMs, bytes, at: clock.now() }),
      },
    });
    this.#session = await backend.open({
      settings,
      workspacePath: workspace.path,
      title: `${issue.identifier}: ${issue.title}`,
      threadId,
      runMarker: runId,
      tools: tools.map(({ name, description, inputSchema }) => ({ name, description, inputSchema })),
      grants: this.controls.grants,
      callTool,
      signal: this.#abort.signal,
      listener: createSessionListener({
        request: this.#request,
        listener: this.#listener,
        journal,
        clock,
        turn: () => this.#turn,
        turnStarted: () => this.controls.turnStarted(),
        fail: (error) => this.#decide(outcomeOfError(error)),
      }),
    });
    this.controls.attach(this.#session);
    return this.#session;
  }

  #firstPrompt(session: AgentSession, maxTurns: number): string {
    const { issue, attempt, prompt, why, error, callsInDoubt } = this.#request;
    if (!session.resumed) return renderPrompt(prompt, { issue, attempt });
    return resumePrompt({ turn: 1, maxTurns, issue, why, error, callsInDoubt });
  }

  /** One turn; answers the next prompt, or null when the run is over. */
  async #runTurn(session: AgentSession, prompt: string, maxTurns: number): Promise<string | null> {
    const { runId } = this.#request;
    const { journal, clock } = this.#deps;
    const turn = this.#turn;
    const intentId = randomUUID();
    journal.turnIntended({ runId, turn, intentId, at: clock.now() });
    this.#enter("turn");
    const words = await this.controls.addTo(prompt);
    const end = await this.#endOfTurn(session.runTurn({ prompt: words, intentId }), session);
    journal.turnEnded({
      runId,
      turn,
      status: end.kind,
      error: end.kind === "failed" ? end.message : null,
      at: clock.now(),
    });
    if (end.kind === "completed") this.#listener.turnCompleted();
    this.#enter("between");
    const wasInterrupted = this.controls.hasInterrupted(end);
    const outcome = wasInterrupted ? null : outcomeOfTurn(end, this.#finishing);
    if (outcome !== null) this.#decide(outcome);
    if (this.#outcome !== null) return null;
    const issue = await this.#reread();
    if (this.#outcome !== null) return null;
    this.#issue = issue;
    if (issue !== null) this.#listener.issueSeen(issue);
    if (issue === null || !this.#request.mayContinue(issue)) this.#decide({ kind: "succeeded" });
    else if (this.#finishing !== null) this.#decide(outcomeOfStop(this.#finishing));
    else if (turn >= maxTurns) this.#decide({ kind: "succeeded" });
    if (this.#outcome !== null || issue === null) return null;
    return continuationPrompt({ turn: turn + 1, maxTurns, issue, wasInterrupted });
  }

  /** Waits for the turn; a stop interrupts it, so that the thread's history is honest. */
  async #endOfTurn(turn: Promise<TurnEnd>, session: AgentSession): Promise<TurnEnd> {
    const onAbort = (): void => void session.interrupt();
    if (this.#abort.signal.aborted) onAbort();
    else this.#abort.signal.addEventListener("abort", onAbort, { once: true });
    try {
      return await turn;
    } finally {
      this.#abort.signal.removeEventListener("abort", onAbort);
    }
  }

  async #reread(): Promise<Issue | null> {
    const { signal } = this.#abort;
    const { clock } = this.#deps;
    const { issue, readIssue } = this.#request;
    const seen = await rereadIssue({ clock, log: this.#log, signal, read: () => readIssue(issue.id, signal) });
    return seen === "aborted" ? this.#issue : seen;
  }

  /** The session's processes are gone when this resolves; a failed start has ended its own. */
  async #close(): Promise<void> {
    this.#enter("finishing");
    await this.#session?.close();
    try {
      this.#deps.journal.processEnded(this.#request.runId, this.#deps.clock.now());
    } catch (error) {
      // The row stays, and the next boot looks for a process that is gone: harmless.
      this.#log.warn({ err: error }, "recording the end of the agent's process failed");
    }
  }

  /** Always, once the workspace exists; its failure is logged and ignored (section 9.4). */
  async #afterRun(workspace: WorkspaceRecord): Promise<void> {
    try {
      await this.#hook("after_run", workspace);
    } catch (error) {
      this.#log.warn({ err: error }, "after_run hook failed");
    }
  }

  async #fingerprint(workspace: WorkspaceRecord): Promise<Fingerprint | null> {
    try {
      return await this.#deps.workspaces.fingerprint(workspace.path);
    } catch (error) {
      this.#log.warn({ err: error }, "reading the workspace's state failed");
      return null;
    }
  }

  async #hasChanged(workspace: WorkspaceRecord | null): Promise<boolean | null> {
    const before = this.#before;
    if (before === null || workspace === null || this.#turn === 0) return null;
    const after = await this.#fingerprint(workspace);
    return after === null ? null : after.head !== before.head || after.diff !== before.diff;
  }
}
