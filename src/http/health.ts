/** Whether the daemon works, and whether it can do its job: for supervisors and load balancers. Made from the snapshot. */
import type { z } from "zod";
import type { healthSchema, readySchema } from "./schemas/daemon.ts";
import { stateSchema } from "./schemas/state.ts";

export type Health = z.infer<typeof healthSchema>;
export type Readiness = z.infer<typeof readySchema>;

/** What is wrong, by part. A pause that a person wished or a limit that was met is no problem of the daemon. */
function problemsOf({ tracker, workflow, ledger }: z.infer<typeof stateSchema>): Health["problems"] {
  const parts = { ledger, workflow, tracker };
  return Object.entries(parts).flatMap(([part, { last_error: error }]) =>
    error === null ? [] : [{ part, message: error.message }],
  );
}

/** The process answers, so it lives; `degraded` says that a part of it has a problem. */
export function healthOf(snapshot: unknown): Health {
  const state = stateSchema.parse(snapshot);
  const { mode } = state;
  const problems = problemsOf(state);
  return { status: problems.length === 0 ? "ok" : "degraded", mode, problems };
}

/** Tickets that come now are worked on as far as it is up to the daemon: the tracker was read, all parts work, and it isn't stopping. */
export function readinessOf(snapshot: unknown): Readiness {
  const state = stateSchema.parse(snapshot);
  const { mode, tracker } = state;
  const problems = problemsOf(state);
  const all = [...problems];
  if (tracker.last_ok_at === null && problems.every(({ part }) => part !== "tracker")) {
    all.push({ part: "tracker", message: "not read yet" });
  }
  if (mode !== "running") all.push({ part: "daemon", message: `it is ${mode}` });
  return { ready: all.length === 0, problems: all };
}
