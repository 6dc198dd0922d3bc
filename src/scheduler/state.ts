/** The scheduler's whole state: claims, workspaces, pauses, and what the last poll saw. Only reduce makes a new one. */
import type { Claim, Pause, PauseKind, WorkspaceRecord } from "../domain/claim.ts";
import type { IssueId } from "../domain/ids.ts";
import type { Issue } from "../domain/issue.ts";
import type { Settings } from "../domain/settings.ts";

/** What is known of the tracker's health; an error is kept with its time and cleared by the next good answer. */
export interface TrackerHealth {
  readonly lastOkAt: number | null;
  readonly lastError: { readonly code: string; readonly message: string; readonly at: number } | null;
  /** Failed polls in a row. */
  readonly failures: number;
  /** Candidates of the last good answer, and how many of them were eligible and unclaimed. */
  readonly seen: number;
  readonly eligible: number;
}

/** `draining`: no new dispatch, runs go on. `stopping`: runs are being stopped. */
export type Mode = "running" | "draining" | "stopping";

export interface State {
  /** "Claimed" means that this map has the key; there is no second set. */
  readonly claims: ReadonlyMap<IssueId, Claim>;
  readonly workspaces: ReadonlyMap<IssueId, WorkspaceRecord>;
  readonly pauses: ReadonlyMap<PauseKind, Pause>;
  /** Eligible, unclaimed candidates of the last poll in dispatch order: what a freed slot is offered beside the waiters. */
  readonly backlog: readonly Issue[];
  /** All candidates of the last good poll, those that may not start too: for people who ask why. Nothing is decided on it. */
  readonly candidates: readonly Issue[];
  readonly tracker: TrackerHealth;
  readonly mode: Mode;
  /** The identifier of the one ticket that this daemon is for; null: it works on all. */
  readonly only: string | null;
  /** The first look at the agent hasn't ended: a ticket that started now could fail for what the look is about to find. */
  readonly awaitsAgent: boolean;
  readonly nextPollAt: number;
  /** When the newest poll was started; 0 = none yet. */
  readonly polledAt: number;
  /** When the tracker last said by itself that something has changed; null = never. */
  readonly wokenAt: number | null;
  /** When the polls that its words have led to so far will be paid off, at one every five seconds. */
  readonly wordsPaidAt: number;
  /** Number of the poll that is on its way. */
  readonly polling: number | null;
  /** A poll was asked for while one was on its way. */
  readonly pollAgain: boolean;
  /** Generation of polls and refreshes: an answer that carries another number than the one waited for is stale. */
  readonly generation: number;
  /** Where the rotation over workspaces without a claim stands. */
  readonly sweep: number;
}

/** All that reduce may know besides state and event. */
export interface Env {
  /** Epoch ms. */
  readonly now: number;
  readonly settings: Settings;
  /** Random, fresh for each event: jitter and run ids come from it. 32 bits, unsigned. */
  readonly seed: number;
}

/** The state of a daemon that has seen nothing yet. */
export function initialState(): State {
  return {
    claims: new Map(),
    workspaces: new Map(),
    pauses: new Map(),
    backlog: [],
    candidates: [],
    tracker: { lastOkAt: null, lastError: null, failures: 0, seen: 0, eligible: 0 },
    mode: "running",
    only: null,
    awaitsAgent: false,
    nextPollAt: 0,
    polledAt: 0,
    wokenAt: null,
    wordsPaidAt: 0,
    polling: null,
    pollAgain: false,
    generation: 0,
    sweep: 0,
  };
}

/** Whether this daemon is for this ticket. */
export function isMeant(state: State, issue: Issue): boolean {
  return state.only === null || state.only.toLowerCase() === issue.identifier.toLowerCase();
}
