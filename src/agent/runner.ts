/** One run as a pipeline over one value: each step is a no-op once the outcome is decided, and the first reason wins (section 16.5). */
import type { WorkspaceRecord } from "../domain/claim.ts";
import type { IssueId, RunId } from "../domain/ids.ts";
import type { Fingerprint, RunResult } from "../domain/outcome.ts";
import type { Clock } from "../lib/clock.ts";
import type { Log } from "../lib/log.ts";
import { renderPrompt } from "../workflow/template.ts";
import type { Workspaces } from "../workspace/workspace.ts";
import { Controls } from "./controls.ts";
import { openSession } from "./open-session.ts";
import type { Pictures } from "./pictures/gather.ts";
import type { AgentBackend, AgentSession } from "./port.ts";
import { earlierWorkNotes, resumePrompt } from "./prompt.ts";
import { outcomeOfError } from "./run-outcomes.ts";
import type { Run, RunJournal, RunListener, RunRequest } from "./run-port.ts";
import { RunState } from "./run-state.ts";
import { TurnLoop } from "./turn-loop.ts";

export interface RunnerDeps {
  readonly workspaces: Workspaces;
  readonly backend: AgentBackend;
  readonly journal: RunJournal;
  readonly clock: Clock;
  readonly log: Log;
  /** Ends what earlier runs of the issue may have left running, `current`'s left alone; answers how many processes. */
  reapEarlier(issueId: IssueId, current: RunId): Promise<number>;
}

/** Starts the run; it reports through the listener and ends through `done`. */
export function startRun(deps: RunnerDeps, request: RunRequest, listener: RunListener): Run {
  const run = new Runner(deps, request, listener);
  return {
    done: run.execute(),
    finish: (why) => run.state.finish(why),
    stop: (why) => run.state.stop(why),
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
  readonly state: RunState;
  readonly controls: Controls;
  #session: AgentSession | null = null;
  #pictures: Pictures | null = null;
  /** The workspace as the agent found it. */
  #before: Fingerprint | null = null;

  constructor(deps: RunnerDeps, request: RunRequest, listener: RunListener) {
    this.#deps = deps;
    this.#request = request;
    this.#listener = listener;
    this.#log = deps.log.child({
      issue_id: request.issue.id,
      issue_identifier: request.issue.identifier,
      run_id: request.runId,
    });
    this.state = new RunState(request, listener);
    this.controls = new Controls({ inbox: request.inbox, log: this.#log, took: (itemId) => listener.took(itemId) });
  }

  async execute(): Promise<RunResult> {
    const workspace = await this.#step(() => this.#prepare());
    if (workspace !== null) {
      await this.#step(() => this.#work(workspace));
      await this.#close();
      await this.#afterRun(workspace);
    }
    return {
      outcome: this.state.outcome ?? { kind: "succeeded" },
      issue: this.state.issue,
      turns: this.state.turn,
      threadId: this.#session?.threadId ?? this.#request.threadId,
      changed: await this.#hasChanged(workspace),
    };
  }

  /** Runs one step unless the outcome is decided; what it throws decides it. */
  async #step<T>(step: () => Promise<T>): Promise<T | null> {
    if (this.state.outcome !== null) return null;
    try {
      return await step();
    } catch (error) {
      if (this.state.outcome === null) this.#log.warn({ err: error }, "run step failed");
      this.state.decide(outcomeOfError(error));
      return null;
    }
  }

  async #prepare(): Promise<WorkspaceRecord | null> {
    if (this.state.isOverBudget()) return null;
    const { issue, attempt, settings, workspace, runId, isTaken } = this.#request;
    const { record } = await this.#deps.workspaces.prepare({
      issue,
      attempt,
      settings,
      bound: workspace,
      isTaken,
      signal: this.state.signal,
      runMarker: runId,
    });
    this.#listener.prepared(record);
    return record;
  }

  async #work(workspace: WorkspaceRecord): Promise<void> {
    await this.#hook("before_run", workspace);
    const parts = {
      ...this.#deps,
      log: this.#log,
      request: this.#request,
      listener: this.#listener,
      controls: this.controls,
      state: this.state,
      checkWorkspace: () =>
        this.#deps.workspaces.verify(workspace.path, this.#request.settings.workspace.root, workspace),
    };
    this.#session = await openSession(parts, workspace);
    // After the agent has been started: a look at a large tree must not hold back the other tickets' agents.
    this.#before = await this.#fingerprint(workspace);
    const prompt = this.#firstPrompt(this.#session);
    this.#pictures = this.#session.resumed ? null : await this.#gatherPictures();
    const { note = null, paths = [] } = this.#pictures ?? {};
    await new TurnLoop(parts, this.#session).run(note === null ? prompt : `${prompt}\n\n${note}`, paths);
  }

  /** Only for a thread that is told the description. */
  async #gatherPictures(): Promise<Pictures | null> {
    const pictures = (await this.#request.pictures?.(this.state.signal)) ?? null;
    for (const problem of this.state.outcome === null ? (pictures?.problems ?? []) : []) {
      this.#log.warn({ reason: problem }, "a picture of the description can't be given to the agent");
      const text = `a picture of the description can't be given to the agent: ${problem}`;
      this.#listener.agentEvent({ kind: "warning", text, at: this.#deps.clock.now(), agentPid: null });
    }
    return pictures;
  }

  /** The ticket on a fresh thread, with what was done before where the run goes on with something; guidance on a resumed one. */
  #firstPrompt(session: AgentSession): string {
    const { issue, attempt, prompt, why, error, callsInDoubt, settings, developerInstructions } = this.#request;
    const work = this.#deps.journal.earlierWork(issue.id);
    const notes = { why, error, callsInDoubt, work, instructions: developerInstructions ?? null };
    const { resumed, replaced } = session;
    if (resumed) return resumePrompt({ turn: 1, maxTurns: settings.agent.maxTurns, issue, ...notes });
    const ticket = renderPrompt(prompt, { issue, attempt });
    // A ticket that comes back after a release or a reset starts with a clean slate.
    if (why === "dispatch" && replaced === null) return ticket;
    const earlier = earlierWorkNotes({ ...notes, replaced, head: this.#before?.head ?? null });
    return earlier === "" ? ticket : `${ticket}\n\n${earlier}`;
  }

  async #hook(name: "before_run" | "after_run", workspace: WorkspaceRecord): Promise<void> {
    await this.#deps.workspaces.runHook(name, {
      issue: this.state.lastIssue,
      attempt: this.#request.attempt,
      settings: this.#request.currentSettings(),
      path: workspace.path,
      runMarker: this.#request.runId,
      ...(name === "before_run" ? { signal: this.state.signal } : {}),
    });
  }

  /** The session's processes are gone when this resolves; a failed start has ended its own. */
  async #close(): Promise<void> {
    this.state.enter("finishing");
    await this.#session?.close();
    await this.#pictures?.remove();
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
    if (before === null || workspace === null || this.state.turn === 0) return null;
    const after = await this.#fingerprint(workspace);
    return after === null ? null : after.head !== before.head || after.diff !== before.diff;
  }
}
