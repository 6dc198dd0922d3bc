/** One claimed issue as the API shows it: `GET /api/v1/<identifier>`. */
import type { Claim } from "../domain/claim.ts";
import type { LedgerReader } from "../ledger/queries.ts";
import type { State } from "../scheduler/state.ts";
import { findTyped } from "./issue-lists.ts";
import type { LiveRuns } from "./live.ts";
import { blockedRow, retryRow, runningRow } from "./snapshot.ts";

export interface IssueViewInput {
  readonly now: number;
  readonly state: State;
  readonly live: LiveRuns;
  readonly ledger: Pick<LedgerReader, "runs" | "recentEvents">;
}

/** Null when no claim has this identifier (compared without letter case, as people type it). */
export function issueJson(
  identifier: string,
  { now, state, live, ledger }: IssueViewInput,
): Readonly<Record<string, unknown>> | null {
  const claim = findTyped([...state.claims.values()], identifier, (one) => one.issue.identifier);
  if (claim === null) return null;
  const { issue } = claim;
  const runs = ledger.runs({ issue: issue.id });
  return {
    issue_identifier: issue.identifier,
    issue_id: issue.id,
    status: claim.kind === "waiting" ? "retrying" : claim.kind,
    workspace: { path: claim.kind === "cleaning" ? claim.path : (state.workspaces.get(issue.id)?.path ?? null) },
    attempts: {
      restart_count: Math.max(0, runs.length - 1),
      current_retry_attempt: claim.kind === "cleaning" ? null : claim.attempt,
    },
    running: claim.kind === "running" ? runningRow(claim, live) : null,
    retry: claim.kind === "waiting" ? retryRow(claim, state, now) : null,
    blocked: claim.kind === "blocked" ? blockedRow(claim) : null,
    logs: { codex_session_logs: [] },
    recent_events: ledger.recentEvents(issue.id),
    last_error: lastError(claim) ?? runs.find((run) => run.error !== null)?.error ?? null,
    tracked: {},
  };
}

function lastError(claim: Claim): string | null {
  if (claim.kind === "waiting") return claim.error;
  return claim.kind === "blocked" ? claim.message : null;
}
