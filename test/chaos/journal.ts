/** What hooks, launchers and agents of a round wrote down while they were at work. */
import { readFileSync } from "node:fs";

export interface Entry {
  /** A hook's name, `launch`, `agent`, `begin`, `tool`, `done`, or `violation:...`. */
  readonly name: string;
  readonly ticket: string;
  /** The run's id; of a `before_remove` hook or a look (isLook) another marker. */
  readonly run: string;
  readonly pid: number;
}

/** A look at the agent, beside the first poll, starts one without a ticket: that is no run, and has no row. */
export function isLook(marker: string): boolean {
  return marker.startsWith("check-");
}

function parseEntry(line: string): Entry | null {
  const [name, ticket, run, pid] = line.split(" ");
  if (name === undefined || ticket === undefined || run === undefined || pid === undefined) return null;
  return { name, ticket, run, pid: Number(pid) };
}

/** All entries so far, in the order in which they were written. A process that is killed writes a line whole or not at all. */
export function readJournal(path: string): readonly Entry[] {
  return readFileSync(path, "utf8")
    .split("\n")
    .flatMap((line) => parseEntry(line) ?? []);
}
