/** Carries out what decisions ask for. Each effect starts at once and waits for no other ticket's; answers come back as events. */
import type { WorkspaceRecord } from "../domain/claim.ts";
import { assertNever, errorMessage, isAppError } from "../domain/errors.ts";
import type { IssueId } from "../domain/ids.ts";
import type { Issue } from "../domain/issue.ts";
import type { Settings } from "../domain/settings.ts";
import type { Clock } from "../lib/clock.ts";
import type { Log } from "../lib/log.ts";
import type { Effect } from "../scheduler/effects.ts";
import { continueGate } from "../scheduler/eligibility.ts";
import type { Event, ReadFailure } from "../scheduler/events.ts";
import type { State } from "../scheduler/state.ts";
import type { Workspaces } from "../workspace/workspace.ts";
import type { AppliedWorkflow } from "../workflow/reload.ts";
import { picturesOf } from "./pictures.ts";
import type { Runs } from "./runs.ts";
import { sweepLeftovers } from "./sweep.ts";
import type { Trackers } from "./trackers.ts";

export interface EffectsDeps {
  readonly clock: Clock;
  readonly log: Log;
  /** Identity of this daemon's ledger, which owns its workspaces. */
  readonly ledgerId: string;
  readonly runs: Runs;
  readonly trackers: Trackers;
  readonly workspaces: Workspaces;
  /** Where pictures of descriptions are kept while their runs go on. */
  readonly picturesDir: string;
  post(event: Event): void;
  state(): State;
  workflow(): AppliedWorkflow;
  /** Looks at WORKFLOW.md once more, so that a change is in force before the dispatch that a poll leads to. */
  checkWorkflow(): Promise<void>;
  /** Tool calls of the issue's earlier runs whose end was never recorded. */
  callsInDoubt(issueId: IssueId): readonly string[];
}

export class Effects {
  readonly #deps: EffectsDeps;
  readonly #background = new Set<Promise<void>>();
  readonly #abort = new AbortController();

  constructor(deps: EffectsDeps) {
    this.#deps = deps;
  }

  perform(effect: Effect): void {
    switch (effect.kind) {
      case "poll":
        return this.#own(this.#poll(effect));
      case "refresh":
        return this.#own(this.#refresh(effect));
      case "start_run":
        return this.#startRun(effect);
      case "finish_run":
        return this.#deps.runs.get(effect.runId)?.finish(effect.why);
      case "stop_run":
        return this.#deps.runs.get(effect.runId)?.stop(effect.why);
      case "deliver":
        return this.#deps.runs.get(effect.runId)?.deliver(effect.message);
      case "answer_question":
        return this.#deps.runs.get(effect.runId)?.answer(effect.questionId, effect.answer);
      case "interrupt_turn":
        return this.#deps.runs.get(effect.runId)?.interrupt();
      case "compact_thread":
        return this.#deps.runs.get(effect.runId)?.compact();
      case "clean":
        return this.#own(this.#clean(effect.record, effect.issue));
      case "sweep":
        return this.#own(this.#sweep());
      case "log":
        return this.#deps.log[effect.level](effect.fields, effect.message);
      default:
        assertNever(effect);
    }
  }

  /** Ends reads that are on their way, and resolves when nothing of ours runs any more. */
  async stop(): Promise<void> {
    this.#abort.abort(new Error("the daemon stops"));
    while (this.#background.size > 0) await Promise.allSettled(this.#background);
  }

  /** No unowned promise: stop waits for each. */
  #own(work: Promise<void>): void {
    const owned = work
      .catch((error: unknown) => this.#deps.log.error({ err: error }, "effect failed"))
      .finally(() => this.#background.delete(owned));
    this.#background.add(owned);
  }

  async #poll({ poll, states, ids }: Extract<Effect, { kind: "poll" }>): Promise<void> {
    await this.#deps.checkWorkflow();
    const { tracker } = this.#deps.trackers.current;
    const { signal } = this.#abort;
    try {
      const answer =
        tracker.poll === undefined
          ? {
              candidates: await tracker.fetchIssuesByStates(states, signal),
              tracked: await tracker.fetchIssuesByIds(ids, signal),
              unreadable: [],
            }
          : await tracker.poll({ states, ids }, signal);
      const unreadable = new Set(answer.unreadable);
      const trackedIds = ids.filter((id) => !unreadable.has(id));
      this.#deps.post({ kind: "polled", poll, candidates: answer.candidates, tracked: answer.tracked, trackedIds });
    } catch (error) {
      this.#logReadFailure(error, "tracker poll failed");
      this.#deps.post({ kind: "poll_failed", poll, failure: readFailure(error) });
    }
  }

  async #refresh({ check, ids }: Extract<Effect, { kind: "refresh" }>): Promise<void> {
    try {
      const issues = await this.#deps.trackers.current.tracker.fetchIssuesByIds(ids, this.#abort.signal);
      this.#deps.post({ kind: "refreshed", check, ids, issues });
    } catch (error) {
      this.#logReadFailure(error, "tracker refresh failed");
      this.#deps.post({ kind: "refresh_failed", check, ids, failure: readFailure(error) });
    }
  }

  #logReadFailure(error: unknown, message: string): void {
    if (this.#abort.signal.aborted) return;
    const { code, message: reason } = readFailure(error);
    this.#deps.log.warn({ code, reason }, message);
  }

  #startRun(effect: Extract<Effect, { kind: "start_run" }>): void {
    const { runs, trackers, clock, picturesDir } = this.#deps;
    const { settings, prompt } = this.#deps.workflow();
    const { tracker, reader } = trackers.current;
    const { runId, issue, attempt, threadId, workspace, why, error, inbox } = effect;
    const newest = (): Settings => this.#deps.workflow().settings;
    runs.start({
      runId,
      issue,
      attempt,
      why,
      error,
      inbox,
      threadId,
      workspace,
      settings,
      prompt,
      tools: settings.codex.dynamicTools ? tracker.tools : [],
      callsInDoubt: this.#deps.callsInDoubt(issue.id),
      currentSettings: newest,
      mayContinue: (seen) => continueGate(seen, newest()) === null,
      isTaken: (path) => isTaken(this.#deps.state(), issue.id, path),
      readIssue: (id, signal) => reader.read(id, signal),
      ...picturesOf({ tracker, runId, issue, settings, clock, dir: picturesDir }),
    });
  }

  async #sweep(): Promise<void> {
    const { clock, log, post, ledgerId } = this.#deps;
    const { settings } = this.#deps.workflow();
    const { tracker } = this.#deps.trackers.current;
    const { signal } = this.#abort;
    await sweepLeftovers({ clock, log, settings, tracker, state: this.#deps.state(), ledgerId, signal, post });
  }

  async #clean(record: WorkspaceRecord, issue: Issue): Promise<void> {
    const { settings } = this.#deps.workflow();
    try {
      await this.#deps.workspaces.remove({ record, issue, settings, signal: this.#abort.signal });
      this.#deps.post({ kind: "cleaned", issueId: issue.id });
    } catch (error) {
      this.#deps.post({ kind: "clean_failed", issueId: issue.id, message: errorMessage(error) });
    }
  }
}

/** Another issue of ours has this directory; file systems that ignore letter case exist, so it is ignored here. */
function isTaken(state: State, issueId: IssueId, path: string): boolean {
  const wanted = path.toLowerCase();
  for (const [owner, record] of state.workspaces) {
    if (owner !== issueId && record.path.toLowerCase() === wanted) return true;
  }
  return false;
}

function readFailure(error: unknown): ReadFailure {
  const resetAt = isAppError(error) ? error.data["resetAt"] : undefined;
  return {
    code: isAppError(error) ? error.code : "tracker_request",
    message: errorMessage(error),
    resetAt: typeof resetAt === "number" ? resetAt : null,
  };
}
