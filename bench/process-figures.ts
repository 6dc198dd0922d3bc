/** What Linux knows of a running process: its CPU time, memory, wake-ups and handles. */
import { readdirSync, readFileSync } from "node:fs";

/** Of /proc/PID/stat; the kernel's clock tick of every platform that Node runs on. */
const TICK_MS = 10;
/** Places after the command's closing bracket. */
const USER_TIME = 11;
const SYSTEM_TIME = 12;

export interface ProcessFigures {
  /** User and system, its children's not. */
  readonly cpuMs: number;
  readonly rssMb: number;
  /** The most that it ever had. */
  readonly peakMb: number;
  /** Times that any of its threads has gone to sleep by itself. */
  readonly wakeUps: number;
  readonly handles: number;
}

function field(status: string, name: string): number {
  return Number(new RegExp(`^${name}:\\s+(\\d+)`, "m").exec(status)?.[1] ?? 0);
}

function threadWakeUps(pid: number): number {
  const tasks = readdirSync(`/proc/${pid}/task`);
  return tasks
    .map((task) => field(readFileSync(`/proc/${pid}/task/${task}/status`, "utf8"), "voluntary_ctxt_switches"))
    .reduce((sum, count) => sum + count, 0);
}

/** Memory that a process has to itself, and its part of what it shares with others, MB. Throws as {@link processFigures} does. */
export function proportionalMb(pid: number): number {
  return field(readFileSync(`/proc/${pid}/smaps_rollup`, "utf8"), "Pss") / 1024;
}

/** Throws when the process is gone, or the system isn't Linux. */
export function processFigures(pid: number): ProcessFigures {
  const stat = readFileSync(`/proc/${pid}/stat`, "utf8");
  const fields = stat.slice(stat.lastIndexOf(")") + 2).split(" ");
  const status = readFileSync(`/proc/${pid}/status`, "utf8");
  return {
    cpuMs: (Number(fields[USER_TIME]) + Number(fields[SYSTEM_TIME])) * TICK_MS,
    rssMb: field(status, "VmRSS") / 1024,
    peakMb: field(status, "VmHWM") / 1024,
    wakeUps: threadWakeUps(pid),
    handles: readdirSync(`/proc/${pid}/fd`).length,
  };
}
