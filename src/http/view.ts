/** What the API shows and asks for, and how a running daemon answers. */
import type { Settings } from "../domain/settings.ts";
import type { IssueId } from "../domain/ids.ts";
import { issueId } from "../domain/ids.ts";
import type { LedgerReader } from "../ledger/queries.ts";
import type { Clock } from "../lib/clock.ts";
import { explanationJson, findKnownIssue, issuesJson, questionsJson, type Seen } from "../orchestrator/issue-lists.ts";
import type { Orchestrator } from "../orchestrator/orchestrator.ts";
import type { OperatorCommand, OperatorResult } from "../scheduler/events.ts";
import { Metrics } from "./metrics.ts";
import { StreamHub } from "./stream-hub.ts";
import { healthOf, readinessOf, type Health, type Readiness } from "./health.ts";

/** A JSON value that is ready to be sent. */
export type Json = Readonly<Record<string, unknown>>;

/** The answer to `POST /api/v1/refresh`. */
export interface RefreshAnswer {
  readonly queued: boolean;
  /** A poll was on its way or due already. */
  readonly coalesced: boolean;
  /** RFC 3339. */
  readonly requested_at: string;
  readonly operations: readonly string[];
  /** What happens now, in words. */
  readonly message: string;
}

export interface DaemonView {
  snapshot(): Json;
  /** One claimed issue by its identifier, or null. */
  issue(identifier: string): Json | null;
  /** Every ticket that is claimed or was listed by the last poll. */
  issues(): Json;
  /** Why it runs or doesn't; null for a ticket that is neither claimed nor listed. */
  explain(identifier: string): Json | null;
  questions(): Json;
  usage(by: "issue" | "day"): Json;
  /** What was run, and what agents did, from the ledger. */
  readonly ledger: Pick<LedgerReader, "runs" | "runCount" | "run" | "events" | "issues" | "days">;
  /** Server-sent events after one that the reader has; null where there are too many readers. */
  openStream(after: number | null): ReadableStream<Uint8Array> | null;
  /** In Prometheus' text format; null where `server.metrics` is off. */
  metrics(): Promise<string> | null;
  health(): Health;
  readiness(): Readiness;
  /** Claimed, listed, or known from earlier runs; null for any other. */
  issueId(identifier: string): IssueId | null;
  operate(command: OperatorCommand): OperatorResult;
  refresh(): RefreshAnswer | Extract<OperatorResult, { accepted: false }>;
}

export interface ViewDeps {
  readonly orchestrator: Orchestrator;
  readonly ledger: LedgerReader;
  readonly clock: Clock;
  readonly version: string;
  /** Those in force. */
  settings(): Settings;
}

/** The view of a running daemon. */
export function daemonView({ orchestrator, ledger, clock, version, settings }: ViewDeps): DaemonView {
  const seen = (): Seen => {
    const { state, malformed, ledgerError } = orchestrator;
    return { state, malformed, ledgerError, settings: settings(), now: clock.now() };
  };
  const metrics = new Metrics({ orchestrator, ledger, version, settings });
  const hub = new StreamHub({
    clock,
    snapshot: () => orchestrator.snapshot(),
    observe: (observer) => orchestrator.observe(observer),
    events: (query) => ledger.events(query),
  });
  return {
    snapshot: () => orchestrator.snapshot(),
    issue: (identifier) => orchestrator.issue(identifier, ledger),
    issues: () => issuesJson(seen()),
    explain: (identifier) => explanationJson(identifier, seen()),
    questions: () => questionsJson(orchestrator.state),
    usage: (by) => ({ ...ledger.usage({ by, prices: settings().budget.prices }) }),
    ledger,
    openStream: (after) => hub.open(after),
    metrics: () => (settings().server.metrics ? metrics.text() : null),
    health: () => healthOf(orchestrator.snapshot()),
    readiness: () => readinessOf(orchestrator.snapshot()),
    issueId(identifier) {
      const known = findKnownIssue(orchestrator.state, identifier);
      if (known !== null) return known.id;
      const earlier = ledger.issueByIdentifier(identifier);
      return earlier === null ? null : issueId(earlier.issue_id);
    },
    operate: (command) => orchestrator.operate(command),
    refresh() {
      const now = clock.now();
      const { polling, nextPollAt } = orchestrator.state;
      const coalesced = polling !== null || nextPollAt <= now;
      const result = orchestrator.operate({ kind: "refresh" });
      if (!result.accepted) return result;
      const { message } = result;
      const requested_at = new Date(now).toISOString();
      return { queued: true, coalesced, requested_at, operations: ["poll", "reconcile"], message };
    },
  };
}
