/** From Linear's record to the normalized issue of the specification, section 4.1.1. */
import { issueId } from "../../domain/ids.ts";
import type { Blocker, Issue, JsonValue } from "../../domain/issue.ts";
import { normalizeLabels, normalizeState } from "../../domain/issue.ts";
import type { IssueNode, RelationNode } from "./records.ts";

/** The state in which an open blocker holds an issue back; work that has begun goes on. */
const GATED_STATE = "todo";

/** What a record is read with besides itself. */
export interface NormalizeContext {
  /** Null for an id that Linear doesn't know any more. */
  labelName(id: string): string | null;
  /** Normalized names. */
  readonly terminalStates: ReadonlySet<string>;
  /** User ids that an issue must have to be dispatched; null = any. */
  readonly assignee: string | null;
  readonly delegate: string | null;
}

/** Linear gives 0 for "no priority" and whole numbers as floats. */
function priorityOf(value: number | null): number | null {
  return value !== null && Number.isSafeInteger(value) ? value : null;
}

function instantOf(value: string | null): string | null {
  return value !== null && !Number.isNaN(Date.parse(value)) ? value : null;
}

/** Of the inverse relations, only `blocks` holds an issue back; the blocker is the relation's own issue. */
function blockersOf(relations: readonly RelationNode[]): Blocker[] {
  return relations
    .filter((relation) => relation.type === "blocks")
    .map(({ issue }) => ({
      id: issue?.id ?? null,
      identifier: issue?.identifier ?? null,
      state: issue?.state?.name ?? null,
    }));
}

/** A blocker whose state can't be seen holds: work must not start too early. */
function isOpen(blocker: Blocker, terminalStates: ReadonlySet<string>): boolean {
  return blocker.state === null || !terminalStates.has(normalizeState(blocker.state));
}

function nativeRefOf(node: IssueNode): { readonly [key: string]: JsonValue } {
  return {
    state_id: node.state.id,
    state_type: node.state.type,
    team_id: node.team?.id ?? null,
    team_key: node.team?.key ?? null,
    project_id: node.project?.id ?? null,
    delegate_id: node.delegate?.id ?? null,
    label_ids: node.labelIds,
  };
}

/** Whether open blockers hold an issue in this state. */
export function isGated(node: IssueNode): boolean {
  return normalizeState(node.state.name) === GATED_STATE;
}

/** Pure. `relations` are all inverse relations of the issue. */
export function normalizeIssue(node: IssueNode, relations: readonly RelationNode[], context: NormalizeContext): Issue {
  const blockedBy = blockersOf(relations);
  const isHeld = isGated(node) && blockedBy.some((blocker) => isOpen(blocker, context.terminalStates));
  const isOurs =
    (context.assignee === null || node.assignee?.id === context.assignee) &&
    (context.delegate === null || node.delegate?.id === context.delegate);
  return {
    id: issueId(node.id),
    identifier: node.identifier,
    title: node.title,
    state: node.state.name,
    description: node.description,
    branch_name: node.branchName,
    url: node.url,
    assignee_id: node.assignee?.id ?? null,
    priority: priorityOf(node.priority),
    labels: normalizeLabels(node.labelIds.map(context.labelName).filter((name) => name !== null)),
    blocked_by: blockedBy,
    dispatchable: isOurs && !isHeld,
    native_ref: nativeRefOf(node),
    created_at: instantOf(node.createdAt),
    updated_at: instantOf(node.updatedAt),
  };
}
