/** Keeps the daemon ahead of what it starts: fifty agents that start at once must not starve the process that is starting them. */
import { writeFileSync } from "node:fs";
import { setPriority } from "node:os";

/** Only counts where there is less processor time than is wanted; measured, 50 agents on two processors were started 5 times sooner. */
const CHILD_NICE = 10;

/**
 * Lowers the priority of a child that has just been started, and so of all that it starts. Linux shares processor time between
 * sessions first (autogroup), where a process's own nice value counts for nothing; the session's does, so both are set. Whatever
 * isn't permitted or doesn't exist here is left as it is: the child then runs like any other.
 */
export function yieldToDaemon(pid: number): void {
  try {
    setPriority(pid, CHILD_NICE);
    writeFileSync(`/proc/${pid}/autogroup`, String(CHILD_NICE));
  } catch {
    // No such kernel, no such process any more, or too many of these writes at once for another user than root.
  }
}
