/** Start-up clean-up (section 8.6): directories of terminal issues that the ledger doesn't know. Known ones are found by their ids, in polls. */
import { realpath } from "node:fs/promises";
import { errorMessage } from "../domain/errors.ts";
import type { Settings } from "../domain/settings.ts";
import type { Clock } from "../lib/clock.ts";
import type { Log } from "../lib/log.ts";
import type { Event } from "../scheduler/events.ts";
import type { State } from "../scheduler/state.ts";
import type { Tracker } from "../tracker/port.ts";
import { adoptLeftover, findLeftovers } from "../workspace/leftovers.ts";

export interface SweepDeps {
  readonly clock: Clock;
  readonly log: Log;
  readonly settings: Settings;
  readonly tracker: Tracker;
  readonly state: State;
  readonly ledgerId: string;
  readonly signal: AbortSignal;
  post(event: Event): void;
}

/** Asks the tracker only where there is a directory to ask about. A failed query is a warning: the directories stay. */
export async function sweepLeftovers(deps: SweepDeps): Promise<void> {
  const { clock, log, settings, tracker, state, ledgerId, signal, post } = deps;
  if (settings.workspace.onTerminal === "keep") return;
  try {
    const root = await realpath(settings.workspace.root);
    const known = new Set([...state.workspaces.values()].map((record) => record.path));
    const leftovers = await findLeftovers({ root, ledgerId, known });
    if (leftovers.size === 0) return;
    for (const issue of await tracker.fetchIssuesByStates(settings.tracker.terminalStates, signal)) {
      const record = await adoptLeftover(issue, leftovers, { root, ledgerId, now: clock.now() });
      if (record !== null) post({ kind: "workspace_found", record, issue });
    }
  } catch (error) {
    if (!signal.aborted) log.warn({ reason: errorMessage(error) }, "looking for workspaces of terminal issues failed");
  }
}
