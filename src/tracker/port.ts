/** What the daemon needs of any issue tracker (section 11). Every adapter passes test/contract/tracker-contract.ts. */
import type { IssueId } from "../domain/ids.ts";
import type { Issue, JsonValue } from "../domain/issue.ts";
import type { Tool } from "../domain/tool.ts";

/** Both answers of one combined read. */
export interface PollAnswer {
  readonly candidates: readonly Issue[];
  readonly tracked: readonly Issue[];
}

/** For one picture of a description. */
export interface FetchImageOptions {
  /** More is refused, and not read to its end. */
  readonly maxBytes: number;
  readonly signal: AbortSignal;
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
  /**
   * The bytes of a picture that a description names by `reference`, which is untrusted. Null where it isn't the tracker's own: nothing is
   * ever fetched from elsewhere. Throws an AppError where it can't be had.
   */
  fetchImage?(reference: string, options: FetchImageOptions): Promise<Uint8Array | null>;
  /** Bound to a session when it starts. */
  readonly tools: readonly Tool[];
  /** Frees sockets and watchers. */
  close(): Promise<void>;
}

/** What to do with a delivery. A tracker wants 200 for everything that is its own, else it sends it again and in the end stops sending. */
export type WebhookVerdict =
  | { readonly kind: "wake" }
  /** Genuine, but seen before, or about something that no poll reads. */
  | { readonly kind: "ignore"; readonly why: string }
  /** Not the tracker's, or too old: HTTP 400, and nothing is done. */
  | { readonly kind: "refuse"; readonly why: string };

/** A tracker's deliveries over HTTP. They carry no state: a genuine one only wakes the poll. */
export interface Webhook {
  /** Where deliveries are posted to. */
  readonly path: string;
  /** The header with the signature, in lower case. */
  readonly signatureHeader: string;
  /** `body` are the raw bytes, before any parsing; `signature` is that header. */
  judge(body: Buffer, signature: string | undefined): WebhookVerdict;
}
