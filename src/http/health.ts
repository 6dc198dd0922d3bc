/** Whether the daemon works, and whether it can do its job: for supervisors and load balancers. Made from the snapshot. */
import type { z } from "zod";
import type { healthSchema, readySchema } from "./schemas.ts";
import { stateSchema } from "./schemas.ts";

export type Health = z.infer<typeof healthSchema>;
export type Readiness = z.infer<typeof readySchema>;

/** What is wrong, by part. A pause that a person wished or a limit that was met is no problem of the daemon. */
function problemsOf(snapshot: unknown): { readonly mode: Health["mode"]; readonly problems: Health["problems"] } {
  const { mode, tracker, workflow, ledger } = stateSchema.parse(snapshot);
  const parts = { ledger, workflow, tracker };
  const problems = Object.entries(parts).flatMap(([part, { last_error: error }]) =>
    error === null ? [] : [{ part, message: error.message }],
  );
  return { mode, problems };
}

/** The process answers, so it lives; `degraded` says that a part of it has a problem. */
export function healthOf(snapshot: unknown): Health {
  const { mode, problems } = problemsOf(snapshot);
  return { status: problems.length === 0 ? "ok" : "degraded", mode, problems };
}

/** Tickets that come now are worked on as far as it is up to the daemon: the tracker was read, all parts work, and it isn't stopping. */
export function readinessOf(snapshot: unknown): Readiness {
  const { mode, problems } = problemsOf(snapshot);
  const all = [...problems];
  if (stateSchema.parse(snapshot).tracker.last_ok_at === null && problems.every(({ part }) => part !== "tracker")) {
    all.push({ part: "tracker", message: "not read yet" });
  }
  if (mode !== "running") all.push({ part: "daemon", message: `it is ${mode}` });
  return { ready: all.length === 0, problems: all };
}
