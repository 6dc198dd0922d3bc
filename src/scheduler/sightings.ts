/** What a fresh look at an issue does to its claim: the rows "active and routable", "terminal" and "gone" of the event table. */
import type { BlockedClaim, RunningClaim, WaitingClaim } from "../domain/claim.ts";
import { assertNever } from "../domain/errors.ts";
import type { IssueId } from "../domain/ids.ts";
import { normalizeState, type Issue } from "../domain/issue.ts";
import type { Draft } from "./draft.ts";
import { continueGate, isTerminal, startGate } from "./eligibility.ts";
import type { Env } from "./state.ts";
import { cleanOrRelease, freshIdle, release, settleUnroutable, stopRun, wait } from "./transitions.ts";

/** `issue` null: a complete, successful answer lacked the id. */
export function see(draft: Draft, env: Env, id: IssueId, issue: Issue | null): void {
  const claim = draft.state.claims.get(id);
  if (claim === undefined) {
    if (issue !== null && isTerminal(issue, env.settings)) cleanOrRelease(draft, env, issue);
    return;
  }
  switch (claim.kind) {
    case "running":
      return seeRunning(draft, env, claim, issue);
    case "waiting":
      return seeWaiting(draft, env, claim, issue);
    case "blocked":
      return seeBlocked(draft, env, claim, issue);
    case "cleaning":
      // Remembered, decided on when the clean-up is over.
      if (issue !== null) draft.setClaim(id, { ...claim, issue }, { memoryOnly: true });
      return;
    default:
      return assertNever(claim);
  }
}

/** Keeps the newest snapshot; a snapshot that says the same is no reason to write a row. */
export function refreshSnapshot(draft: Draft, claim: RunningClaim | WaitingClaim | BlockedClaim, issue: Issue): void {
  if (claim.issue === issue) return;
  draft.setClaim(issue.id, { ...claim, issue }, { memoryOnly: sameIssue(claim.issue, issue) });
}

function seeRunning(draft: Draft, env: Env, claim: RunningClaim, issue: Issue | null): void {
  if (issue !== null) refreshSnapshot(draft, claim, issue);
  const current = draft.state.claims.get(claim.issue.id);
  if (current?.kind !== "running" || current.stopping !== null) return;
  if (issue === null) return stopRun(draft, env, current, "unroutable");
  if (isTerminal(issue, env.settings)) return stopRun(draft, env, current, "terminal");
  if (continueGate(issue, env.settings) !== null) stopRun(draft, env, current, "unroutable");
}

function seeWaiting(draft: Draft, env: Env, claim: WaitingClaim, issue: Issue | null): void {
  if (issue === null) return release(draft, claim.issue, "no longer visible");
  const gate = startGate(issue, env.settings);
  if (gate !== null) return settleUnroutable(draft, env, issue, gate);
  refreshSnapshot(draft, claim, issue);
}

function seeBlocked(draft: Draft, env: Env, claim: BlockedClaim, issue: Issue | null): void {
  if (issue === null) return release(draft, claim.issue, "no longer visible");
  const gate = continueGate(issue, env.settings);
  if (gate !== null) return settleUnroutable(draft, env, issue, gate);
  const differs =
    normalizeState(issue.state) !== normalizeState(claim.issue.state) || !sameList(issue.labels, claim.issue.labels);
  if (!differs || !changedSince(issue, claim.since)) return refreshSnapshot(draft, claim, issue);
  wait(
    draft,
    { ...claim, issue },
    {
      why: "unblocked",
      attempt: claim.attempt,
      dueAt: null,
      error: null,
      idle: freshIdle(issue),
    },
  );
  draft.log("info", "issue unblocked", issue, { was: claim.why, state: issue.state });
}

/** False for what the run's own agent had changed before the block, and for an answer that is older than it. A tracker without times: true. */
function changedSince({ updated_at: at }: Issue, since: number): boolean {
  const changedAt = at === null ? Number.NaN : Date.parse(at);
  return Number.isNaN(changedAt) || changedAt > since;
}

function sameList(a: readonly string[], b: readonly string[]): boolean {
  return a.length === b.length && a.every((item) => b.includes(item));
}

/** Equal in all that a restart would miss. */
function sameIssue(a: Issue, b: Issue): boolean {
  return a.updated_at === b.updated_at && JSON.stringify(a) === JSON.stringify(b);
}
