/** Which issues may start, go on, or must be cleaned: one rule for dispatch, retry, reconciliation and the pause between turns. */
import { normalizeState, type Issue } from "../domain/issue.ts";
import type { Settings } from "../domain/settings.ts";

/** Names of the gates that an issue itself can fail; caps, claims and pauses are not the issue's. */
export type IssueGate =
  "required_fields" | "active_state" | "not_terminal" | "dispatchable" | "required_labels" | "excluded_labels";

function hasState(names: readonly string[], state: string): boolean {
  const wanted = normalizeState(state);
  return names.some((name) => normalizeState(name) === wanted);
}

/** The issue's state is one of `tracker.terminal_states`. */
export function isTerminal(issue: Issue, settings: Settings): boolean {
  return hasState(settings.tracker.terminalStates, issue.state);
}

/**
 * A first claim from the to-do state waits for its blockers; work that is already going on isn't stopped by a new one. The adapter
 * folds that gate into `dispatchable`, so it is told apart here (state named `todo`, any case, with a blocker that isn't terminal).
 */
function waitsForBlocker(issue: Issue, settings: Settings): boolean {
  return (
    normalizeState(issue.state) === "todo" &&
    issue.blocked_by.some(
      (blocker) => blocker.state === null || !hasState(settings.tracker.terminalStates, blocker.state),
    )
  );
}

function failedGate(issue: Issue, settings: Settings, gateBlockers: boolean): IssueGate | null {
  const { tracker } = settings;
  if ([issue.id, issue.identifier, issue.title, issue.state].some((field) => field.trim() === "")) {
    return "required_fields";
  }
  if (!hasState(tracker.activeStates, issue.state)) return "active_state";
  if (isTerminal(issue, settings)) return "not_terminal";
  if (!issue.dispatchable && (gateBlockers || !waitsForBlocker(issue, settings))) return "dispatchable";
  // A blank required label is on no issue, so it lets nothing through (specification, tracker.required_labels).
  if (!tracker.requiredLabels.every((label) => label !== "" && issue.labels.includes(label))) return "required_labels";
  if (tracker.excludedLabels.some((label) => issue.labels.includes(label))) return "excluded_labels";
  return null;
}

/** The first gate that keeps this issue from being started, or null. */
export function startGate(issue: Issue, settings: Settings): IssueGate | null {
  return failedGate(issue, settings, true);
}

/** The first gate that ends a run which is going on, or null: as {@link startGate}, but a blocker that appeared later doesn't count. */
export function continueGate(issue: Issue, settings: Settings): IssueGate | null {
  return failedGate(issue, settings, false);
}
