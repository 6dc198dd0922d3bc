/** What becomes of a claim when its run has ended: by the stop that was asked for, else by the outcome's class (the failure table). */
import type { IdleCount, RunningClaim } from "../domain/claim.ts";
import { assertNever } from "../domain/errors.ts";
import { normalizeState, type Issue } from "../domain/issue.ts";
import type { Question, RunOutcome, RunResult } from "../domain/outcome.ts";
import { CONTINUATION_DELAY_MS, FIRST_RETRY_MS, chance, retryDelayMs } from "./backoff.ts";
import type { Draft } from "./draft.ts";
import { continueGate } from "./eligibility.ts";
import { pauseForAuth, pauseForUsageLimit } from "./pauses.ts";
import type { Env } from "./state.ts";
import { block, release, settleOperatorsStop, settleUnroutable, wait } from "./transitions.ts";

type Failed = Extract<RunOutcome, { kind: "failed" }>;

/** running -> waiting, blocked, cleaning or none. */
export function onRunEnded(draft: Draft, env: Env, claim: RunningClaim, ended: RunResult): void {
  const result = withNumbers(claim, ended);
  draft.fact({ kind: "run_ended", runId: claim.runId, result, at: env.now });
  // The claim's sight is the newest: the run reports each of its own, and polls may have come since.
  const { issue } = claim;
  const last: RunningClaim = { ...claim, threadId: result.threadId ?? claim.threadId };
  logEnd(draft, last, result);
  if (last.stopping !== null && last.stopping.why !== "operator_stop" && settleOperatorsStop(draft, env, last)) return;
  if (result.issue === null) return release(draft, issue, "no longer visible");
  const gate = continueGate(issue, env.settings);
  if (gate !== null) return settleUnroutable(draft, env, issue, gate);
  if (last.stopping !== null && settleStopped(draft, env, last)) return;
  settleOutcome(draft, env, last, result);
}

/** A run that a budget has ended says so with the numbers, which the runner doesn't know. */
function withNumbers({ stopping }: RunningClaim, result: RunResult): RunResult {
  const { outcome } = result;
  const detail = stopping?.detail ?? null;
  if (detail === null || outcome.kind !== "failed" || outcome.class !== "budget") return result;
  return { ...result, outcome: { ...outcome, message: detail } };
}

function logEnd(draft: Draft, claim: RunningClaim, result: RunResult): void {
  const { outcome } = result;
  const fields = { run_id: claim.runId, outcome: outcome.kind, turns: result.turns };
  if (outcome.kind === "succeeded") draft.log("info", "run completed", claim.issue, fields);
  else if (outcome.kind === "cancelled") draft.log("info", "run cancelled", claim.issue, { ...fields, by: outcome.by });
  else if (outcome.kind === "needs_input") draft.log("warn", "run needs input", claim.issue, fields);
  else draft.log("warn", "run failed", claim.issue, { ...fields, error: outcome.message });
}

/** True when the reason for the stop has settled the claim; false where the outcome itself says what is next. */
function settleStopped(draft: Draft, env: Env, claim: RunningClaim): boolean {
  switch (claim.stopping?.why) {
    case "budget":
      block(draft, env, claim, {
        why: "budget",
        message: claim.stopping.detail ?? "a budget was spent",
        class: "budget",
      });
      return true;
    case "day_budget":
      wait(draft, claim, {
        why: "day_budget",
        attempt: claim.attempt,
        dueAt: null,
        error: claim.stopping.detail,
      });
      return true;
    case "shutdown":
      // A shutdown costs no attempt: the run is taken up again where it was.
      wait(draft, claim, { why: "shutdown", attempt: claim.attempt, dueAt: null, error: null });
      return true;
    case "stalled":
      retry(draft, env, claim, { why: "stalled", error: "stalled: no sign of life from the agent" });
      return true;
    case "turn_timeout":
      retry(draft, env, claim, { why: "timed_out", error: "turn timed out without output" });
      return true;
    default:
      return settleOperatorsStop(draft, env, claim);
  }
}

function settleOutcome(draft: Draft, env: Env, claim: RunningClaim, result: RunResult): void {
  const { outcome } = result;
  switch (outcome.kind) {
    case "succeeded":
      return settleWholeRun(draft, env, claim, result);
    case "failed":
      return settleFailure(draft, env, claim, outcome);
    case "timed_out":
      return retry(draft, env, claim, { why: "timed_out", error: outcome.message });
    case "stalled":
      return retry(draft, env, claim, { why: "stalled", error: outcome.message });
    case "needs_input":
      return settleQuestion(draft, env, claim, outcome.question);
    case "cancelled":
      // The ticket left and came back while its run was being stopped: take it up again, at no cost.
      return wait(draft, claim, { why: "recovered", attempt: claim.attempt, dueAt: null, error: null });
    default:
      return assertNever(outcome);
  }
}

/** Nobody answered in time, or just now: then the thread goes on with the answer. */
function settleQuestion(draft: Draft, env: Env, claim: RunningClaim, question: Question): void {
  if (claim.inbox.some(({ id }) => id === question.id)) {
    return wait(draft, claim, { why: "answered", attempt: claim.attempt, dueAt: null, error: null });
  }
  const { deadlineAt, askedAt, summary } = question;
  const isLate = deadlineAt !== null && deadlineAt <= env.now;
  const minutes = isLate ? Math.max(1, Math.round((deadlineAt - askedAt) / 60_000)) : 0;
  block(draft, env, withoutGrants(claim), {
    why: "needs_input",
    message: isLate ? `nobody answered within ${minutes} min: ${summary}` : summary,
    question,
  });
}

/** The agent had its chance: a yes that lay about would one day allow what nobody has in mind any more. */
function withoutGrants(claim: RunningClaim): RunningClaim {
  return { ...claim, inbox: claim.inbox.filter((item) => item.kind === "message") };
}

/** Turns used up with the ticket still active: a continuation after a second, unless whole runs have stopped changing anything. */
function settleWholeRun(draft: Draft, env: Env, ended: RunningClaim, result: RunResult): void {
  const claim = withoutGrants(ended);
  const idle = countIdle(claim.idle, claim.issue, result);
  const limit = env.settings.agent.maxIdleRuns;
  // What a person said since may be just what is missing.
  if (claim.inbox.length === 0 && limit > 0 && idle.runs >= limit) {
    return block(draft, env, claim, {
      why: "no_progress",
      message: `${idle.runs} whole runs in a row changed neither the ticket's state, nor HEAD, nor the diff (agent.max_idle_runs: ${limit})`,
    });
  }
  wait(draft, claim, {
    why: "continuation",
    attempt: 1,
    dueAt: env.now + CONTINUATION_DELAY_MS,
    error: null,
    idle,
  });
}

function countIdle(before: IdleCount, issue: Issue, result: RunResult): IdleCount {
  const state = normalizeState(issue.state);
  const progress = result.changed === true || state !== before.state;
  return { runs: progress ? 0 : before.runs + 1, state };
}

function settleFailure(draft: Draft, env: Env, claim: RunningClaim, outcome: Failed): void {
  const { message } = outcome;
  const issueId = claim.issue.id;
  switch (outcome.class) {
    case "usage_limit":
      pauseForUsageLimit(draft, env, { issueId, resetsAt: outcome.resetsAt, message });
      return wait(draft, claim, { why: "usage_limit", attempt: claim.attempt, dueAt: null, error: message });
    case "auth":
      pauseForAuth(draft, env, { issueId, message });
      return wait(draft, claim, { why: "auth", attempt: claim.attempt, dueAt: null, error: message });
    case "budget":
      return block(draft, env, claim, { why: "budget", message, class: "budget" });
    case "ledger":
      // Neither the agent's nor the ticket's fault, so no attempt; not at once, should one row alone be refused again and again.
      return wait(draft, claim, {
        why: "failure",
        attempt: claim.attempt,
        dueAt: env.now + FIRST_RETRY_MS,
        error: message,
      });
    default:
  }
  if (!outcome.retryable) {
    return block(draft, env, claim, { why: "not_retryable", message, class: outcome.class });
  }
  retry(draft, env, claim, { why: "failure", error: message, freshThread: outcome.freshThread });
}

interface RetrySpec {
  readonly why: "failure" | "stalled" | "timed_out";
  readonly error: string;
  readonly freshThread?: boolean;
}

function retry(draft: Draft, env: Env, claim: RunningClaim, spec: RetrySpec): void {
  const attempt = (claim.attempt ?? 0) + 1;
  const delay = retryDelayMs(attempt, env.settings.agent.maxRetryBackoffMs, chance(env.seed, claim.issue.id));
  wait(draft, claim, {
    why: spec.why,
    attempt,
    dueAt: env.now + delay,
    error: spec.error,
    ...(spec.freshThread === true ? { threadId: null } : {}),
  });
  draft.log("info", "retrying", claim.issue, { attempt, delay_ms: delay, why: spec.why });
}
