/** Which processes belong to a run: its leader, everything descended from it, and whatever carries its marker. */
import { errorMessage } from "../domain/errors.ts";
import type { Clock } from "../lib/clock.ts";
import type { Log } from "../lib/log.ts";
import type { ProcessIdentity } from "./port.ts";
import type { ProcessRow, ProcessTable } from "./process-table.ts";

/** The processes of one run as they are found; what was seen once is remembered, so an orphan isn't lost when its parent ends. */
export interface ProcessTree {
  /** Looks again; the members that live now, zombies left out. */
  members(): Promise<readonly ProcessRow[]>;
  /** The members of the last look that still live. Reads nothing but those. */
  remaining(): Promise<readonly ProcessRow[]>;
  /** Sends a signal to every row that is still the process it was. */
  signal(rows: readonly ProcessRow[], signal: NodeJS.Signals): Promise<void>;
  /** How many processes were ever seen as members and are gone now. */
  ended(): Promise<number>;
}

/** Ids of processes, groups and sessions that are ours in one snapshot. */
interface Ownership {
  readonly pids: Set<number>;
  readonly groups: Set<number>;
  readonly sessions: Set<number>;
}

/**
 * A group or session counts only while a process known as ours is in it: its number can't be given to others as long. The
 * run's leader has a session of its own, so nothing of a run is ever in this daemon's group or session.
 */
function addMember(owned: Ownership, row: ProcessRow): void {
  owned.pids.add(row.pid);
  if (row.group > 0) owned.groups.add(row.group);
  if (row.session > 0) owned.sessions.add(row.session);
}

/** Adds children, group and session mates until nothing is new. */
function close(owned: Ownership, rows: readonly ProcessRow[]): void {
  for (let before = -1; before !== owned.pids.size;) {
    before = owned.pids.size;
    for (const row of rows) {
      if (owned.pids.has(row.pid)) continue;
      if (owned.pids.has(row.parent) || owned.groups.has(row.group) || owned.sessions.has(row.session)) {
        addMember(owned, row);
      }
    }
  }
}

/** What a tree is built from. */
export interface TreeDeps {
  readonly table: ProcessTable;
  readonly clock: Clock;
  readonly log: Log;
}

/** An empty answer is believed when nothing moved while it was read; a busy machine is looked at this often at most. */
const MAX_LOOKS = 10;
const BETWEEN_LOOKS_MS = 5;
/** An exec takes less than a millisecond; a process that still has no environment then was started with none. */
const MAX_BLANK_LOOKS = 4;

/** The tree of `identity`. A process with its pid and another start time is somebody else's and never touched. */
export function createProcessTree(identity: ProcessIdentity, { table, clock, log }: TreeDeps): ProcessTree {
  /** Start time by pid. */
  const known = new Map<number, string>();
  /** Processes whose environment lacks the marker: read once, an environment can't gain it from outside. */
  const unmarked = new Set<string>();
  /** How often a process was seen with an empty environment. */
  const blank = new Map<string, number>();
  /** Those that the kernel doesn't let us end. */
  const untouchable = new Set<number>();

  function isKnown(row: ProcessRow): boolean {
    if (row.pid === identity.pid) return row.startTime === identity.startTime;
    return known.get(row.pid) === row.startTime;
  }

  /** Null: can't be told yet. */
  function isMarked(row: ProcessRow): boolean | null {
    const key = `${row.pid} ${row.startTime}`;
    if (row.zombie || unmarked.has(key)) return false;
    if (!table.startedSince(row, identity.startTime)) return false;
    const carries = table.carries(row.pid, identity.marker);
    if (carries !== null) {
      if (!carries) unmarked.add(key);
      return carries;
    }
    const looks = (blank.get(key) ?? 0) + 1;
    blank.set(key, looks);
    return looks < MAX_BLANK_LOOKS ? null : false;
  }

  async function look(): Promise<{ readonly found: readonly ProcessRow[]; readonly settled: boolean }> {
    const list = await table.list();
    let { settled } = list;
    const rows = list.rows.filter((row) => row.pid !== process.pid && row.pid > 1 && !row.kernel);
    const owned: Ownership = { pids: new Set(), groups: new Set(), sessions: new Set() };
    for (const row of rows) if (isKnown(row)) addMember(owned, row);
    close(owned, rows);
    for (const row of rows) {
      const marked = owned.pids.has(row.pid) || isMarked(row);
      if (marked === null) settled = false;
      else if (marked) addMember(owned, row);
    }
    close(owned, rows);
    const mine = rows.filter((row) => owned.pids.has(row.pid));
    for (const row of mine) known.set(row.pid, row.startTime);
    return { found: mine.filter((row) => !row.zombie && !untouchable.has(row.pid)), settled };
  }

  async function members(): Promise<readonly ProcessRow[]> {
    for (let looks = 1; ; looks += 1) {
      const { found, settled } = await look();
      if (found.length > 0 || settled || looks === MAX_LOOKS) return found;
      await clock.sleep(BETWEEN_LOOKS_MS);
    }
  }

  async function alive(pid: number, startTime: string): Promise<ProcessRow | null> {
    const row = await table.read(pid);
    return row !== null && row.startTime === startTime && !row.zombie ? row : null;
  }

  async function remaining(): Promise<readonly ProcessRow[]> {
    const rows = await Promise.all([...known].map(([pid, startTime]) => alive(pid, startTime)));
    return rows.filter((row) => row !== null && !untouchable.has(row.pid)) as ProcessRow[];
  }

  async function signalOne(row: ProcessRow, signal: NodeJS.Signals): Promise<void> {
    if ((await alive(row.pid, row.startTime)) === null) return;
    try {
      process.kill(row.pid, signal);
    } catch (error) {
      const code = error instanceof Error && "code" in error ? error.code : null;
      if (code === "ESRCH") return;
      untouchable.add(row.pid);
      log.warn({ pid: row.pid, signal, err: errorMessage(error) }, "a process of a run can't be ended");
    }
  }

  return {
    members,
    remaining,
    async signal(rows, signal) {
      for (const row of rows) await signalOne(row, signal);
    },
    async ended() {
      return known.size - (await remaining()).length - untouchable.size;
    },
  };
}
