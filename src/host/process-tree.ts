/** Which processes belong to a run: its leader, everything descended from it, and whatever carries its marker. */
import { errorMessage } from "../domain/errors.ts";
import type { Clock } from "../lib/clock.ts";
import type { Log } from "../lib/log.ts";
import { MARKER_VARIABLE } from "./login-shell.ts";
import type { ProcessIdentity } from "./port.ts";
import type { ProcessList, ProcessRow, ProcessTable } from "./process-table.ts";

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

/** The process that a tree grew from. */
type LeaderIdentity = Pick<ProcessIdentity, "pid" | "startTime">;

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
/** Until a look that failed is tried again. */
const AFTER_FAILED_LOOK_MS = 200;
/** An exec takes less than a millisecond; a process that still has no environment then was started with none. */
const MAX_BLANK_LOOKS = 4;

/** Which processes carry a marker. An environment is read once: it can't gain the marker from outside. */
class MarkerScan {
  readonly #leader: LeaderIdentity;
  readonly #assignment: string;
  readonly #table: ProcessTable;
  readonly #unmarked = new Set<string>();
  /** How often a process was seen with an empty environment. */
  readonly #blank = new Map<string, number>();

  constructor(leader: LeaderIdentity, assignment: string, table: ProcessTable) {
    this.#leader = leader;
    this.#assignment = assignment;
    this.#table = table;
  }

  /** Null: can't be told yet. */
  isMarked(row: ProcessRow, list: ProcessList): boolean | null {
    const key = `${row.pid} ${row.startTime}`;
    if (row.zombie || this.#unmarked.has(key)) return false;
    if (!this.#table.startedSince(row, this.#leader.startTime)) return false;
    const carries = list.carries(row.pid, this.#assignment);
    if (carries === false) this.#unmarked.add(key);
    if (carries !== null) return carries;
    const looks = (this.#blank.get(key) ?? 0) + 1;
    this.#blank.set(key, looks);
    return looks < MAX_BLANK_LOOKS ? null : false;
  }
}

class TrackedTree implements ProcessTree {
  readonly #leader: LeaderIdentity;
  readonly #deps: TreeDeps;
  readonly #markers: MarkerScan;
  /** Start time by pid. */
  readonly #known = new Map<number, string>();
  /** Those that the kernel doesn't let us end. */
  readonly #untouchable = new Set<number>();

  constructor(leader: LeaderIdentity, assignment: string, deps: TreeDeps) {
    this.#leader = leader;
    this.#deps = deps;
    this.#markers = new MarkerScan(leader, assignment, deps.table);
  }

  async members(): Promise<readonly ProcessRow[]> {
    for (let looks = 1; ; looks += 1) {
      const { found, settled } = await this.#insist(() => this.#look());
      if (found.length > 0 || settled || looks === MAX_LOOKS) return found;
      await this.#deps.clock.sleep(BETWEEN_LOOKS_MS);
    }
  }

  async remaining(): Promise<readonly ProcessRow[]> {
    const rows = await Promise.all([...this.#known].map(([pid, startTime]) => this.#alive(pid, startTime)));
    return rows.filter((row) => row !== null).filter((row) => !this.#untouchable.has(row.pid));
  }

  async signal(rows: readonly ProcessRow[], signal: NodeJS.Signals): Promise<void> {
    for (const row of rows) {
      if ((await this.#alive(row.pid, row.startTime)) !== null) this.#send(row.pid, signal);
    }
  }

  async ended(): Promise<number> {
    return this.#known.size - (await this.remaining()).length - this.#untouchable.size;
  }

  async #look(): Promise<{ readonly found: readonly ProcessRow[]; readonly settled: boolean }> {
    const list = await this.#deps.table.list();
    let { settled } = list;
    const rows = list.rows.filter((row) => row.pid !== process.pid && row.pid > 1 && !row.kernel);
    const owned: Ownership = { pids: new Set(), groups: new Set(), sessions: new Set() };
    for (const row of rows) if (this.#isKnown(row)) addMember(owned, row);
    close(owned, rows);
    for (const row of rows) {
      const marked = owned.pids.has(row.pid) || this.#markers.isMarked(row, list);
      if (marked === null) settled = false;
      else if (marked) addMember(owned, row);
    }
    close(owned, rows);
    const mine = rows.filter((row) => owned.pids.has(row.pid));
    for (const row of mine) this.#known.set(row.pid, row.startTime);
    return { found: mine.filter((row) => !row.zombie && !this.#untouchable.has(row.pid)), settled };
  }

  /** Asks until there is an answer: taking a failed look for an empty one would leave processes behind. */
  async #insist<T>(look: () => Promise<T>): Promise<T> {
    const { clock, log } = this.#deps;
    for (;;) {
      try {
        return await look();
      } catch (error) {
        log.warn({ err: error }, "processes can't be looked at; trying again");
        await clock.sleep(AFTER_FAILED_LOOK_MS);
      }
    }
  }

  #isKnown(row: ProcessRow): boolean {
    const startTime = row.pid === this.#leader.pid ? this.#leader.startTime : this.#known.get(row.pid);
    return row.startTime === startTime;
  }

  async #alive(pid: number, startTime: string): Promise<ProcessRow | null> {
    const row = await this.#insist(() => this.#deps.table.read(pid));
    return row?.startTime === startTime && !row.zombie ? row : null;
  }

  #send(pid: number, signal: NodeJS.Signals): void {
    try {
      process.kill(pid, signal);
    } catch (error) {
      const code = error instanceof Error && "code" in error ? error.code : null;
      if (code === "ESRCH") return;
      this.#untouchable.add(pid);
      this.#deps.log.warn({ pid, signal, err: errorMessage(error) }, "a process of a run can't be ended");
    }
  }
}

/**
 * The tree under `leader`, and whatever has `assignment` (`NAME=value`) in its environment. A process with the leader's pid and
 * another start time is somebody else's and never touched.
 */
export function createProcessTree(leader: LeaderIdentity, assignment: string, deps: TreeDeps): ProcessTree {
  return new TrackedTree(leader, assignment, deps);
}

/** The tree of a run: it is marked with the run's marker. */
export function createRunTree(identity: ProcessIdentity, deps: TreeDeps): ProcessTree {
  return createProcessTree(identity, `${MARKER_VARIABLE}=${identity.marker}`, deps);
}
