/** Transactions of two strengths over one connection. */
import type { Connection } from "./database.ts";
import { guarded } from "./failure.ts";

/** Runs writes; a failure rolls back and is thrown as `ledger_unusable`. */
export interface Writer {
  /**
   * On disk before it returns, so that a power loss can't take it back: for what must be known before an effect on the world, and for
   * every scheduling decision.
   */
  durable<T>(doing: string, action: () => T): T;
  /** Survives the death of this process at once, and a power loss with the next durable one: for what only counts or reports. */
  quick<T>(doing: string, action: () => T): T;
}

/** In WAL mode FULL syncs the log at each commit, and so all quick commits before it; NORMAL syncs at checkpoints only. */
type Level = "FULL" | "NORMAL";

export function createWriter(db: Connection, path: string): Writer {
  let level: Level | null = null;

  function run<T>(wanted: Level, doing: string, action: () => T): T {
    return guarded(path, doing, () => {
      if (level !== wanted) db.exec(`PRAGMA synchronous = ${wanted}`);
      level = wanted;
      return db.transaction(action).immediate();
    });
  }

  return {
    durable: (doing, action) => run("FULL", doing, action),
    quick: (doing, action) => run("NORMAL", doing, action),
  };
}

/** A whole number for an INTEGER column; times and durations may come with a fraction. */
export function whole(value: number): number {
  return Math.round(value);
}

/** {@link whole}, keeping null. */
export function wholeOrNull(value: number | null): number | null {
  return value === null ? null : Math.round(value);
}
