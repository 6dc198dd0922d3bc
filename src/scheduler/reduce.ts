/** The one decision: what an event does to the state, what must be written, and what is to be done. Pure. */
import type { RunningClaim } from "../domain/claim.ts";
import { assertNever } from "../domain/errors.ts";
import type { IssueId, RunId } from "../domain/ids.ts";
import { onBoot } from "./boot.ts";
import { onRefreshed, onRefreshFailed, serve } from "./dispatch.ts";
import { Draft, type Decision } from "./draft.ts";
import { isTerminal, startGate } from "./eligibility.ts";
import type { Event } from "./events.ts";
import { onOperator } from "./operator.ts";
import { compareIssues } from "./order.ts";
import { endProbedPauses, forgetDeadProbes, onAgentChecked, pauseUntilEvent } from "./pauses.ts";
import { onPolled, onPollFailed, pollIfDue, pollOnWord, pollSoon } from "./polling.ts";
import { onRunEnded } from "./run-end.ts";
import { refreshSnapshot, see } from "./sightings.ts";
import type { Env, State } from "./state.ts";
import { onClockSetBack, onStandstill, onTimer } from "./timers.ts";
import { stopRun } from "./transitions.ts";

/** Same inputs, same answer: never reads a clock, a file or a global. */
export function reduce(state: State, event: Event, env: Env): Decision {
  const draft = new Draft(state);
  const served = apply(draft, env, event);
  if (draft.state.pauses.size > 0) forgetDeadProbes(draft);
  if (served === "serve") {
    pollIfDue(draft, env);
    serve(draft, env);
  }
  return draft.finish();
}

/** `quiet`: nothing that could let a ticket go has changed (the event path of busy agents must stay short). */
function apply(draft: Draft, env: Env, event: Event): "serve" | "quiet" {
  switch (event.kind) {
    case "boot":
      draft.patch({ only: event.only ?? null, awaitsAgent: event.agentLook === true });
      onBoot(draft, env, event.durable);
      return "serve";
    case "timer":
      onTimer(draft, env);
      return "serve";
    case "stood_still":
      onStandstill(draft, env, event.ms);
      return "quiet";
    case "clock_set_back":
      onClockSetBack(draft, event.ms);
      return "quiet";
    case "polled":
      onPolled(draft, env, event);
      return "serve";
    case "poll_failed":
      onPollFailed(draft, env, event);
      return "quiet";
    case "refreshed":
      onRefreshed(draft, env, event);
      return "serve";
    case "refresh_failed":
      onRefreshFailed(draft, env, event);
      return "quiet";
    case "workspace_found":
      draft.setWorkspace(event.record);
      see(draft, env, event.issue.id, event.issue);
      return "quiet";
    case "cleaned":
    case "clean_failed":
      onCleaned(draft, env, event);
      return "serve";
    case "operator":
      onOperator(draft, env, event.command);
      return "serve";
    case "tracker_changed":
      pollOnWord(draft, env);
      return "serve";
    case "settings_changed":
      pollSoon(draft, env);
      return "serve";
    case "agent_checked":
    case "workflow_broken":
    case "workflow_mended":
    case "budget_day_spent":
    case "budget_day_renewed":
      return applyToPauses(draft, env, event);
    case "shutdown":
    case "stop_runs":
      onStop(draft, env, event.kind);
      return "quiet";
    default:
      return applyToRun(draft, env, event);
  }
}

type PauseEvent = Extract<
  Event,
  { kind: "agent_checked" | "workflow_broken" | "workflow_mended" | "budget_day_spent" | "budget_day_renewed" }
>;

/** What begins or ends a pause of all dispatch from outside. */
function applyToPauses(draft: Draft, env: Env, event: PauseEvent): "serve" | "quiet" {
  switch (event.kind) {
    case "agent_checked":
      onAgentChecked(draft, env, event);
      return "serve";
    case "workflow_broken":
      pauseUntilEvent(draft, env, "workflow", event.message);
      return "quiet";
    case "workflow_mended":
      draft.dropPause("workflow");
      return "serve";
    case "budget_day_spent":
      onDaySpent(draft, env, event);
      return "quiet";
    case "budget_day_renewed":
      draft.dropPause("budget");
      return "serve";
    default:
      return assertNever(event);
  }
}

type RunEvent = Extract<Event, { runId: RunId }>;

/** Events of a run; those of a run that isn't the ticket's current one change nothing. */
function applyToRun(draft: Draft, env: Env, event: RunEvent): "serve" | "quiet" {
  const claim = findRun(draft.state, event.runId);
  if (claim === null) return "quiet";
  const id = claim.issue.id;
  switch (event.kind) {
    case "run_prepared":
      draft.setWorkspace(event.workspace);
      return "quiet";
    case "run_phase": {
      const phase = claim.stopping === null ? event.phase : claim.phase;
      draft.setClaim(id, { ...claim, phase, turn: event.turn, lastEventAt: env.now, open: 0 }, { memoryOnly: true });
      return "quiet";
    }
    case "run_thread":
      draft.setClaim(id, { ...claim, threadId: event.threadId });
      return "quiet";
    case "run_activity":
      draft.setClaim(
        id,
        { ...claim, lastEventAt: Math.max(claim.lastEventAt, event.at), open: event.open },
        { memoryOnly: true },
      );
      return "quiet";
    case "run_issue":
      refreshSnapshot(draft, claim, event.issue);
      return "quiet";
    case "run_turn_completed":
      endProbedPauses(draft, id);
      return "serve";
    case "run_question":
      draft.setClaim(id, { ...claim, question: event.question });
      return "quiet";
    case "run_took":
      if (claim.inbox.some((item) => item.id === event.itemId)) {
        draft.setClaim(id, { ...claim, inbox: claim.inbox.filter((item) => item.id !== event.itemId) });
      }
      return "quiet";
    case "run_budget":
      if (claim.stopping === null) stopRun(draft, env, claim, { why: "budget", detail: event.message });
      return "quiet";
    case "run_ended":
      onRunEnded(draft, env, claim, event.result);
      return "serve";
    default:
      return assertNever(event);
  }
}

function findRun(state: State, runId: RunId): RunningClaim | null {
  for (const claim of state.claims.values()) if (claim.kind === "running" && claim.runId === runId) return claim;
  return null;
}

/** The clean-up is over: forget the workspace, and decide on what was seen of the ticket meanwhile. */
function onCleaned(
  draft: Draft,
  env: Env,
  event: { readonly kind: "cleaned" | "clean_failed"; readonly issueId: IssueId; readonly message?: string },
): void {
  const claim = draft.state.claims.get(event.issueId);
  if (claim?.kind !== "cleaning") return;
  draft.dropClaim(event.issueId);
  if (event.kind === "cleaned") {
    draft.dropWorkspace(event.issueId);
    draft.log("info", "workspace cleaned", claim.issue, { path: claim.path });
  } else {
    draft.log("warn", "workspace clean-up failed", claim.issue, { path: claim.path, error: event.message });
  }
  if (isTerminal(claim.issue, env.settings) || startGate(claim.issue, env.settings) !== null) return;
  draft.patch({ backlog: [...draft.state.backlog, claim.issue].toSorted(compareIssues) });
}

/** The limit is a hard one: what runs is interrupted, and goes on with the next day. */
function onDaySpent(draft: Draft, env: Env, { until, message }: Extract<Event, { kind: "budget_day_spent" }>): void {
  const since = draft.state.pauses.get("budget")?.since ?? env.now;
  draft.setPause({ kind: "budget", since, until, message, step: 0, probe: null });
  for (const claim of draft.state.claims.values()) {
    if (claim.kind !== "running" || claim.stopping !== null) continue;
    stopRun(draft, env, claim, { why: "day_budget", detail: message });
  }
}

function onStop(draft: Draft, env: Env, kind: "shutdown" | "stop_runs"): void {
  stopAllRuns(draft, env);
  if (kind === "stop_runs") interruptAllRuns(draft);
}

function stopAllRuns(draft: Draft, env: Env): void {
  draft.patch({ mode: "stopping" });
  for (const claim of draft.state.claims.values()) {
    if (claim.kind === "running" && claim.stopping === null) stopRun(draft, env, claim, "shutdown");
  }
}

/** No grace any more. */
function interruptAllRuns(draft: Draft): void {
  for (const [id, claim] of draft.state.claims) {
    if (claim.kind !== "running" || claim.stopping === null) continue;
    const { stopping } = claim;
    if (stopping.interruptAt === null) continue;
    draft.setClaim(id, { ...claim, stopping: { ...stopping, interruptAt: null } }, { memoryOnly: true });
    draft.effect({ kind: "stop_run", runId: claim.runId, why: stopping.why });
  }
}
