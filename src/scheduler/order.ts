/** Dispatch order (section 8): priority 1 to 4, everything else after; oldest first; then identifier. */
import type { Issue } from "../domain/issue.ts";

const UNRANKED = 5;

function rank(priority: number | null): number {
  return priority !== null && Number.isInteger(priority) && priority >= 1 && priority <= 4 ? priority : UNRANKED;
}

function createdAt(issue: Issue): number {
  const at = issue.created_at === null ? Number.NaN : Date.parse(issue.created_at);
  return Number.isNaN(at) ? Number.POSITIVE_INFINITY : at;
}

/** Code units, not locale: the order must be the same on every machine. */
function compareText(a: string, b: string): number {
  if (a === b) return 0;
  return a < b ? -1 : 1;
}

/** A total order over issues with distinct ids. */
export function compareIssues(a: Issue, b: Issue): number {
  const byRank = rank(a.priority) - rank(b.priority);
  if (byRank !== 0) return byRank;
  const [createdA, createdB] = [createdAt(a), createdAt(b)];
  if (createdA !== createdB) return createdA < createdB ? -1 : 1;
  return compareText(a.identifier, b.identifier) || compareText(a.id, b.id);
}
