/** What processes there are: /proc where it exists, `ps` elsewhere (macOS), read without trusting a bare pid. */
import { existsSync, readdirSync, readFileSync } from "node:fs";
import { execa } from "execa";

/** One process as the kernel shows it. Zombies are listed: they hold their pid and group, but nothing of theirs runs. */
export interface ProcessRow {
  readonly pid: number;
  readonly parent: number;
  readonly group: number;
  /** 0 where the system doesn't tell. */
  readonly session: number;
  /** Identifies the process together with its pid, over pid reuse and reboots. */
  readonly startTime: string;
  readonly zombie: boolean;
  /** A thread of the kernel: no environment, nobody's child. */
  readonly kernel: boolean;
}

/** All processes at about one moment. */
export interface ProcessList {
  readonly rows: readonly ProcessRow[];
  /** False when one ended while the list was read: it may have left a child that the list doesn't hold. */
  readonly settled: boolean;
}

export interface ProcessTable {
  list(): Promise<ProcessList>;
  /** One process, null when there is none of that pid. */
  read(pid: number): Promise<ProcessRow | null>;
  /**
   * Whether its environment holds `NAME=value`. False where that can't be read: another user's process, or no /proc. Null when the
   * environment is empty, which it also is for a moment in the middle of an exec.
   */
  carries(pid: number, assignment: string): boolean | null;
  /** False only when it is certain that `row` started before `startTime`. */
  startedSince(row: ProcessRow, startTime: string): boolean;
}

/** `<clock ticks since boot>@<boot id>`. */
function procStartTime(ticks: string, bootId: string): string {
  return `${ticks}@${bootId}`;
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
    startTime: procStartTime(ticks, bootId),
    zombie: state === "Z" || state === "X" || state === "x",
    kernel: (Number(fields[6]) & PF_KTHREAD) !== 0,
  };
}

/** A file below /proc, or null: the process may have ended, or be another user's. */
function readProc(path: string): Buffer | null {
  try {
    return readFileSync(path);
  } catch {
    return null;
  }
}

function procTable(bootId: string): ProcessTable {
  function read(pid: number): ProcessRow | null {
    const stat = readProc(`/proc/${pid}/stat`);
    return stat === null ? null : parseStat(pid, stat.toString("latin1"), bootId);
  }
  return {
    async list() {
      const rows: ProcessRow[] = [];
      let settled = true;
      for (const name of readdirSync("/proc")) {
        const pid = Number(name);
        if (!Number.isInteger(pid)) continue;
        const row = read(pid);
        if (row === null) settled = false;
        else rows.push(row);
      }
      return { rows, settled };
    },
    async read(pid) {
      return read(pid);
    },
    carries(pid, assignment) {
      const environ = readProc(`/proc/${pid}/environ`);
      if (environ === null) return false;
      if (environ.length === 0) return null;
      const wanted = `${assignment}\0`;
      return environ.indexOf(`\0${wanted}`) >= 0 || environ.subarray(0, wanted.length).equals(Buffer.from(wanted));
    },
    startedSince(row, startTime) {
      const [ticks, boot] = startTime.split("@");
      return boot !== bootId || Number.parseInt(row.startTime, 10) >= Number(ticks);
    },
  };
}

/** `ps -o lstart` has a resolution of one second, and environments stay unseen: descendants and the group are all there is. */
function psTable(): ProcessTable {
  async function list(): Promise<ProcessList> {
    const { stdout } = await execa("ps", ["-A", "-o", "pid=,ppid=,pgid=,state=,lstart="], {
      env: { LC_ALL: "C" },
      stdin: "ignore",
    });
    const rows = stdout.split("\n").flatMap((line) => {
      const [pid, parent, group, state, ...started] = line.trim().split(/\s+/);
      if (pid === undefined || state === undefined) return [];
      return {
        pid: Number(pid),
        parent: Number(parent),
        group: Number(group),
        session: 0,
        startTime: started.join(" "),
        zombie: state.startsWith("Z"),
        kernel: false,
      };
    });
    return { rows, settled: true };
  }
  return {
    list,
    read: async (pid) => (await list()).rows.find((row) => row.pid === pid) ?? null,
    carries: () => false,
    startedSince: () => true,
  };
}

/** The table of this machine; `procRoot` presence decides which. */
export function createProcessTable(source: "proc" | "ps" = detectSource()): ProcessTable {
  return source === "proc" ? procTable(readFileSync(BOOT_ID, "latin1").trim()) : psTable();
}

const BOOT_ID = "/proc/sys/kernel/random/boot_id";

function detectSource(): "proc" | "ps" {
  return existsSync(BOOT_ID) && existsSync("/proc/self/stat") ? "proc" : "ps";
}
