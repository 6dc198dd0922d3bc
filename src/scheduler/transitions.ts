/** The ways from one claim to the next. Every exit of a run goes through one of these, so that it ends in exactly one claim or none. */
import type {
  BlockReason,
  Claim,
  IdleCount,
  RunningClaim,
  StopReason,
  WaitingClaim,
  WaitReason,
} from "../domain/claim.ts";
import { runId } from "../domain/ids.ts";
import type { InboxItem } from "../domain/inbox.ts";
import { normalizeState, type Issue } from "../domain/issue.ts";
import type { FailureClass, Question } from "../domain/outcome.ts";
import type { Draft } from "./draft.ts";
import { isTerminal } from "./eligibility.ts";
import type { Env } from "./state.ts";

/** The count of an issue that has not run yet. */
export function freshIdle(issue: Issue): IdleCount {
  return { runs: 0, state: normalizeState(issue.state) };
}

/** The claim's no-progress count; blocked and cleaning claims start anew. */
function idleOf(claim: Claim): IdleCount {
  return claim.kind === "running" || claim.kind === "waiting" ? claim.idle : freshIdle(claim.issue);
}

/** What a person said stays with the ticket from claim to claim. */
function inboxOf(claim: Claim): readonly InboxItem[] {
  return claim.kind === "cleaning" ? [] : claim.inbox;
}

function threadOf(claim: Claim): string | null {
  return claim.kind === "cleaning" ? null : claim.threadId;
}

/** What a new waiting claim says; what it doesn't say comes from the claim before. */
export interface WaitSpec {
  readonly why: WaitReason;
  readonly attempt: number | null;
  readonly dueAt: number | null;
  readonly error: string | null;
  readonly threadId?: string | null;
  readonly idle?: IdleCount;
}

/** running, blocked -> waiting. */
export function wait(draft: Draft, claim: Claim, spec: WaitSpec): void {
  const waiting: WaitingClaim = {
    kind: "waiting",
    attempt: spec.attempt,
    issue: claim.issue,
    dueAt: spec.dueAt,
    why: spec.why,
    error: spec.error,
    threadId: spec.threadId === undefined ? threadOf(claim) : spec.threadId,
    check: null,
    idle: spec.idle ?? idleOf(claim),
    inbox: inboxOf(claim),
  };
  draft.setClaim(claim.issue.id, waiting);
}

/** Why a claim needs a person. */
export interface BlockSpec {
  readonly why: BlockReason;
  readonly message: string;
  readonly class?: FailureClass;
  readonly question?: Question;
}

/** running, waiting -> blocked. */
export function block(draft: Draft, env: Env, claim: RunningClaim | WaitingClaim, spec: BlockSpec): void {
  draft.setClaim(claim.issue.id, {
    kind: "blocked",
    why: spec.why,
    message: spec.message,
    class: spec.class ?? null,
    since: env.now,
    attempt: claim.attempt,
    issue: claim.issue,
    question: spec.question ?? null,
    threadId: claim.threadId,
    inbox: claim.inbox,
  });
  draft.log("warn", "issue blocked", claim.issue, { why: spec.why, reason: spec.message });
}

/** any -> none. The workspace stays known, so that it is still cleaned when the ticket turns terminal later. */
export function release(draft: Draft, issue: Issue, reason: string): void {
  noteUndelivered(draft, issue);
  draft.dropClaim(issue.id);
  draft.log("info", "claim released", issue, { reason });
}

/** What a person said goes with the claim. */
function noteUndelivered(draft: Draft, issue: Issue): void {
  const claim = draft.state.claims.get(issue.id);
  const count = claim === undefined ? 0 : inboxOf(claim).length;
  if (count > 0) draft.log("warn", "what a person said was not delivered", issue, { count });
}

/** Where a run ends up that a person has stopped. False: it was no person. */
export function settleOperatorsStop(draft: Draft, env: Env, claim: RunningClaim): boolean {
  switch (claim.stopping?.why) {
    case "operator_stop":
      block(draft, env, claim, { why: "operator", message: "stopped by an operator" });
      return true;
    case "operator_reset":
      draft.fact({ kind: "thread_unbound", issueId: claim.issue.id });
      release(draft, claim.issue, "operator");
      return true;
    case "operator_release":
      release(draft, claim.issue, "operator");
      return true;
    default:
      return false;
  }
}

/** A terminal issue: -> cleaning when a workspace of ours is known, else none. */
export function cleanOrRelease(draft: Draft, env: Env, issue: Issue): void {
  const record = draft.state.workspaces.get(issue.id);
  if (record === undefined) {
    if (draft.state.claims.has(issue.id)) release(draft, issue, "terminal");
    return;
  }
  noteUndelivered(draft, issue);
  draft.setClaim(issue.id, { kind: "cleaning", path: record.path, issue, since: env.now });
  draft.effect({ kind: "clean", record, issue });
  draft.log("info", "cleaning workspace", issue, { path: record.path, state: issue.state });
}

/** An issue that may not go on: terminal ones are cleaned, others released with their workspace kept. */
export function settleUnroutable(draft: Draft, env: Env, issue: Issue, reason: string): void {
  if (isTerminal(issue, env.settings)) cleanOrRelease(draft, env, issue);
  else release(draft, issue, reason);
}

/** waiting -> running. The run row is committed before the effect spawns anything. */
export function startRun(draft: Draft, env: Env, claim: WaitingClaim, issue: Issue): void {
  const id = runId(`${env.now.toString(36)}-${env.seed.toString(36)}-${draft.nextNumber().toString(36)}`);
  const threadId = env.settings.agent.resume ? claim.threadId : null;
  draft.setClaim(issue.id, {
    kind: "running",
    runId: id,
    attempt: claim.attempt,
    issue,
    phase: "preparing",
    host: "local",
    threadId,
    startedAt: env.now,
    lastEventAt: env.now,
    open: 0,
    turn: 0,
    question: null,
    stopping: null,
    idle: claim.idle,
    inbox: claim.inbox,
  });
  draft.fact({ kind: "run_started", runId: id, issue, attempt: claim.attempt, threadId, at: env.now });
  draft.effect({
    kind: "start_run",
    runId: id,
    issue,
    attempt: claim.attempt,
    threadId,
    workspace: draft.state.workspaces.get(issue.id) ?? null,
    why: claim.why,
    error: claim.error,
    inbox: claim.inbox,
  });
  draft.log("info", "run started", issue, { run_id: id, attempt: claim.attempt, why: claim.why });
}

/** A budget's stop carries the numbers. */
export type StopWish =
  StopReason | { readonly why: Extract<StopReason, "budget" | "day_budget">; readonly detail: string };

/** What a person has asked for holds over a crash; every other stop would come again by itself. */
function isOperators(why: StopReason): boolean {
  return why === "operator_stop" || why === "operator_release" || why === "operator_reset";
}

/** How a stop begins: the agent is interrupted at once, or after a grace in which its turn may end by itself. */
export function stopRun(draft: Draft, env: Env, claim: RunningClaim, wish: StopWish): void {
  const { why, detail } = typeof wish === "string" ? { why: wish, detail: null } : wish;
  const graceMs = graceOf(why, env);
  const interruptAt = graceMs > 0 ? env.now + graceMs : null;
  draft.setClaim(
    claim.issue.id,
    { ...claim, phase: "stopping", stopping: { why, since: env.now, interruptAt, detail } },
    { memoryOnly: !isOperators(why) },
  );
  draft.effect(
    interruptAt === null
      ? { kind: "stop_run", runId: claim.runId, why }
      : { kind: "finish_run", runId: claim.runId, why },
  );
  draft.log("info", "stopping run", claim.issue, { run_id: claim.runId, why });
}

/** How long a turn may go on until it ends by itself, in milliseconds; 0 = it is interrupted at once. */
function graceOf(why: StopReason, env: Env): number {
  if (why === "terminal") return env.settings.agent.finishGraceMs;
  return why === "shutdown" ? env.settings.shutdown.drainMs : 0;
}
