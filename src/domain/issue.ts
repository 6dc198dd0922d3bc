/** The normalized issue of the public specification, section 4.1.1. */
import type { IssueId } from "./ids.ts";

/** An issue that must end before the one that carries it may start. Each field may be unknown. */
export interface Blocker {
  readonly id: string | null;
  readonly identifier: string | null;
  readonly state: string | null;
}

/** Values that survive a round trip through JSON. */
export type JsonValue = null | boolean | number | string | readonly JsonValue[] | { readonly [key: string]: JsonValue };

/** One ticket. Every field is always present; the names are those of templates and of the API. */
export interface Issue {
  readonly id: IssueId;
  /** Human key such as `ENG-7`, unique in the configured scope. */
  readonly identifier: string;
  readonly title: string;
  /** The tracker's own spelling; compare with {@link normalizeState}. */
  readonly state: string;
  readonly description: string | null;
  readonly branch_name: string | null;
  readonly url: string | null;
  readonly assignee_id: string | null;
  /** 1 (urgent) to 4 (low); anything else sorts last. */
  readonly priority: number | null;
  /** Trimmed, lower-cased, without blanks or repeats. */
  readonly labels: readonly string[];
  readonly blocked_by: readonly Blocker[];
  /** False when the adapter itself forbids a start (assignee filter, open blocker). */
  readonly dispatchable: boolean;
  /** Adapter's own JSON-safe data, never read by the scheduler, never a secret. */
  readonly native_ref: { readonly [key: string]: JsonValue } | null;
  /** RFC 3339 instants. */
  readonly created_at: string | null;
  readonly updated_at: string | null;
}

/** States and labels are compared trimmed and lower-cased (section 4.1.1). */
export function normalizeState(name: string): string {
  return name.trim().toLowerCase();
}

/** Trims, lower-cases, drops blanks and repeats. */
export function normalizeLabels(labels: readonly string[]): string[] {
  return [...new Set(labels.map(normalizeState).filter((label) => label !== ""))];
}
