/** Looking after a ledger from outside: a copy of it, a check of it, and letting old details go. */
import { errorMessage } from "../domain/errors.ts";
import { systemClock } from "../lib/clock.ts";
import { prepareClaimRows } from "./claims.ts";
import { copyDatabase, findAllDamage, openExisting, type Connection } from "./database.ts";
import { guarded } from "./failure.ts";
import { DETAILS_KEPT_MS, prune, type Pruned } from "./prune.ts";
import { createWriter } from "./writer.ts";

/** Copies the ledger into a new file (0600) that is whole by itself; beside a running daemon or without one. */
export function backupLedger(path: string, target: string): void {
  const db = openExisting(path, { readonly: true });
  try {
    guarded(path, "copying", () => copyDatabase(db, target));
  } finally {
    db.close();
  }
}

/** Reads everything: structure, references, and each row that a start needs. The problems in words, empty when there are none. */
export function checkLedger(path: string): readonly string[] {
  const db = openExisting(path, { readonly: true });
  try {
    const damage = findAllDamage(db);
    if (damage.length === 0) prepareClaimRows(db, (text) => text).load();
    return damage;
  } catch (error) {
    // So damaged that it can't even be read through, or a row that no start could take.
    return [errorMessage(error)];
  } finally {
    db.close();
  }
}

/** Pages per transaction, 8 MB: a daemon beside it must not wait long. */
const BATCH_PAGES = 2000;

function giveBack(db: Connection): void {
  const freePages = (): number => Number(db.pragma("freelist_count", { simple: true }));
  // Ends when a round gives nothing back: a ledger of the first versions can't shrink.
  for (let left = freePages(), before = left + 1; left > 0 && left < before; before = left, left = freePages()) {
    db.exec(`PRAGMA incremental_vacuum(${BATCH_PAGES})`);
  }
}

/** Deletes details of runs that ended more than `keptMs` ago (90 days), then gives the space back. Beside a running daemon too. */
export function pruneLedger(path: string, keptMs: number = DETAILS_KEPT_MS): Pruned {
  const db = openExisting(path, { readonly: false });
  try {
    const pruned = prune(db, createWriter(db, path), systemClock.now() - keptMs);
    guarded(path, "giving space back", () => giveBack(db));
    return pruned;
  } finally {
    db.close();
  }
}
