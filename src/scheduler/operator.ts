/** What a person may ask for, by claim kind (the operator row of the event table). */
import { assertNever } from "../domain/errors.ts";
import type { IssueId } from "../domain/ids.ts";
import type { Draft } from "./draft.ts";
import type { OperatorCommand } from "./events.ts";
import { pauseUntilEvent, resume } from "./pauses.ts";
import { pollSoon } from "./polling.ts";
import type { Env } from "./state.ts";
import { block, freshIdle, release, stopRun, wait } from "./transitions.ts";

export function onOperator(draft: Draft, env: Env, command: OperatorCommand): void {
  switch (command.kind) {
    case "pause":
      return pauseUntilEvent(draft, env, "operator", "paused by an operator");
    case "resume":
      return resume(draft, env);
    case "refresh":
      return pollSoon(draft, env);
    case "stop":
      return stopIssue(draft, env, command.issueId);
    case "retry":
      return retryIssue(draft, env, command.issueId);
    case "release":
      return releaseIssue(draft, env, command.issueId);
    case "reset":
      draft.effect({ kind: "unbind_thread", issueId: command.issueId });
      return releaseIssue(draft, env, command.issueId);
    default:
      return assertNever(command);
  }
}

/** End the run, and keep the ticket from coming back by itself. */
function stopIssue(draft: Draft, env: Env, id: IssueId): void {
  const claim = draft.state.claims.get(id);
  if (claim?.kind === "running") {
    if (claim.stopping === null || claim.stopping.why === "terminal") stopRun(draft, env, claim, "operator_stop");
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
function releaseIssue(draft: Draft, env: Env, id: IssueId): void {
  const claim = draft.state.claims.get(id);
  if (claim === undefined || claim.kind === "cleaning") return;
  if (claim.kind !== "running") return release(draft, claim.issue, "operator");
  if (claim.stopping?.why !== "operator_release") stopRun(draft, env, claim, "operator_release");
}
