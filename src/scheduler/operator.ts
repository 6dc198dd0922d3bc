/** What a person may ask for, by claim kind (the operator row of the event table). */
import { assertNever } from "../domain/errors.ts";
import type { IssueId } from "../domain/ids.ts";
import type { InboxItem, OperatorMessage } from "../domain/inbox.ts";
import type { Draft } from "./draft.ts";
import type { OperatorCommand } from "./events.ts";
import { findAsked, judge } from "./operator-result.ts";
import { pauseUntilEvent, resume } from "./pauses.ts";
import { pollSoon } from "./polling.ts";
import type { Env } from "./state.ts";
import { block, freshIdle, release, stopRun, wait } from "./transitions.ts";

/** What is refused changes nothing: the person was told so, by the same judgement. */
export function onOperator(draft: Draft, env: Env, command: OperatorCommand): void {
  if (!judge(draft.state, command).accepted) return;
  switch (command.kind) {
    case "pause":
      return pauseUntilEvent(draft, env, "operator", "paused by an operator");
    case "resume":
      if (draft.state.mode === "draining") draft.patch({ mode: "running" });
      return resume(draft, env);
    case "drain":
      return draft.patch({ mode: "draining" });
    case "refresh":
      return pollSoon(draft, env);
    case "answer":
      return answerQuestion(draft, env, command);
    default:
      return onIssueCommand(draft, env, command);
  }
}

type IssueCommand = Extract<OperatorCommand, { issueId: IssueId }>;

function onIssueCommand(draft: Draft, env: Env, command: IssueCommand): void {
  const { issueId } = command;
  switch (command.kind) {
    case "stop":
      return stopIssue(draft, env, issueId);
    case "retry":
      return retryIssue(draft, env, issueId);
    case "release":
      return releaseIssue(draft, env, issueId, "operator_release");
    case "reset":
      return releaseIssue(draft, env, issueId, "operator_reset");
    case "steer":
      return steerIssue(draft, env, command);
    case "interrupt":
    case "compact":
      return controlRun(draft, command);
    default:
      return assertNever(command);
  }
}

/** End the run, and keep the ticket from coming back by itself. The newest wish of a person wins over whatever stops the run already. */
function stopIssue(draft: Draft, env: Env, id: IssueId): void {
  const claim = draft.state.claims.get(id);
  if (claim?.kind === "running") {
    if (claim.stopping?.why !== "operator_stop") stopRun(draft, env, claim, "operator_stop");
  } else if (claim?.kind === "waiting") {
    block(draft, env, claim, { why: "operator", message: "stopped by an operator" });
  }
}

/** Due now, attempt kept, no-progress count forgotten: a person has acted. */
function retryIssue(draft: Draft, env: Env, id: IssueId): void {
  const claim = draft.state.claims.get(id);
  if (claim === undefined) return pollSoon(draft, env);
  if (claim.kind !== "waiting" && claim.kind !== "blocked") return;
  if (claim.kind === "waiting" && claim.check !== null) return;
  wait(draft, claim, {
    why: "operator_retry",
    attempt: claim.attempt,
    dueAt: null,
    error: claim.kind === "waiting" ? claim.error : claim.message,
    idle: freshIdle(claim.issue),
  });
}

/** Forget the claim; the ticket is eligible again at the next tick. */
function releaseIssue(draft: Draft, env: Env, id: IssueId, why: "operator_release" | "operator_reset"): void {
  const claim = draft.state.claims.get(id);
  if (claim?.kind === "running") {
    const before = claim.stopping?.why;
    // A reset is a release, and more.
    if (before !== why && before !== "operator_reset") stopRun(draft, env, claim, why);
    return;
  }
  if (why === "operator_reset") draft.fact({ kind: "thread_unbound", issueId: id });
  if (claim !== undefined) release(draft, claim.issue, "operator");
}

/** Kept first, then said: the row goes when a turn has begun with the message, or has taken it. */
function steerIssue(draft: Draft, env: Env, { issueId, text }: Extract<OperatorCommand, { kind: "steer" }>): void {
  const claim = draft.state.claims.get(issueId);
  if (claim === undefined || claim.kind === "cleaning") return;
  const id = `m-${env.now.toString(36)}-${env.seed.toString(36)}`;
  const message: OperatorMessage = { kind: "message", id, text, at: env.now };
  const inbox: readonly InboxItem[] = [...claim.inbox, message];
  // A person has acted, so runs without progress are counted anew.
  draft.setClaim(
    issueId,
    claim.kind === "blocked" ? { ...claim, inbox } : { ...claim, inbox, idle: freshIdle(claim.issue) },
  );
  if (claim.kind === "running") draft.effect({ kind: "deliver", runId: claim.runId, message });
  draft.log("info", "operator's message", claim.issue, { message_id: id });
}

/** To the open request; when its run is over the thread goes on with the answer in hand. */
function answerQuestion(
  draft: Draft,
  env: Env,
  { questionId, answer }: Extract<OperatorCommand, { kind: "answer" }>,
): void {
  const claim = findAsked(draft.state, questionId);
  if (!claim?.question) return;
  const { issue } = claim;
  const { kind, subject, summary } = claim.question;
  const item: InboxItem = { kind: "answer", id: questionId, question: kind, subject, summary, answer, at: env.now };
  const answered = { ...claim, inbox: [...claim.inbox, item] };
  draft.log("info", "operator's answer", issue, { question_id: questionId, accept: answer.accept });
  if (answered.kind === "running") {
    draft.setClaim(issue.id, answered);
    draft.effect({ kind: "answer_question", runId: answered.runId, questionId, answer });
    return;
  }
  wait(draft, answered, {
    why: "answered",
    attempt: answered.attempt,
    dueAt: null,
    error: null,
    idle: freshIdle(issue),
  });
}

function controlRun(
  draft: Draft,
  { kind, issueId }: Extract<OperatorCommand, { kind: "interrupt" | "compact" }>,
): void {
  const claim = draft.state.claims.get(issueId);
  if (claim?.kind !== "running") return;
  draft.effect({ kind: kind === "interrupt" ? "interrupt_turn" : "compact_thread", runId: claim.runId });
  draft.log("info", "operator's wish", claim.issue, { run_id: claim.runId, wish: kind });
}
