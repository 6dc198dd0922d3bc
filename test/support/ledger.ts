/** A real ledger in a directory of a test's own. */
import { join } from "node:path";

import type { Claim, DurableChange, RunFact } from "../../src/domain/claim.ts";
import type { IssueId } from "../../src/domain/ids.ts";
import { runId } from "../../src/domain/ids.ts";
import type { Issue } from "../../src/domain/issue.ts";
import type { RunOutcome } from "../../src/domain/outcome.ts";
import { openLedger, type LedgerDeps } from "../../src/ledger/ledger.ts";
import type { Ledger } from "../../src/ledger/port.ts";
import { openLedgerReader, type LedgerReader } from "../../src/ledger/queries.ts";
import { captureLog, type CapturedLog } from "./captured-log.ts";
import { makeIssue } from "./issues.ts";
import { ManualClock } from "./manual-clock.ts";
import { makeTempDir } from "./temp-dir.ts";

/** Everything opened here is closed, and the files removed, when it is disposed. */
export interface LedgerPlace extends AsyncDisposable {
  readonly dir: string;
  readonly path: string;
  readonly clock: ManualClock;
  readonly captured: CapturedLog;
  open(more?: Partial<LedgerDeps>): Ledger;
  reader(): LedgerReader;
}

export async function makeLedgerPlace(): Promise<LedgerPlace> {
  const temp = await makeTempDir();
  const path = join(temp.path, "state", "ledger.db");
  const clock = new ManualClock();
  const captured = captureLog();
  const opened: { close(): void }[] = [];
  const keep = <T extends { close(): void }>(value: T): T => {
    opened.push(value);
    return value;
  };
  return {
    dir: temp.path,
    path,
    clock,
    captured,
    open: (more = {}) => keep(openLedger({ path, clock, log: captured.log, ...more })),
    reader: () => keep(openLedgerReader(path, clock)),
    async [Symbol.asyncDispose]() {
      for (const value of opened) value.close();
      await temp.dispose();
    },
  };
}

/** A change of nothing but what is given. */
export function changeOf(parts: {
  readonly claims?: readonly (readonly [IssueId, Claim | null])[];
  readonly facts?: readonly RunFact[];
}): DurableChange {
  return { claims: new Map(parts.claims), workspaces: new Map(), pauses: new Map(), facts: parts.facts ?? [] };
}

/** The fact that a run has begun. */
export function started(
  run: string,
  at: number,
  issue: Issue = makeIssue("A-1"),
  attempt: number | null = null,
): RunFact {
  return { kind: "run_started", runId: runId(run), issue, attempt, threadId: null, at };
}

/** The fact that a run has ended. */
export function ended(run: string, at: number, outcome: RunOutcome = { kind: "succeeded" }, turns = 1): RunFact {
  const result = { outcome, issue: null, turns, threadId: null, changed: null };
  return { kind: "run_ended", runId: runId(run), result, at };
}
