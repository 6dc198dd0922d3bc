/** How a run gets its ticket's pictures: from the tracker that it is bound to, into a folder of its own. */
import { join } from "node:path";
import { gatherPictures } from "../agent/pictures/gather.ts";
import type { RunRequest } from "../agent/run-port.ts";
import type { RunId } from "../domain/ids.ts";
import type { Issue } from "../domain/issue.ts";
import type { Settings } from "../domain/settings.ts";
import type { Clock } from "../lib/clock.ts";
import type { Tracker } from "../tracker/port.ts";

export interface PicturesInput {
  readonly tracker: Tracker;
  readonly runId: RunId;
  readonly issue: Issue;
  readonly settings: Settings;
  readonly clock: Clock;
  /** Where all runs' folders are. */
  readonly dir: string;
}

/** Nothing where the tracker has no pictures. */
export function picturesOf({
  tracker,
  runId,
  issue,
  settings,
  clock,
  dir,
}: PicturesInput): Pick<RunRequest, "pictures"> {
  if (tracker.fetchImage === undefined) return {};
  return {
    pictures: (signal) =>
      gatherPictures({
        description: issue.description,
        ...settings.codex.images,
        folder: join(dir, runId),
        fetch: (reference, options) => tracker.fetchImage?.(reference, options) ?? Promise.resolve(null),
        clock,
        signal,
      }),
  };
}
