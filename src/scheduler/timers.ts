/** What is due: polls, retries, stalls, turn deadlines, graces and pause ends. One timer serves them all. */
import type { RunningClaim } from "../domain/claim.ts";
import type { Settings } from "../domain/settings.ts";
import type { Draft } from "./draft.ts";
import { endOverduePauses, isProbed } from "./pauses.ts";
import { pollIfDue } from "./polling.ts";
import type { Env, State } from "./state.ts";
import { stopRun } from "./transitions.ts";

/**
 * When silence ends a run, and as what. An open command, tool call or question is life, up to the turn's own limit; preparing and
 * the pause between turns have limits of their own (hooks, tracker reads), so their silence is not counted.
 */
function silenceDeadline(
  claim: RunningClaim,
  settings: Settings,
): { at: number; why: "stalled" | "turn_timeout" } | null {
  if (claim.stopping !== null || (claim.phase !== "turn" && claim.phase !== "launching")) return null;
  const { stallTimeoutMs, turnTimeoutMs, startTimeoutMs } = settings.codex;
  // Greeting and thread have a limit each: a stall below it would end every start on a busy machine.
  const leastMs = claim.phase === "launching" ? 2 * startTimeoutMs : 0;
  // A person may take as long as the question says; the agent's own silence counts from there.
  const quietSince = Math.max(claim.lastEventAt, claim.question?.deadlineAt ?? 0);
  const stalls = stallTimeoutMs > 0 && stallTimeoutMs < turnTimeoutMs && claim.open === 0;
  return stalls
    ? { at: quietSince + Math.max(stallTimeoutMs, leastMs), why: "stalled" }
    : { at: quietSince + Math.max(turnTimeoutMs, leastMs), why: "turn_timeout" };
}

/** Does what is due at `env.now`; nothing is due twice. */
export function onTimer(draft: Draft, env: Env): void {
  endOverduePauses(draft, env);
  pollIfDue(draft, env);
  for (const [id, claim] of draft.state.claims) {
    if (claim.kind === "waiting" && claim.dueAt !== null && claim.dueAt <= env.now) {
      draft.setClaim(id, { ...claim, dueAt: null });
    } else if (claim.kind === "running") {
      checkRun(draft, env, claim);
    }
  }
}

/** Nobody could be heard meanwhile, so every run gets a new silence period from now on. */
export function onStandstill(draft: Draft, env: Env, ms: number): void {
  const runs = [...draft.state.claims.values()].filter((claim) => claim.kind === "running");
  for (const claim of runs) draft.setClaim(claim.issue.id, { ...claim, lastEventAt: env.now }, { memoryOnly: true });
  const message = "the daemon stood still (stopped, or the machine suspended); silence of agents is counted from now";
  draft.effect({ kind: "log", level: "warn", message, fields: { late_ms: ms, runs: runs.length } });
}

/** Waits go on by what is left of them. A limit's stated end is a time of day, which the new clock tells better. */
export function onClockSetBack(draft: Draft, ms: number): void {
  const { nextPollAt, polledAt, wokenAt, wordsPaidAt, claims } = draft.state;
  draft.patch({
    nextPollAt: nextPollAt - ms,
    polledAt: polledAt - ms,
    wokenAt: wokenAt === null ? null : wokenAt - ms,
    wordsPaidAt: wordsPaidAt - ms,
  });
  for (const [id, claim] of claims) {
    if (claim.kind === "waiting" && claim.dueAt !== null) draft.setClaim(id, { ...claim, dueAt: claim.dueAt - ms });
    if (claim.kind === "running") draft.setClaim(id, runSetBack(claim, ms), { memoryOnly: true });
  }
  const message = "the machine's clock was put back; what waits goes on waiting for as long as it had left";
  draft.effect({ kind: "log", level: "warn", message, fields: { back_ms: ms } });
}

function runSetBack(claim: RunningClaim, ms: number): RunningClaim {
  const { question, stopping, lastEventAt } = claim;
  const back = (at: number | null): number | null => (at === null ? null : at - ms);
  return {
    ...claim,
    lastEventAt: lastEventAt - ms,
    question: question === null ? null : { ...question, deadlineAt: back(question.deadlineAt) },
    stopping: stopping === null ? null : { ...stopping, interruptAt: back(stopping.interruptAt) },
  };
}

function checkRun(draft: Draft, env: Env, claim: RunningClaim): void {
  const { stopping } = claim;
  if (stopping !== null) {
    if (stopping.interruptAt === null || stopping.interruptAt > env.now) return;
    draft.setClaim(claim.issue.id, { ...claim, stopping: { ...stopping, interruptAt: null } }, { memoryOnly: true });
    draft.effect({ kind: "stop_run", runId: claim.runId, why: stopping.why });
    return;
  }
  const deadline = silenceDeadline(claim, env.settings);
  if (deadline !== null && deadline.at <= env.now) stopRun(draft, env, claim, deadline.why);
}

/** The next moment at which something is due, or null. Slot waiters never arm it, nor does a limit that waits for its probe. */
export function nextWakeAt(state: State, settings: Settings, now: number): number | null {
  const times: number[] = [];
  if (state.polling === null && !state.pauses.has("tracker")) times.push(state.nextPollAt);
  for (const pause of state.pauses.values()) {
    // A limit that is over waits for a probe, which no timer brings; any other pause that is over has yet to be dropped.
    if (pause.until !== null && (pause.until > now || !isProbed(pause.kind))) times.push(pause.until);
  }
  for (const claim of state.claims.values()) {
    if (claim.kind === "waiting" && claim.dueAt !== null) times.push(claim.dueAt);
    if (claim.kind !== "running") continue;
    const at = claim.stopping === null ? silenceDeadline(claim, settings)?.at : claim.stopping.interruptAt;
    if (at !== undefined && at !== null) times.push(at);
  }
  return times.length === 0 ? null : times.reduce((least, time) => Math.min(least, time));
}
