/** What the API shows and asks for, and how a running daemon answers. */
import type { LedgerReader } from "../ledger/queries.ts";
import type { Clock } from "../lib/clock.ts";
import type { Orchestrator } from "../orchestrator/orchestrator.ts";

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
}

export interface DaemonView {
  snapshot(): Json;
  /** One claimed issue by its identifier, or null. */
  issue(identifier: string): Json | null;
  refresh(): RefreshAnswer;
}

/** The view of a running daemon. */
export function daemonView(orchestrator: Orchestrator, ledger: LedgerReader, clock: Clock): DaemonView {
  return {
    snapshot: () => orchestrator.snapshot(),
    issue: (identifier) => orchestrator.issue(identifier, ledger),
    refresh() {
      const now = clock.now();
      const { polling, nextPollAt } = orchestrator.state;
      const coalesced = polling !== null || nextPollAt <= now;
      orchestrator.operate({ kind: "refresh" });
      return { queued: true, coalesced, requested_at: new Date(now).toISOString(), operations: ["poll", "reconcile"] };
    },
  };
}
