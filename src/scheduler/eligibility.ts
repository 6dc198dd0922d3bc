/** Which issues may start, go on, or must be cleaned: one rule for dispatch, retry, reconciliation and the pause between turns. */
import { normalizeState, type Issue } from "../domain/issue.ts";
import type { Settings } from "../domain/settings.ts";

/** Names of the gates that an issue itself can fail; caps, claims and pauses are not the issue's. */
export type IssueGate =
  "required_fields" | "active_state" | "not_terminal" | "dispatchable" | "required_labels" | "excluded_labels";

/** One gate: whether an issue passes it. `starting`: it would be started, not gone on with. */
type IssueRule = (issue: Issue, settings: Settings, starting: boolean) => boolean;

function hasState(names: readonly string[], state: string): boolean {
  const wanted = normalizeState(state);
  return names.some((name) => normalizeState(name) === wanted);
}

/** The issue's state is one of `tracker.terminal_states`. */
export function isTerminal(issue: Issue, settings: Settings): boolean {
  return hasState(settings.tracker.terminalStates, issue.state);
}

/** The four strings without which an issue can't be worked on, and which of them are blank. */
export function blankFields(issue: Issue): readonly string[] {
  const fields = { id: issue.id, identifier: issue.identifier, title: issue.title, state: issue.state };
  return Object.entries(fields).flatMap(([name, value]) => (value.trim() === "" ? [name] : []));
}

/** Blockers that have not ended, or whose state is not known. */
export function openBlockers(issue: Issue, settings: Settings): Issue["blocked_by"] {
  return issue.blocked_by.filter(
    (blocker) => blocker.state === null || !hasState(settings.tracker.terminalStates, blocker.state),
  );
}

/**
 * A first claim from the to-do state waits for its blockers; work that is already going on isn't stopped by a new one. The adapter
 * folds that gate into `dispatchable`, so it is told apart here (state named `todo`, any case, with a blocker that isn't terminal).
 */
export function waitsForBlocker(issue: Issue, settings: Settings): boolean {
  return normalizeState(issue.state) === "todo" && openBlockers(issue, settings).length > 0;
}

/** In the order in which they are named to people. */
const RULES: { readonly [gate in IssueGate]: IssueRule } = {
  required_fields: (issue) => blankFields(issue).length === 0,
  active_state: (issue, { tracker }) => hasState(tracker.activeStates, issue.state),
  not_terminal: (issue, settings) => !isTerminal(issue, settings),
  dispatchable: (issue, settings, starting) => issue.dispatchable || (!starting && waitsForBlocker(issue, settings)),
  // A blank required label is on no issue, so it lets nothing through (specification, tracker.required_labels).
  required_labels: (issue, { tracker }) =>
    tracker.requiredLabels.every((label) => label !== "" && issue.labels.includes(label)),
  excluded_labels: (issue, { tracker }) => !tracker.excludedLabels.some((label) => issue.labels.includes(label)),
};

/** All gates of an issue, in order. */
export const ISSUE_GATES = Object.keys(RULES) as readonly IssueGate[];

/** Whether an issue that isn't being worked on passes one gate. */
export function passesGate(gate: IssueGate, issue: Issue, settings: Settings): boolean {
  return RULES[gate](issue, settings, true);
}

/** The first gate that keeps this issue from being started, or null. */
export function startGate(issue: Issue, settings: Settings): IssueGate | null {
  return ISSUE_GATES.find((gate) => !RULES[gate](issue, settings, true)) ?? null;
}

/** The first gate that ends a run which is going on, or null: as {@link startGate}, but a blocker that appeared later doesn't count. */
export function continueGate(issue: Issue, settings: Settings): IssueGate | null {
  return ISSUE_GATES.find((gate) => !RULES[gate](issue, settings, false)) ?? null;
}
