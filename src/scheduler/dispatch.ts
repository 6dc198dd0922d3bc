/** Who gets the free slots: due waiters and fresh candidates in one order, each looked at once more by id before it starts. */
import type { WaitingClaim } from "../domain/claim.ts";
import type { IssueId } from "../domain/ids.ts";
import type { Issue } from "../domain/issue.ts";
import { pollRetryDelayMs, chance } from "./backoff.ts";
import type { Draft } from "./draft.ts";
import { startGate } from "./eligibility.ts";
import type { ReadFailure } from "./events.ts";
import { compareIssues } from "./order.ts";
import { dispatchGate, letsThrough, markProbe, pauseForThrottle } from "./pauses.ts";
import { Slots } from "./slots.ts";
import { isMeant, type Env, type State } from "./state.ts";
import { freshIdle, release, settleUnroutable, startRun } from "./transitions.ts";

/** The specification's words for a ticket that waits for a slot. */
const NO_SLOT = "no available orchestrator slots";

interface Contender {
  readonly issue: Issue;
  readonly waiter: WaitingClaim | null;
}

/** Hands out what slots there are. Called at the end of each event that may have changed who can go. */
export function serve(draft: Draft, env: Env): void {
  const gate = dispatchGate(draft.state, env.now);
  if (gate === "closed") return;
  const contenders = listContenders(draft.state, env.now);
  if (contenders.length === 0) return;
  const slots = new Slots(draft.state, env.settings);
  if (!slots.anyFree) return contenders.forEach((contender) => noteSlotWait(draft, contender.waiter));
  contenders.sort((a, b) => compareIssues(a.issue, b.issue));
  const check = draft.nextNumber();
  const chosen: IssueId[] = [];
  for (const contender of contenders) {
    if (gate === "probe" && chosen.length === 1) break;
    if (!slots.isFree(contender.issue.state)) {
      noteSlotWait(draft, contender.waiter);
      continue;
    }
    slots.take(contender.issue.state);
    reserve(draft, contender, check);
    chosen.push(contender.issue.id);
  }
  if (chosen.length === 0) return;
  const taken = new Set(chosen);
  draft.patch({ backlog: draft.state.backlog.filter((issue) => !taken.has(issue.id)) });
  if (gate === "probe") for (const id of chosen) markProbe(draft, id);
  draft.effect({ kind: "refresh", check, ids: chosen });
}

/** Who wants a slot now. Due waiters first: the sort is stable, so they win a tie. */
export function listContenders(state: State, now: number): Contender[] {
  const contenders: Contender[] = [];
  for (const claim of state.claims.values()) {
    if (claim.kind !== "waiting" || claim.check !== null || !isMeant(state, claim.issue)) continue;
    if (claim.dueAt === null || claim.dueAt <= now) contenders.push({ issue: claim.issue, waiter: claim });
  }
  for (const issue of state.backlog) {
    if (!state.claims.has(issue.id) && isMeant(state, issue)) contenders.push({ issue, waiter: null });
  }
  return contenders;
}

/** A waiter without a slot keeps its attempt and its last error, and arms no timer: it is served when a slot frees. */
function noteSlotWait(draft: Draft, waiter: WaitingClaim | null): void {
  if (typeof waiter?.dueAt !== "number") return;
  // A restart finds it due as well.
  draft.setClaim(waiter.issue.id, { ...waiter, dueAt: null }, { memoryOnly: true });
}

/** Why a claim still waits, in words: for a slot (section 8.4), else the error that its last run ended with; null: neither. */
export function waitError(state: State, claim: WaitingClaim, now: number): string | null {
  const isServed = claim.dueAt === null && claim.check === null && isMeant(state, claim.issue);
  return isServed && dispatchGate(state, now) === "open" ? NO_SLOT : claim.error;
}

function reserve(draft: Draft, contender: Contender, check: number): void {
  const { issue, waiter } = contender;
  if (waiter !== null) {
    draft.setClaim(issue.id, { ...waiter, dueAt: null, check }, { memoryOnly: true });
    return;
  }
  draft.setClaim(issue.id, {
    kind: "waiting",
    attempt: null,
    issue,
    dueAt: null,
    why: "dispatch",
    error: null,
    threadId: null,
    check,
    idle: freshIdle(issue),
    inbox: [],
  });
}

/** The answer to a look before the start. */
export function onRefreshed(
  draft: Draft,
  env: Env,
  answer: { readonly check: number; readonly ids: readonly IssueId[]; readonly issues: readonly Issue[] },
): void {
  const found = new Map(answer.issues.map((issue) => [issue.id, issue]));
  const slots = new Slots(draft.state, env.settings);
  for (const id of answer.ids) {
    const claim = draft.state.claims.get(id);
    if (claim?.kind !== "waiting" || claim.check !== answer.check) continue;
    slots.give(claim.issue.state);
    if (settleChecked(draft, env, { claim, issue: found.get(id) ?? null, slots }) === "started") {
      slots.take(draft.state.claims.get(id)?.issue.state ?? claim.issue.state);
    }
  }
}

interface Checked {
  readonly claim: WaitingClaim;
  /** Null: gone from a complete answer. */
  readonly issue: Issue | null;
  readonly slots: Slots;
}

function settleChecked(draft: Draft, env: Env, { claim, issue, slots }: Checked): "started" | "settled" {
  if (issue === null) {
    release(draft, claim.issue, "no longer visible");
    return "settled";
  }
  const gate = startGate(issue, env.settings);
  if (gate !== null) {
    settleUnroutable(draft, env, issue, gate);
    return "settled";
  }
  if (letsThrough(draft.state, issue.id, env.now) && slots.isFree(issue.state)) {
    startRun(draft, env, claim, issue);
    return "started";
  }
  standBack(draft, { ...claim, issue });
  return "settled";
}

/** Not now: a fresh candidate is unclaimed again, a waiter goes on waiting with its attempt. */
function standBack(draft: Draft, claim: WaitingClaim): void {
  const { issue } = claim;
  if (claim.why === "dispatch") {
    draft.dropClaim(issue.id);
    draft.patch({
      backlog: [...draft.state.backlog.filter((other) => other.id !== issue.id), issue].toSorted(compareIssues),
    });
    return;
  }
  draft.setClaim(issue.id, { ...claim, check: null, dueAt: null }, { memoryOnly: true });
}

/** A look that failed says nothing about the ticket: waiters ask again later, fresh candidates come back with the next poll. */
export function onRefreshFailed(
  draft: Draft,
  env: Env,
  answer: { readonly check: number; readonly ids: readonly IssueId[]; readonly failure: ReadFailure },
): void {
  const { code, message } = answer.failure;
  if (code === "tracker_rate_limited") pauseForThrottle(draft, env, answer.failure);
  draft.patch({ backlog: [], tracker: { ...draft.state.tracker, lastError: { code, message, at: env.now } } });
  for (const id of answer.ids) {
    const claim = draft.state.claims.get(id);
    if (claim?.kind !== "waiting" || claim.check !== answer.check) continue;
    if (claim.why === "dispatch") {
      draft.dropClaim(id);
      continue;
    }
    const delay = pollRetryDelayMs(1, env.settings.polling.intervalMs, chance(env.seed, id));
    draft.setClaim(id, { ...claim, check: null, dueAt: env.now + delay, error: `retry poll failed: ${message}` });
  }
}
