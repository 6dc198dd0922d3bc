/** What the daemon needs of any issue tracker (section 11). Every adapter passes test/contract/tracker-contract.ts. */
import type { IssueId, RunId } from "../domain/ids.ts";
import type { Issue, JsonValue } from "../domain/issue.ts";
import type { Tool } from "../domain/tool.ts";

/** Both answers of one combined read. */
export interface PollAnswer {
  readonly candidates: readonly Issue[];
  readonly tracked: readonly Issue[];
  /** Tracked, and malformed in this answer: neither seen nor gone. One of them must not keep the others from being read. */
  readonly unreadable: readonly IssueId[];
}

/** A ticket that a listing had to leave out. */
export interface MalformedTicket {
  readonly identifier: string;
  /** Where a person mends it: a file, with the line where there is one. */
  readonly where: string;
  readonly reason: string;
  /** Null where it can't be read. */
  readonly title: string | null;
  readonly state: string | null;
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
  /** Candidates in `states` and the tracked `ids` in as few requests as the tracker allows. A malformed record is skipped with a warning. */
  poll?(query: { states: readonly string[]; ids: readonly IssueId[] }, signal?: AbortSignal): Promise<PollAnswer>;
  /** What the last listing left out as malformed, for people who look for it; absent where a tracker has no such thing. */
  malformed?(): readonly MalformedTicket[];
  /** Figures for the status, such as what is left of a rate limit. */
  usage?(): { readonly [key: string]: JsonValue };
  /**
   * The bytes of a picture that a description names by `reference`, which is untrusted. Null where it isn't the tracker's own: nothing is
   * ever fetched from elsewhere. Throws an AppError where it can't be had.
   */
  fetchImage?(reference: string, options: FetchImageOptions): Promise<Uint8Array | null>;
  /** Absent where the tracker doesn't show runs, or isn't asked to. */
  readonly sessions?: RunSessions;
  /** Bound to a session when it starts. */
  readonly tools: readonly Tool[];
  /** Frees sockets and watchers. */
  close(): Promise<void>;
}

/** How a run ended, for those who follow it in the tracker. */
export interface RunSessionEnd {
  /** `asked`: a person must answer before the work goes on, in the same session. */
  readonly kind: "done" | "failed" | "asked";
  /** Null where everything has been said. */
  readonly text: string | null;
}

/**
 * Runs as the tracker itself shows them, beside the ticket. Every call is quick and none throws: what can't be sent is logged and left
 * out. Texts are shown to people as they are, so they must hold no secret.
 */
export interface RunSessions {
  /** `url` leads to the daemon's own page; null where it has none. */
  began(run: { readonly runId: RunId; readonly issueId: IssueId; readonly url: string | null }): void;
  /** The newest of several in a short time is what is shown. */
  progressed(runId: RunId, text: string): void;
  /** The whole plan, a step a line, each with its status in brackets before it. */
  planned(runId: RunId, text: string): void;
  /** The run waits for a person. */
  asked(runId: RunId, question: string): void;
  ended(runId: RunId, end: RunSessionEnd): void;
  /** The tracker has opened a session by itself, for the issue's next run. */
  adopt(issueId: IssueId, sessionId: string): void;
  /** Tells the person who has just spoken in that session. */
  reply(sessionId: string, text: string): void;
}

/** Something that was said to the agent in a session of the tracker's. */
export interface SessionPrompt {
  readonly sessionId: string;
  readonly issueId: IssueId;
  readonly text: string;
  /** The person wants the work to end. */
  readonly isStop: boolean;
}

/** What to do with a delivery. A tracker wants 200 for everything that is its own, else it sends it again and in the end stops sending. */
export type WebhookVerdict =
  | { readonly kind: "wake" }
  /** The tracker has opened a session on an issue: for the next run, and worth a poll. */
  | { readonly kind: "session"; readonly sessionId: string; readonly issueId: IssueId }
  | ({ readonly kind: "prompt" } & SessionPrompt)
  /** Genuine, but seen before, or about something that no poll reads. */
  | { readonly kind: "ignore"; readonly why: string }
  /** Not the tracker's, or too old: HTTP 400, and nothing is done. */
  | { readonly kind: "refuse"; readonly why: string };

/** A delivery about a session: one was opened, or a person has spoken in one. */
export type SessionEvent = Extract<WebhookVerdict, { readonly kind: "session" | "prompt" }>;

/** A tracker's deliveries over HTTP. They carry no state of tickets: a genuine one wakes the poll. */
export interface Webhook {
  /** Where deliveries are posted to. */
  readonly path: string;
  /** The header with the signature, in lower case. */
  readonly signatureHeader: string;
  /** `body` are the raw bytes, before any parsing; `signature` is that header. */
  judge(body: Buffer, signature: string | undefined): WebhookVerdict;
}
