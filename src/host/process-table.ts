/** What processes there are, read without trusting a bare pid. */
import { createProcTable, hasProc } from "./proc-table.ts";
import { createPsTable } from "./ps-table.ts";

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
  /**
   * Whether the environment of a listed process holds `NAME=value`. False where that can't be read: another user's process, or no
   * /proc. Null when the environment is empty, which it also is for a moment in the middle of an exec.
   */
  carries(pid: number, assignment: string): boolean | null;
}

/** Both looks reject when nothing can be told, such as with too many open files. */
export interface ProcessTable {
  /** Read after the call, once for all calls of one turn of the event loop. */
  list(): Promise<ProcessList>;
  /** One process, null when there is none of that pid. */
  read(pid: number): Promise<ProcessRow | null>;
  /** False only when it is certain that `row` started before `startTime`. */
  startedSince(row: ProcessRow, startTime: string): boolean;
}

/** The table of this machine: /proc where there is one, `ps` elsewhere (macOS). */
export function createProcessTable(source: "proc" | "ps" = hasProc() ? "proc" : "ps"): ProcessTable {
  return source === "proc" ? createProcTable() : createPsTable();
}
