/** Branded identifiers, so that an issue id is never passed where a run id is wanted. */

/** Opaque identity of an issue in its tracker; what claims, runs and workspaces are keyed by. */
export type IssueId = string & { readonly __brand: "IssueId" };
/** Identity of one run (one attempt at one issue), unique in the ledger. */
export type RunId = string & { readonly __brand: "RunId" };

/** Brands a tracker's id. */
export function issueId(value: string): IssueId {
  return value as IssueId;
}

/** Brands a run id. */
export function runId(value: string): RunId {
  return value as RunId;
}
