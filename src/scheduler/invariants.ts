/** What must hold after every event (docs/operating.md). Asserted in the simulation; in production a breach is logged and counted. */
import type { Claim } from "../domain/claim.ts";
import type { State } from "./state.ts";

/** One sentence per breach; an empty list is health. */
export function findBreaches(state: State): string[] {
  const breaches: string[] = [];
  const runIds = new Set<string>();
  const paths = new Map<string, string>();
  for (const [id, claim] of state.claims) {
    const name = claim.issue.identifier;
    if (claim.issue.id !== id) breaches.push(`the claim under ${id} is about ${claim.issue.id}`);
    const breach = breachOf(claim);
    if (breach !== null) breaches.push(`${name}: ${breach}`);
    if (claim.kind === "running") {
      if (runIds.has(claim.runId)) breaches.push(`${name}: run ${claim.runId} belongs to two tickets`);
      runIds.add(claim.runId);
    }
    if (claim.kind !== "running" && claim.kind !== "cleaning") continue;
    const path = claim.kind === "cleaning" ? claim.path : state.workspaces.get(id)?.path;
    if (path === undefined) continue;
    const other = paths.get(path);
    if (other !== undefined) breaches.push(`${name} and ${other} both use ${path}`);
    paths.set(path, name);
  }
  return breaches;
}

function breachOf(claim: Claim): string | null {
  switch (claim.kind) {
    case "running":
      return Number.isFinite(claim.lastEventAt) ? null : "a run without a last event";
    case "waiting":
      if (claim.dueAt !== null && !Number.isFinite(claim.dueAt)) return "a wait with no usable due time";
      if (claim.check !== null && claim.dueAt !== null) return "a wait that is looked at and still has a due time";
      return claim.why === "dispatch" && claim.check === null ? "a fresh candidate that nobody looks at" : null;
    case "blocked":
      return claim.message === "" ? "blocked without a reason" : null;
    case "cleaning":
      return claim.path === "" ? "a clean-up without a path" : null;
    default:
      return "a claim of no known kind";
  }
}
