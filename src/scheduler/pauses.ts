/** What keeps the whole daemon from dispatching, and how each of those ends. */
import type { Pause, PauseKind } from "../domain/claim.ts";
import type { IssueId } from "../domain/ids.ts";
import { AUTH_PROBE_MS, UNKNOWN_THROTTLE_MS, unknownLimitMs } from "./backoff.ts";
import type { Draft } from "./draft.ts";
import type { ReadFailure } from "./events.ts";
import type { Env, State } from "./state.ts";

/** `probe`: one ticket may go through, to see whether a limit is over. */
export type DispatchGate = "open" | "probe" | "closed";

/** These end when one ticket gets through, not when their time is up. */
export function isProbed(kind: PauseKind): boolean {
  return kind === "usage_limit" || kind === "auth";
}

/** Whether this pause keeps every ticket out now. A limit whose time is up lets one ticket through, and keeps the others out until it is known how that went. */
export function holds(pause: Pause, now: number): boolean {
  const isOver = pause.until !== null && pause.until <= now;
  return !isOver || (isProbed(pause.kind) && pause.probe !== null);
}

/** Whether anything may be dispatched now. */
export function dispatchGate(state: State, now: number): DispatchGate {
  if (state.mode !== "running" || state.awaitsAgent) return "closed";
  let gate: DispatchGate = "open";
  for (const pause of state.pauses.values()) {
    if (holds(pause, now)) return "closed";
    if (isProbed(pause.kind)) gate = "probe";
  }
  return gate;
}

/** Whether a ticket that was looked at may start: a pause that began meanwhile holds, a limit lets only its probe through. */
export function letsThrough(state: State, issueId: IssueId, now: number): boolean {
  if (state.mode !== "running" || state.awaitsAgent) return false;
  return [...state.pauses.values()].every((pause) =>
    isProbed(pause.kind) ? pause.probe === issueId : pause.until !== null && pause.until <= now,
  );
}

/**
 * The agent's usage limit, met by a run: until the stated reset, else 15 minutes doubling to one hour. A reset that came while the
 * run was ending has been stated all the same: then the next ticket tries at once.
 */
export function pauseForUsageLimit(
  draft: Draft,
  env: Env,
  met: { issueId: IssueId; resetsAt: number | null; message: string },
): void {
  const before = draft.state.pauses.get("usage_limit");
  const step = nextStep(before, met.issueId);
  const until = met.resetsAt ?? env.now + unknownLimitMs(step);
  draft.setPause({
    kind: "usage_limit",
    since: before?.since ?? env.now,
    until: Math.max(until, before?.until ?? 0),
    message: met.message,
    step,
    probe: null,
  });
}

/** The agent isn't logged in: probed every five minutes. `issueId` is that of the ticket which met it; null: no ticket had to. */
export function pauseForAuth(draft: Draft, env: Env, met: { issueId: IssueId | null; message: string }): void {
  const before = draft.state.pauses.get("auth");
  if (before === undefined) {
    const fields = { reason: met.message };
    draft.effect({ kind: "log", level: "warn", message: "the agent is not logged in; dispatch is paused", fields });
  }
  draft.setPause({
    kind: "auth",
    since: before?.since ?? env.now,
    until: env.now + AUTH_PROBE_MS,
    message: met.message,
    step: nextStep(before, met.issueId),
    probe: null,
  });
}

/** What a look at the agent's login changes. A login that is there is no proof that it is accepted: the pause of an earlier 401 is probed now. */
export function onAgentChecked(
  draft: Draft,
  env: Env,
  { login, message }: { readonly login: "ok" | "missing" | "unknown"; readonly message: string },
): void {
  draft.patch({ awaitsAgent: false });
  if (login === "missing") return pauseForAuth(draft, env, { issueId: null, message });
  const pause = draft.state.pauses.get("auth");
  if (login === "ok" && pause !== undefined) draft.setPause({ ...pause, until: env.now });
}

/** Ten runs that meet one limit together are one step; only a probe that failed is the next. */
function nextStep(before: Pause | undefined, issueId: IssueId | null): number {
  if (before === undefined) return 0;
  return issueId !== null && before.probe === issueId ? before.step + 1 : before.step;
}

/** A throttled tracker: no read until its reset. */
export function pauseForThrottle(draft: Draft, env: Env, failure: ReadFailure): void {
  draft.setPause({
    kind: "tracker",
    since: draft.state.pauses.get("tracker")?.since ?? env.now,
    until: failure.resetAt !== null && failure.resetAt > env.now ? failure.resetAt : env.now + UNKNOWN_THROTTLE_MS,
    message: failure.message,
    step: 0,
    probe: null,
  });
}

/** A pause that only another event ends. */
export function pauseUntilEvent(
  draft: Draft,
  env: Env,
  kind: "operator" | "workflow" | "ledger",
  message: string,
): void {
  draft.setPause({
    kind,
    since: draft.state.pauses.get(kind)?.since ?? env.now,
    until: null,
    message,
    step: 0,
    probe: null,
  });
}

/** Lets one ticket through the limits that wait for a probe. */
export function markProbe(draft: Draft, issueId: IssueId): void {
  for (const pause of draft.state.pauses.values()) {
    if (isProbed(pause.kind)) draft.setPause({ ...pause, probe: issueId });
  }
}

/** A probe that ended without an answer (its hook failed, its ticket was released): the next one may try. */
export function forgetDeadProbes(draft: Draft): void {
  for (const pause of draft.state.pauses.values()) {
    if (pause.probe === null) continue;
    const claim = draft.state.claims.get(pause.probe);
    const alive = claim?.kind === "running" || (claim?.kind === "waiting" && claim.check !== null);
    if (!alive) draft.setPause({ ...pause, probe: null });
  }
}

/** A turn completed: a limit is over that this ticket has probed, and the login works whoever has asked for it. */
export function endProbedPauses(draft: Draft, issueId: IssueId): void {
  for (const pause of draft.state.pauses.values()) {
    if (pause.probe === issueId || pause.kind === "auth") draft.dropPause(pause.kind);
  }
}

/** A person resumes: the operator's pause ends, and limits are probed at once. */
export function resume(draft: Draft, env: Env): void {
  draft.dropPause("operator");
  for (const pause of draft.state.pauses.values()) {
    if (isProbed(pause.kind)) draft.setPause({ ...pause, until: env.now });
  }
}

/** Pauses that simply run out. */
export function endOverduePauses(draft: Draft, env: Env): void {
  for (const pause of draft.state.pauses.values()) {
    if (!isProbed(pause.kind) && pause.until !== null && pause.until <= env.now) draft.dropPause(pause.kind);
  }
}
