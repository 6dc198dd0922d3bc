/** Whether the tracker answers, what it shows in the scope, and what it warns about, such as a state that no team has. */
import { errorMessage } from "../../domain/errors.ts";
import type { Settings } from "../../domain/settings.ts";
import type { Clock } from "../../lib/clock.ts";
import type { Log } from "../../lib/log.ts";
import { createTracker } from "../../tracker/registry.ts";
import { fail, ok, warn, type Check } from "./check.ts";

interface Heard {
  readonly log: Log;
  readonly warnings: readonly string[];
}

export interface BoardInput {
  readonly settings: Settings;
  readonly clock: Clock;
  /** A log, and the warnings that were written to it. */
  listen(): Heard;
}

/** One poll, as a daemon's first. */
export async function checkBoard({ settings, clock, listen }: BoardInput): Promise<readonly Check[]> {
  const { kind, activeStates } = settings.tracker;
  const { log, warnings } = listen();
  try {
    const tracker = await createTracker({ settings, clock, log });
    try {
      const issues =
        tracker.poll === undefined
          ? await tracker.fetchIssuesByStates(activeStates)
          : (await tracker.poll({ states: activeStates, ids: [] })).candidates;
      const startable = issues.filter((issue) => issue.dispatchable).length;
      const seen = `${kind} answers: ${issues.length} issues in ${activeStates.join(", ")}, ${startable} of them assigned so that they may start`;
      return [ok("tracker", seen), ...warnings.map((text) => warn("tracker", text, null))];
    } finally {
      await tracker.close();
    }
  } catch (error) {
    const mend = "see docs/trackers/ for the keys of this tracker, and for what its errors mean";
    return [fail("tracker", `${kind} can't be read: ${errorMessage(error)}`, mend)];
  }
}
