/** What the daemon needs of any issue tracker (section 11). Every adapter passes test/contract/tracker-contract.ts. */
import type { IssueId } from "../domain/ids.ts";
import type { Issue, JsonValue } from "../domain/issue.ts";
import type { Tool } from "../domain/tool.ts";

/** Both answers of one combined read. */
export interface PollAnswer {
  readonly candidates: readonly Issue[];
  readonly tracked: readonly Issue[];
}

/**
 * Reads are complete or they throw an AppError (tracker_request, tracker_status, tracker_response, tracker_pagination,
 * tracker_rate_limited with `data.resetAt` in epoch ms); they never answer partially. Empty input answers empty without a request.
 */
export interface Tracker {
  readonly kind: string;
  /** Full snapshots of every issue in the scope whose state is one of `names`, those that aren't dispatchable included. A malformed record is skipped with a warning. */
  fetchIssuesByStates(names: readonly string[], signal?: AbortSignal): Promise<readonly Issue[]>;
  /** Full snapshots by id; ids outside the scope are omitted, which means "no longer visible". A malformed record fails the call. */
  fetchIssuesByIds(ids: readonly IssueId[], signal?: AbortSignal): Promise<readonly Issue[]>;
  /** Candidates in `states` and the tracked `ids` in as few requests as the tracker allows. */
  poll?(query: { states: readonly string[]; ids: readonly IssueId[] }, signal?: AbortSignal): Promise<PollAnswer>;
  /** Figures for the status, such as what is left of a rate limit. */
  usage?(): { readonly [key: string]: JsonValue };
  /** Bound to a session when it starts. */
  readonly tools: readonly Tool[];
  /** Frees sockets and watchers. */
  close(): Promise<void>;
}
