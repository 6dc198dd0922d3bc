/** The processes of a round as /proc shows them. */
import { readdirSync, readFileSync, readlinkSync } from "node:fs";

export interface RoundProcess {
  readonly pid: number;
  readonly command: string;
}

function readOrNothing(read: () => string): string {
  try {
    return read();
  } catch {
    return ""; // Ended meanwhile.
  }
}

/** Every process whose environment or working directory names the round's folder; zombies have neither. */
export function processesOf(root: string): readonly RoundProcess[] {
  const pids = readdirSync("/proc").filter((name) => /^\d+$/.test(name) && Number(name) !== process.pid);
  return pids.flatMap((pid) => {
    const environment = readOrNothing(() => readFileSync(`/proc/${pid}/environ`, "utf8"));
    const isOurs = environment.includes(root) || readOrNothing(() => readlinkSync(`/proc/${pid}/cwd`)).startsWith(root);
    if (!isOurs) return [];
    const command = readOrNothing(() => readFileSync(`/proc/${pid}/cmdline`, "utf8")).replaceAll("\0", " ");
    return [{ pid: Number(pid), command: command.slice(0, 160) }];
  });
}

/** Whether such a process still is one of the round. */
export function isOfRound(pid: number, root: string): boolean {
  return readOrNothing(() => readFileSync(`/proc/${pid}/environ`, "utf8")).includes(root);
}

/** False when it has ended meanwhile. */
export function sendSignal(pid: number, signal: NodeJS.Signals): boolean {
  try {
    return process.kill(pid, signal);
  } catch {
    return false;
  }
}
