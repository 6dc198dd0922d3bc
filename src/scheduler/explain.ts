/** Why a ticket runs or doesn't: every gate that a start passes, with what was looked at. Pure, and asks the very gates that dispatch asks. */
import { PAUSE_KINDS, type Claim, type PauseKind } from "../domain/claim.ts";
import { assertNever } from "../domain/errors.ts";
import type { Issue } from "../domain/issue.ts";
import type { Settings } from "../domain/settings.ts";
import { listContenders } from "./dispatch.ts";
import { blankFields, ISSUE_GATES, openBlockers, passesGate, waitsForBlocker, type IssueGate } from "./eligibility.ts";
import { compareIssues } from "./order.ts";
import { holds } from "./pauses.ts";
import { holdsSlot, Slots } from "./slots.ts";
import { isMeant, type State } from "./state.ts";

/** What stands between a ticket and its start. */
export type Gate =
  IssueGate | "tracker" | "listed" | "claim" | "mode" | "agent" | "only" | `pause_${PauseKind}` | "slot" | "state_slot";

/** One gate and how the ticket fares at it. */
export interface GateReport {
  readonly gate: Gate;
  readonly pass: boolean;
  /** What was looked at, in words; may hold text of the ticket. */
  readonly value: string;
  /** What would open it; null where it is open. */
  readonly mend: string | null;
}

/** `ready`: every gate is open, and it starts with the next free moment. `held`: one of them is closed. */
export type Verdict = "running" | "waiting" | "blocked" | "cleaning" | "ready" | "held";

export interface Explanation {
  readonly verdict: Verdict;
  /** In the order in which a start meets them. */
  readonly gates: readonly GateReport[];
}

/** What an explanation is made from. */
export interface Explained {
  readonly state: State;
  readonly settings: Settings;
  /** Epoch ms. */
  readonly now: number;
  readonly issue: Issue;
  /** Why nothing can be kept just now, so that nothing is decided; null or not given where all is well. */
  readonly ledgerError?: { readonly message: string } | null;
}

/** Every gate, open or not. */
export function explain(asked: Explained): Explanation {
  const claim = asked.state.claims.get(asked.issue.id);
  const gates = [
    trackerGate(asked),
    listedGate(asked, claim),
    ...ISSUE_GATES.map((gate) => issueGate(gate, asked)),
    claimGate(asked, claim),
    modeGate(asked),
    agentGate(asked),
    ...onlyGate(asked),
    ...PAUSE_KINDS.map((kind) => pauseGate(kind, asked)),
    ...slotGates(asked, claim),
  ];
  return { verdict: verdictOf(claim, gates), gates };
}

function verdictOf(claim: Claim | undefined, gates: readonly GateReport[]): Verdict {
  if (claim !== undefined && (claim.kind !== "waiting" || claim.why !== "dispatch")) return claim.kind;
  return gates.every((gate) => gate.pass) ? "ready" : "held";
}

function report(gate: Gate, pass: boolean, value: string, mend: string): GateReport {
  return { gate, pass, value, mend: pass ? null : mend };
}

function iso(at: number): string {
  return new Date(at).toISOString();
}

function trackerGate({ state }: Explained): GateReport {
  const { lastOkAt, lastError } = state.tracker;
  if (lastError !== null) {
    const value = `the last read failed at ${iso(lastError.at)}: ${lastError.message}`;
    return report("tracker", false, value, "mend what the message names; the tracker is asked again by itself");
  }
  const value = lastOkAt === null ? "not read yet" : `read at ${iso(lastOkAt)}`;
  return report("tracker", lastOkAt !== null, value, "wait for the first poll");
}

/** A ticket that is claimed was listed once, and is looked at by its id from then on. */
function listedGate({ state, issue, settings }: Explained, claim: Claim | undefined): GateReport {
  const isListed = state.candidates.some((candidate) => candidate.id === issue.id);
  if (isListed || claim !== undefined) {
    return report("listed", true, isListed ? "among the candidates of the last poll" : "known by its claim", "");
  }
  const value = `not among the ${state.candidates.length} candidates of the last poll`;
  const states = settings.tracker.activeStates.join(", ");
  return report("listed", false, value, `see that it is in the tracker's scope, and in one of: ${states}`);
}

function issueGate(gate: IssueGate, { issue, settings }: Explained): GateReport {
  const { value, mend } = issueWords(gate, issue, settings);
  return report(gate, passesGate(gate, issue, settings), value, mend);
}

/** What an issue's gate looks at, and how it is opened. */
function issueWords(gate: IssueGate, issue: Issue, settings: Settings): { value: string; mend: string } {
  const { tracker } = settings;
  switch (gate) {
    case "required_fields": {
      const blank = blankFields(issue);
      return { value: blank.length === 0 ? "all there" : `blank: ${blank.join(", ")}`, mend: "fill them in" };
    }
    case "active_state":
      return {
        value: `state ${issue.state}`,
        mend: `move it to one of tracker.active_states: ${tracker.activeStates.join(", ")}`,
      };
    case "not_terminal":
      return {
        value: `state ${issue.state}`,
        mend: `move it out of tracker.terminal_states: ${tracker.terminalStates.join(", ")}`,
      };
    case "dispatchable":
      return dispatchableWords(issue, settings);
    case "required_labels":
      return {
        value: `has ${list(issue.labels)}; required: ${list(tracker.requiredLabels)}`,
        mend: "give it the labels of tracker.required_labels",
      };
    case "excluded_labels":
      return {
        value: `has ${list(issue.labels)}; excluded: ${list(tracker.excludedLabels)}`,
        mend: "take the labels of tracker.excluded_labels off it",
      };
    default:
      return assertNever(gate);
  }
}

function dispatchableWords(issue: Issue, settings: Settings): { value: string; mend: string } {
  if (issue.dispatchable) return { value: "nothing in the tracker forbids it", mend: "" };
  if (waitsForBlocker(issue, settings)) {
    const names = openBlockers(issue, settings).map(
      ({ identifier, id, state }) => `${identifier ?? id ?? "unnamed"} (${state ?? "state not known"})`,
    );
    return { value: `blocked by ${names.join(", ")}`, mend: "end the blockers, or remove the relation" };
  }
  return {
    value: `the tracker's own rules forbid it; assignee ${issue.assignee_id ?? "none"}`,
    mend: "assign it as tracker.provider.assignee wants",
  };
}

function list(labels: readonly string[]): string {
  return labels.length === 0 ? "none" : labels.map((label) => (label === "" ? "(a blank one)" : label)).join(", ");
}

function claimGate({ now }: Explained, claim: Claim | undefined): GateReport {
  if (claim === undefined) return report("claim", true, "not claimed", "");
  switch (claim.kind) {
    case "running": {
      const stopping = claim.stopping === null ? "" : `, stopping: ${claim.stopping.why}`;
      return report("claim", true, `runs since ${iso(claim.startedAt)}, turn ${claim.turn}${stopping}`, "");
    }
    case "waiting": {
      const after = claim.error === null ? "" : `: ${claim.error}`;
      if (claim.dueAt === null || claim.dueAt <= now) return report("claim", true, `due (${claim.why})${after}`, "");
      const value = `waits until ${iso(claim.dueAt)} (${claim.why})${after}`;
      return report("claim", false, value, "wait, or: symphony retry ISSUE");
    }
    case "blocked": {
      const mend = claim.question === null ? "symphony retry ISSUE" : "symphony answer ISSUE";
      const value = `blocked since ${iso(claim.since)} (${claim.why}): ${claim.message}`;
      return report("claim", false, value, `${mend}, or change its state or labels`);
    }
    case "cleaning":
      return report("claim", false, `its workspace ${claim.path} is being removed`, "wait until it is gone");
    default:
      return assertNever(claim);
  }
}

function modeGate({ state: { mode } }: Explained): GateReport {
  const mend = mode === "draining" ? "symphony resume, or start the daemon again" : "start the daemon again";
  return report("mode", mode === "running", `the daemon is ${mode}`, mend);
}

function agentGate({ state: { awaitsAgent } }: Explained): GateReport {
  const value = awaitsAgent ? "is being looked at for the first time" : "was looked at, or didn't have to be";
  return report("agent", !awaitsAgent, value, "wait a moment; `symphony status` says what was found");
}

/** Only where the daemon was started for one ticket. */
function onlyGate({ state, issue }: Explained): readonly GateReport[] {
  if (state.only === null) return [];
  const value = `the daemon was started for ${state.only} alone`;
  return [report("only", isMeant(state, issue), value, "start a daemon for all tickets: symphony WORKFLOW.md")];
}

function pauseGate(kind: PauseKind, { state, now, issue, ledgerError = null }: Explained): GateReport {
  const pause = state.pauses.get(kind);
  const gate: Gate = `pause_${kind}`;
  // Even this pause is a decision that would have to be kept.
  if (kind === "ledger" && ledgerError !== null) return report(gate, false, ledgerError.message, pauseMend(kind));
  if (pause === undefined) return report(gate, true, "none", "");
  const pass = !holds(pause, now) || pause.probe === issue.id;
  const until = pause.until === null ? "" : ` until ${iso(pause.until)}`;
  // A workflow file may have several faults, a line each.
  const message = pause.message.replaceAll("\n", "; ");
  return report(gate, pass, `since ${iso(pause.since)}${until}: ${message}`, pauseMend(kind));
}

function pauseMend(kind: PauseKind): string {
  switch (kind) {
    case "operator":
      return "symphony resume";
    case "usage_limit":
      return "wait for the reset, or try one ticket now: symphony resume";
    case "auth":
      return "log the agent in (codex login), then: symphony resume";
    case "budget":
      return "wait for midnight UTC, or raise budget.* in the workflow file";
    case "tracker":
      return "wait until the tracker answers again";
    case "workflow":
      return "mend the workflow file; it is read again by itself";
    case "ledger":
      return "see that the ledger can be written (disk space, permissions)";
    default:
      return assertNever(kind);
  }
}

function slotGates({ state, settings, issue, now }: Explained, claim: Claim | undefined): readonly GateReport[] {
  const slots = new Slots(state, settings);
  const ownsOne = claim !== undefined && holdsSlot(claim);
  const { used, cap } = slots.use;
  const ahead = ownsOne ? 0 : countAhead(state, issue, now);
  const order = ahead === 0 ? "" : `, and ${ahead} of those that wait come first`;
  const own = ownsOne ? ", one of them by this ticket" : "";
  const all = report(
    "slot",
    ownsOne || used < cap,
    `${used} of ${cap} in use${own}${order}`,
    "wait for a run to end, or raise agent.max_concurrent_agents",
  );
  const ofState = slots.useOf(issue.state);
  if (ofState === null) return [all];
  const value = `${ofState.used} of ${ofState.cap} for state ${issue.state} in use${own}`;
  const mend = "wait for a run in that state to end, or raise agent.max_concurrent_agents_by_state";
  return [all, report("state_slot", ownsOne || ofState.used < ofState.cap, value, mend)];
}

/** Those that dispatch would serve before this ticket. */
function countAhead(state: State, issue: Issue, now: number): number {
  return listContenders(state, now).filter(
    ({ issue: other }) => other.id !== issue.id && compareIssues(other, issue) < 0,
  ).length;
}
