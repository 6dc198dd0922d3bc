/** The model ledger: what was committed, as a restart would read it back. */
import type { DurableChange, DurableState } from "../../src/domain/claim.ts";

export class DurableStore {
  readonly #claims = new Map<string, string>();
  readonly #workspaces = new Map<string, string>();
  readonly #pauses = new Map<string, string>();
  /** Runs that were started and not ended, as the run table would show them. */
  readonly openRuns = new Set<string>();
  runsStarted = 0;

  commit(change: DurableChange): void {
    write(this.#claims, change.claims);
    write(this.#workspaces, change.workspaces);
    write(this.#pauses, change.pauses);
    for (const fact of change.facts) {
      if (fact.kind === "run_ended") {
        if (!this.openRuns.delete(fact.runId)) throw new Error(`run ${fact.runId} ended twice`);
        continue;
      }
      if (fact.kind === "thread_unbound") continue;
      this.openRuns.add(fact.runId);
      this.runsStarted += 1;
    }
  }

  load(): DurableState {
    return { claims: read(this.#claims), workspaces: read(this.#workspaces), pauses: read(this.#pauses) };
  }
}

function write<K extends string>(rows: Map<string, string>, changes: ReadonlyMap<K, unknown>): void {
  for (const [key, value] of changes) {
    if (value === null) rows.delete(key);
    else rows.set(key, JSON.stringify(value));
  }
}

/** Rows come back as the JSON that they were. */
function read<K extends string, V>(rows: ReadonlyMap<string, string>): Map<K, V> {
  return new Map([...rows].map(([key, json]) => [key as K, JSON.parse(json) as V]));
}
