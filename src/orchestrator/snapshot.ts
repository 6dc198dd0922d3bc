/** What the outside may see of the daemon: the JSON of `GET /api/v1/state` and `symphony status --json`. */
import type { BlockedClaim, RunningClaim, WaitingClaim } from "../domain/claim.ts";
import { totalTokens, type TokenCounts } from "../domain/tokens.ts";
import { waitError } from "../scheduler/dispatch.ts";
import type { State } from "../scheduler/state.ts";
import type { MalformedTicket } from "../tracker/port.ts";
import type { AgentStatus } from "./agent-check.ts";
import { questionsJson } from "./issue-lists.ts";
import type { LiveRuns } from "./live.ts";

/** Where the snapshot's parts come from. */
export interface SnapshotInput {
  readonly now: number;
  readonly state: State;
  readonly live: LiveRuns;
  readonly agent: AgentStatus;
  /** Those in force: runs at a time, and turns of a run. */
  readonly limits: { readonly maxAgents: number; readonly maxTurns: number };
  /** The day's spending. */
  readonly budget: Readonly<Record<string, unknown>>;
  readonly trackerKind: string;
  /** Tickets that the last listing left out. */
  readonly malformed: readonly MalformedTicket[];
  /** The tracker's own figures; null where it has none. */
  readonly trackerUsage: Readonly<Record<string, unknown>> | null;
  readonly workflow: {
    readonly path: string;
    readonly revision: string;
    readonly loadedAt: number;
    readonly lastError: { readonly message: string; readonly at: number } | null;
  };
  readonly ledgerError: { readonly message: string; readonly at: number } | null;
  readonly invariantBreaches: number;
}

/** A whole board in a state that nobody named must not swell every snapshot; `explain` knows them all. */
const MALFORMED_SHOWN = 20;

function iso(at: number): string {
  return new Date(at).toISOString();
}

function isoOrNull(at: number | null): string | null {
  return at === null ? null : iso(at);
}

function timed(error: { readonly message: string; readonly at: number; readonly code?: string } | null): object | null {
  return error === null ? null : { ...error, at: iso(error.at) };
}

/** Token counts under the API's names. */
function tokensJson(tokens: TokenCounts): Readonly<Record<string, number>> {
  return {
    input_tokens: tokens.input,
    cached_input_tokens: tokens.cachedInput,
    output_tokens: tokens.output,
    reasoning_tokens: tokens.reasoning,
    total_tokens: totalTokens(tokens),
  };
}

/** One running row. */
export function runningRow(claim: RunningClaim, live: LiveRuns): Readonly<Record<string, unknown>> {
  const seen = live.get(claim.runId);
  return {
    issue_id: claim.issue.id,
    issue_identifier: claim.issue.identifier,
    issue_title: claim.issue.title,
    issue_url: claim.issue.url,
    state: claim.issue.state,
    run_id: claim.runId,
    attempt: claim.attempt,
    phase: claim.phase,
    stopping: claim.stopping?.why ?? null,
    session_id: seen.sessionId,
    thread_id: seen.threadId ?? claim.threadId,
    agent_pid: seen.agentPid,
    turn_count: claim.turn,
    last_event: seen.lastEvent,
    last_message: seen.lastMessage,
    started_at: iso(claim.startedAt),
    last_event_at: iso(Math.max(claim.lastEventAt, seen.lastEventAt ?? 0)),
    question: claim.question,
    tokens: tokensJson(seen.tokens),
  };
}

/** One waiting row. */
export function retryRow(claim: WaitingClaim, state: State, now: number): Readonly<Record<string, unknown>> {
  return {
    issue_id: claim.issue.id,
    issue_identifier: claim.issue.identifier,
    issue_title: claim.issue.title,
    issue_url: claim.issue.url,
    state: claim.issue.state,
    attempt: claim.attempt,
    due_at: isoOrNull(claim.dueAt),
    why: claim.why,
    error: waitError(state, claim, now),
  };
}

/** One blocked row. */
export function blockedRow(claim: BlockedClaim): Readonly<Record<string, unknown>> {
  return {
    issue_id: claim.issue.id,
    issue_identifier: claim.issue.identifier,
    issue_title: claim.issue.title,
    issue_url: claim.issue.url,
    state: claim.issue.state,
    why: claim.why,
    message: claim.message,
    since: iso(claim.since),
    question: claim.question,
  };
}

/** How the tracker does, and what its last listing held. */
function trackerJson({ state, ...input }: SnapshotInput): Readonly<Record<string, unknown>> {
  return {
    kind: input.trackerKind,
    last_ok_at: isoOrNull(state.tracker.lastOkAt),
    last_error: timed(state.tracker.lastError),
    failures: state.tracker.failures,
    candidates_seen: state.tracker.seen,
    candidates_eligible: state.tracker.eligible,
    malformed: input.malformed.length,
    malformed_tickets: input.malformed.slice(0, MALFORMED_SHOWN).map(({ identifier, where, reason }) => ({
      issue_identifier: identifier,
      where,
      reason,
    })),
    next_poll_at: iso(Math.max(state.nextPollAt, 0)),
    last_webhook_at: isoOrNull(state.wokenAt),
    usage: input.trackerUsage,
  };
}

/** A consistent picture of one moment. */
export function buildSnapshot(input: SnapshotInput): Readonly<Record<string, unknown>> {
  const { now, state, live, workflow } = input;
  const running: object[] = [];
  const retrying: object[] = [];
  const blocked: object[] = [];
  let cleaning = 0;
  let liveMs = 0;
  for (const claim of state.claims.values()) {
    if (claim.kind === "running") {
      running.push(runningRow(claim, live));
      liveMs += now - claim.startedAt;
    } else if (claim.kind === "waiting" && claim.why !== "dispatch") retrying.push(retryRow(claim, state, now));
    else if (claim.kind === "blocked") blocked.push(blockedRow(claim));
    else if (claim.kind === "cleaning") cleaning += 1;
  }
  return {
    generated_at: iso(now),
    mode: state.mode,
    counts: { running: running.length, retrying: retrying.length, blocked: blocked.length, cleaning },
    running,
    retrying,
    blocked,
    ...questionsJson(state),
    paused: [...state.pauses.values()].map((pause) => ({
      kind: pause.kind,
      since: iso(pause.since),
      until: isoOrNull(pause.until),
      message: pause.message,
    })),
    agent: {
      version: input.agent.version,
      login: input.agent.login,
      sandbox: input.agent.sandbox,
      checked_at: isoOrNull(input.agent.checkedAt),
      awaited: state.awaitsAgent,
    },
    tracker: trackerJson(input),
    workflow: {
      path: workflow.path,
      revision: workflow.revision,
      loaded_at: iso(workflow.loadedAt),
      last_error: timed(workflow.lastError),
    },
    ledger: { last_error: timed(input.ledgerError) },
    limits: { max_concurrent_agents: input.limits.maxAgents, max_turns: input.limits.maxTurns },
    budget: input.budget,
    invariant_breaches: input.invariantBreaches,
    codex_totals: { ...tokensJson(live.totals), seconds_running: Math.round((live.endedMs + liveMs) / 100) / 10 },
    rate_limits: live.rateLimits,
  };
}
