/** How a process tree is ended: by degrees, until nothing of it is left. */
import type { Clock } from "../lib/clock.ts";
import type { Log } from "../lib/log.ts";
import type { ProcessRow } from "./process-table.ts";
import type { ProcessTree } from "./process-tree.ts";

/** From TERM to KILL. An app-server is gone 15 to 120 ms after TERM (measured); a build may need a moment to clean up. */
const TERM_GRACE_MS = 2000;
/** Between looks; the first are short, since most trees are gone at once. */
const POLL_MS = [5, 10, 20, 50, 100] as const;
/** A process in an uninterruptible sleep outlives KILL until its I/O ends; say so at this interval. */
const COMPLAIN_EVERY_MS = 10_000;

export interface LadderDeps {
  readonly clock: Clock;
  readonly log: Log;
}

function pollDelay(round: number): number {
  return POLL_MS[Math.min(round, POLL_MS.length - 1)] ?? 100;
}

/** Waits until the members of the last look are gone, or the time is up. True when they are gone. */
async function waitUntilGone(tree: ProcessTree, forMs: number, clock: Clock): Promise<boolean> {
  const deadline = clock.now() + forMs;
  for (let round = 0; ; round += 1) {
    if ((await tree.remaining()).length === 0) return true;
    if (clock.now() >= deadline) return false;
    await clock.sleep(pollDelay(round));
  }
}

/** Stops the members so that none can fork while the others are being killed, then kills them all. */
async function killFrozen(tree: ProcessTree, first: readonly ProcessRow[]): Promise<void> {
  const frozen = new Set<number>();
  let members = first;
  while (members.some((row) => !frozen.has(row.pid))) {
    await tree.signal(
      members.filter((row) => !frozen.has(row.pid)),
      "SIGSTOP",
    );
    for (const row of members) frozen.add(row.pid);
    members = await tree.members();
  }
  await tree.signal(members, "SIGKILL");
}

/**
 * TERM, a grace, then KILL, again and again until a fresh look at all processes finds none of the tree. Resolves at once when there
 * is nothing left. Never gives up: the caller's claim on a workspace rests on this.
 */
export async function endTree(tree: ProcessTree, { clock, log }: LadderDeps): Promise<void> {
  let members = await tree.members();
  if (members.length === 0) return;
  await tree.signal(members, "SIGTERM");
  // A stopped process can't act on TERM before it goes on.
  await tree.signal(members, "SIGCONT");
  await waitUntilGone(tree, TERM_GRACE_MS, clock);
  const startedAt = clock.now();
  let complainAt = startedAt + COMPLAIN_EVERY_MS;
  for (let round = 0; ; round += 1) {
    members = await tree.members();
    if (members.length === 0) return;
    await killFrozen(tree, members);
    if (await waitUntilGone(tree, pollDelay(round), clock)) continue;
    if (clock.now() < complainAt) continue;
    complainAt = clock.now() + COMPLAIN_EVERY_MS;
    const pids = members.map((row) => row.pid);
    log.warn({ pids, waitedMs: clock.now() - startedAt }, "processes of a run outlive SIGKILL");
  }
}
