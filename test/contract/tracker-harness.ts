/** What an adapter's own test offers to the tracker contract suite: a backing store that can be changed behind its back. */
import type { IssueId } from "../../src/domain/ids.ts";
import type { Tracker } from "../../src/tracker/port.ts";

/** An issue to be put into the tracker's backing store, in the tracker's raw terms: nothing in it is normalized yet. */
export interface IssueDraft {
  readonly title: string;
  /** One of `HarnessStates`, spelled as there. */
  readonly state: string;
  readonly description?: string;
  readonly priority?: number;
  /** May hold blanks, repeats and capitals. */
  readonly labels?: readonly string[];
  readonly blockedBy?: readonly IssueId[];
}

/** State names that the backing store must know, with the roles they have in the adapter's settings. */
export const HARNESS_STATES = {
  active: ["Todo", "In Progress"],
  terminal: ["Done", "Closed", "Cancelled", "Canceled", "Duplicate"],
  other: ["Backlog"],
} as const;

/** One adapter on a backing store of its own, which the suite may change behind the adapter's back. Made anew for each test. */
export interface TrackerHarness {
  readonly tracker: Tracker;
  create(draft: IssueDraft): Promise<IssueId>;
  /** Changes the named fields only. */
  update(id: IssueId, patch: Partial<IssueDraft>): Promise<void>;
  /** The issue leaves the scope for good: the file is deleted, the ticket is moved out of the project. */
  remove(id: IssueId): Promise<void>;
  /** The record stays where a read finds it and matches its state filter where the tracker filters, but lacks a required field. */
  breakRecord(id: IssueId): Promise<void>;
  /** From now on reads fail, as late as they can: a tracker that pages answers its first page first. */
  failReads(): Promise<void>;
  /** Ends {@link failReads}. */
  healReads(): Promise<void>;
  /** Raw JSON log lines of level warn and above so far. */
  warnings(): readonly string[];
  dispose(): Promise<void>;
}
