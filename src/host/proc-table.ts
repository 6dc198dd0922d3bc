/** Processes as Linux shows them in /proc. */
import { closeSync, existsSync, openSync, readdirSync, readFileSync, readSync } from "node:fs";
import type { ProcessList, ProcessRow, ProcessTable } from "./process-table.ts";
import { shareLooks } from "./share-looks.ts";

const BOOT_ID = "/proc/sys/kernel/random/boot_id";

/** True where processes can be read from /proc. */
export function hasProc(): boolean {
  return existsSync(BOOT_ID) && existsSync("/proc/self/stat");
}

/** Flag of kernel threads in field 9 of /proc/<pid>/stat. */
const PF_KTHREAD = 0x0020_0000;

/** Field numbers are those of proc(5), counted after the command name, which may hold spaces and parentheses. */
function parseStat(pid: number, stat: string, bootId: string): ProcessRow | null {
  const fields = stat.slice(stat.lastIndexOf(")") + 2).split(" ", 20);
  const [state, parent, group, session] = fields;
  const ticks = fields[19];
  if (state === undefined || ticks === undefined) return null;
  return {
    pid,
    parent: Number(parent),
    group: Number(group),
    session: Number(session),
    startTime: `${ticks}@${bootId}`,
    zombie: state === "Z" || state === "X" || state === "x",
    kernel: (Number(fields[6]) & PF_KTHREAD) !== 0,
  };
}

/** This daemon's own trouble says nothing about a process: it must not look ended. Any other failure means gone, or another user's. */
function isOurTrouble(error: unknown): boolean {
  return error instanceof Error && "code" in error && ["EMFILE", "ENFILE", "ENOMEM"].includes(String(error.code));
}

/** A stat line is a few hundred bytes, whatever the process. */
const statBuffer = Buffer.alloc(4096);

/** Three system calls a process: with hundreds of processes and dozens of runs, this is what ending a run costs. */
function readStat(pid: number, bootId: string): ProcessRow | null {
  let fd: number | null = null;
  try {
    fd = openSync(`/proc/${pid}/stat`, "r");
    const bytes = readSync(fd, statBuffer, 0, statBuffer.length, 0);
    return parseStat(pid, statBuffer.toString("latin1", 0, bytes), bootId);
  } catch (error) {
    if (isOurTrouble(error)) throw error;
    return null;
  } finally {
    if (fd !== null) closeSync(fd);
  }
}

/** Null: it has ended, or is another user's. */
function readEnvironment(pid: number): Buffer | null {
  try {
    return readFileSync(`/proc/${pid}/environ`);
  } catch (error) {
    if (isOurTrouble(error)) throw error;
    return null;
  }
}

function holds(environment: Buffer, assignment: string): boolean {
  const wanted = `${assignment}\0`;
  return environment.includes(`\0${wanted}`) || environment.subarray(0, wanted.length).equals(Buffer.from(wanted));
}

/** On a busy machine something ends in nearly every look; a few rounds over what is new are enough, and cheap. */
const MAX_ROUNDS = 5;

/**
 * A process that ends before it is read may have left a child that wasn't there when the names were read. Only names that are new since are
 * read in the next round, until none of those has ended meanwhile.
 */
function readAll(bootId: string): { readonly rows: readonly ProcessRow[]; readonly settled: boolean } {
  const rows = new Map<number, ProcessRow>();
  for (let round = 1; ; round += 1) {
    let settled = true;
    for (const name of readdirSync("/proc")) {
      const pid = Number(name);
      if (!Number.isInteger(pid) || rows.has(pid)) continue;
      const row = readStat(pid, bootId);
      if (row === null) settled = false;
      else rows.set(pid, row);
    }
    if (settled || round === MAX_ROUNDS) return { rows: [...rows.values()], settled };
  }
}

function listProcesses(bootId: string): ProcessList {
  const { rows, settled } = readAll(bootId);
  const environments = new Map<number, Buffer | null>();
  return {
    rows,
    settled,
    carries(pid, assignment) {
      const environment = environments.get(pid) ?? readEnvironment(pid);
      environments.set(pid, environment);
      if (environment === null) return false;
      return environment.length === 0 ? null : holds(environment, assignment);
    },
  };
}

/** Start times are `<clock ticks since boot>@<boot id>`. */
export function createProcTable(): ProcessTable {
  const bootId = readFileSync(BOOT_ID, "latin1").trim();
  return {
    list: shareLooks(() => listProcesses(bootId)),
    read: async (pid) => readStat(pid, bootId),
    startedSince(row, startTime) {
      const [ticks, boot] = startTime.split("@");
      return boot !== bootId || Number.parseInt(row.startTime, 10) >= Number(ticks);
    },
  };
}
