/** From a reason or a thrown error to the outcome that a run records. */
import type { StopReason } from "../domain/claim.ts";
import { assertNever, errorMessage, isAppError } from "../domain/errors.ts";
import { failed, type RunOutcome } from "../domain/outcome.ts";
import { SessionStartError, type TurnEnd } from "./port.ts";

/** How a run that was stopped for this reason is recorded. */
export function outcomeOfStop(why: StopReason): RunOutcome {
  switch (why) {
    case "terminal":
      return { kind: "cancelled", by: "tracker", message: "the issue reached a terminal state" };
    case "unroutable":
      return { kind: "cancelled", by: "tracker", message: "the issue is no longer active or routable" };
    case "stalled":
      return { kind: "stalled", message: "no sign of life from the agent" };
    case "turn_timeout":
      return { kind: "timed_out", message: "no output within the turn timeout" };
    case "operator_stop":
    case "operator_release":
    case "operator_reset":
      return { kind: "cancelled", by: "operator", message: "stopped by an operator" };
    case "budget":
      return failed("budget", "a budget was spent", { retryable: false });
    case "day_budget":
      return failed("budget", "the day's budget was spent");
    case "shutdown":
      return { kind: "cancelled", by: "shutdown", message: "the daemon was stopped" };
    default:
      return assertNever(why);
  }
}

/** Expected failures carry a code; anything else is a fault of ours, and retried as such. */
export function outcomeOfError(error: unknown): RunOutcome {
  if (error instanceof SessionStartError) return error.failure;
  const message = errorMessage(error);
  if (!isAppError(error)) return failed("internal", message);
  if (error.code === "template_render_error" || error.code === "template_parse_error") {
    return failed("template", message);
  }
  if (error.code === "hook_failed" || error.code === "hook_timeout") return failed("hook", message);
  // Nothing but a person's hand frees a key: trying again and again would only hide what is wrong.
  if (error.code === "workspace_key_taken") return failed("workspace", message, { retryable: false });
  if (error.code.startsWith("workspace_") || error.code === "invalid_workspace_cwd") {
    return failed("workspace", message);
  }
  if (error.code === "ledger_unusable") return failed("ledger", message);
  return failed("internal", message);
}

/** What a turn's end decides; null: nothing yet, the run goes on. `finishing`: the run was asked to end with this turn. */
export function outcomeOfTurn(end: TurnEnd, finishing: StopReason | null): RunOutcome | null {
  switch (end.kind) {
    case "completed":
      // The agent moved its ticket to the end and its turn completed: that is success, not a cancellation. A shutdown looks at the
      // ticket once more, since the turn may have been the one that ended it.
      return finishing === "terminal" ? { kind: "succeeded" } : null;
    case "interrupted":
      return failed("agent", "the turn was interrupted");
    case "failed":
      return { ...end, kind: "failed" };
    case "needs_input":
      return { kind: "needs_input", question: end.question };
    default:
      return assertNever(end);
  }
}
