/** When the tracker is read, what is asked, and what an answer or a failure does. */
import type { IssueId } from "../domain/ids.ts";
import type { Issue } from "../domain/issue.ts";
import { chance, pollRetryDelayMs } from "./backoff.ts";
import type { Draft } from "./draft.ts";
import { startGate } from "./eligibility.ts";
import type { Event } from "./events.ts";
import { compareIssues } from "./order.ts";
import { pauseForThrottle } from "./pauses.ts";
import { see } from "./sightings.ts";
import type { Env, State } from "./state.ts";

/** How many workspaces without a claim ride along with each poll: one batch of ids, whatever their number. */
const SWEEP_BATCH = 50;
/** Words of the tracker that come within this time share a poll: one change is often told in several. */
const WORD_GATHER_MS = 500;
/** What a poll on a word costs, in time, and how much of it may be owed: a few come at once, a stream of words every five seconds. */
const WORD_COST_MS = 5_000;
const WORD_CREDIT_MS = 25_000;
/** For so long after a word, words are trusted to come: three slow polls. */
const WORD_TRUST_MS = 900_000;
/** Polls while words come: what no word tells (relations, renamed states) is seen after this time. */
const SLOW_POLL_MS = 300_000;

/** Time from one poll to the next. While the tracker says by itself what changes, polls are few, but never more often than the settings say. */
function pollIntervalMs(state: State, env: Env): number {
  const { intervalMs } = env.settings.polling;
  const isTold = state.wokenAt !== null && env.now - state.wokenAt < WORD_TRUST_MS;
  return isTold ? Math.max(intervalMs, SLOW_POLL_MS) : intervalMs;
}

/** Starts a poll when one is due and none is on its way. A throttled tracker isn't read before its reset. */
export function pollIfDue(draft: Draft, env: Env): void {
  const { state } = draft;
  if (state.nextPollAt > env.now || state.polling !== null || state.pauses.has("tracker")) return;
  const poll = draft.nextNumber();
  const { batch, next } = sweepBatch(draft);
  draft.patch({
    polling: poll,
    pollAgain: false,
    sweep: next,
    polledAt: env.now,
    nextPollAt: env.now + pollIntervalMs(state, env),
  });
  draft.effect({
    kind: "poll",
    poll,
    states: env.settings.tracker.activeStates,
    ids: [...trackedClaims(draft), ...batch],
  });
}

/** A poll wanted before its time; several wishes while one is on its way make one more poll. */
export function pollSoon(draft: Draft, env: Env): void {
  if (draft.state.polling !== null) draft.patch({ pollAgain: true });
  else draft.patch({ nextPollAt: env.now });
}

/** The tracker says that something has changed: the same poll, now, or within five seconds where agents' own changes make many words. */
export function pollOnWord(draft: Draft, env: Env): void {
  const { nextPollAt, polledAt, wordsPaidAt } = draft.state;
  draft.patch({ wokenAt: env.now });
  const at = Math.max(env.now, polledAt + WORD_GATHER_MS, wordsPaidAt - WORD_CREDIT_MS);
  if (nextPollAt <= at) return;
  draft.patch({ nextPollAt: at, wordsPaidAt: Math.max(env.now, wordsPaidAt) + WORD_COST_MS });
}

function trackedClaims(draft: Draft): IssueId[] {
  const ids: IssueId[] = [];
  for (const [id, claim] of draft.state.claims) if (claim.kind !== "waiting" || claim.why !== "dispatch") ids.push(id);
  return ids;
}

/** Released tickets that turn terminal later are found by their workspaces, a batch at a time in rotation. */
function sweepBatch(draft: Draft): { batch: IssueId[]; next: number } {
  const { workspaces, claims, sweep } = draft.state;
  const idle = [...workspaces.keys()].filter((id) => !claims.has(id));
  const start = sweep < idle.length ? sweep : 0;
  return { batch: idle.slice(start, start + SWEEP_BATCH), next: start + SWEEP_BATCH };
}

/** A complete answer: reconcile what is claimed, then list who may start. */
export function onPolled(draft: Draft, env: Env, event: Extract<Event, { kind: "polled" }>): void {
  if (event.poll !== draft.state.polling) return;
  endPoll(draft, env);
  const sightings = new Map<IssueId, Issue>();
  for (const issue of event.candidates) sightings.set(issue.id, issue);
  for (const issue of event.tracked) sightings.set(issue.id, issue);
  for (const id of event.trackedIds) see(draft, env, id, sightings.get(id) ?? null);
  const eligible = event.candidates.filter(
    (issue) => !draft.state.claims.has(issue.id) && startGate(issue, env.settings) === null,
  );
  draft.patch({
    backlog: eligible.toSorted(compareIssues),
    candidates: event.candidates,
    tracker: {
      lastOkAt: env.now,
      lastError: null,
      failures: 0,
      seen: event.candidates.length,
      eligible: eligible.length,
    },
  });
}

/** A failed read changes no claim; the next one comes later and later, with jitter. */
export function onPollFailed(draft: Draft, env: Env, event: Extract<Event, { kind: "poll_failed" }>): void {
  if (event.poll !== draft.state.polling) return;
  endPoll(draft, env);
  const { code, message } = event.failure;
  const failures = draft.state.tracker.failures + 1;
  const delay = pollRetryDelayMs(failures, env.settings.polling.intervalMs, chance(env.seed, "poll"));
  draft.patch({
    // By the settings' interval, whatever slower one is in force: a word that led to this poll has not been followed.
    nextPollAt: Math.max(draft.state.polledAt + env.settings.polling.intervalMs, env.now + delay),
    tracker: { ...draft.state.tracker, failures, lastError: { code, message, at: env.now } },
  });
  if (code === "tracker_rate_limited") {
    pauseForThrottle(draft, env, event.failure);
    draft.patch({ nextPollAt: env.now });
  }
}

function endPoll(draft: Draft, env: Env): void {
  const { pollAgain, nextPollAt } = draft.state;
  draft.patch({ polling: null, pollAgain: false, nextPollAt: pollAgain ? env.now : nextPollAt });
}
