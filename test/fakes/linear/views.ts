/** What GraphQL sees of the board's rows: plain fields, and functions where a field leads to other rows. */
import type { Board } from "./board.ts";
import { found } from "./board.ts";
import type { Connection, PageArgs } from "./connection.ts";
import { connect } from "./connection.ts";
import { ArgumentValidationError, matchesFilter } from "./filter.ts";
import type { AttachmentRow, CommentRow, IssueRow, LabelRow, RelationRow, StateRow, UserRow } from "./rows.ts";

/** What graphql-js resolves fields from: values, or functions of the field's arguments. */
export type View = Readonly<Record<string, unknown>>;

export interface ListArgs extends PageArgs {
  readonly filter?: unknown;
  readonly sort?: readonly Readonly<Record<string, { readonly order?: string | null } | null | undefined>>[] | null;
  readonly orderBy?: "createdAt" | "updatedAt" | null;
  readonly includeArchived?: boolean | null;
}

const NO_PRIORITY_LAST = 5;

function compareText(a: string, b: string): number {
  if (a === b) return 0;
  return a < b ? -1 : 1;
}

/** By `sort` when it is given, else newest first by creation (or change). Both at once are refused. */
function sortIssues(rows: IssueRow[], args: ListArgs): IssueRow[] {
  const keys = args.sort ?? [];
  if (keys.length > 0 && (args.orderBy ?? null) !== null) throw new ArgumentValidationError("sort with orderBy");
  const field = args.orderBy ?? "createdAt";
  if (keys.length === 0) return rows.toSorted((a, b) => compareText(b[field], a[field]));
  return rows.toSorted((a, b) => {
    for (const key of keys) {
      for (const [name, how] of Object.entries(key)) {
        const order = how?.order === "Descending" ? -1 : 1;
        const result = order * compareBy(name, a, b);
        if (result !== 0) return result;
      }
    }
    return 0;
  });
}

function compareBy(name: string, a: IssueRow, b: IssueRow): number {
  if (name === "priority") return (a.priority || NO_PRIORITY_LAST) - (b.priority || NO_PRIORITY_LAST);
  if (name === "createdAt" || name === "updatedAt") return compareText(a[name], b[name]);
  throw new ArgumentValidationError(`the fake can't sort by ${name}`);
}

/** Views over one board. */
export class Views {
  readonly #board: Board;

  constructor(board: Board) {
    this.#board = board;
  }

  /** A list of issues with Linear's filter, order and paging; archived ones only when they are asked for. */
  issues(rows: Iterable<IssueRow>, args: ListArgs): Connection<View> {
    const kept = [...rows]
      .filter((row) => args.includeArchived === true || row.archivedAt === null)
      .filter((row) => matchesFilter(this.#issueTarget(row), args.filter));
    return connect(sortIssues(kept, args), args, (row) => this.issue(row));
  }

  /** A list of anything else, newest first as Linear's default is. */
  list<Row extends { readonly id: string }>(
    rows: Iterable<Row>,
    args: ListArgs,
    view: (row: Row) => View,
  ): Connection<View> {
    const kept = [...rows].filter((row) => matchesFilter(this.#target(row), args.filter)).toReversed();
    return connect(kept, args, view);
  }

  issue(row: IssueRow): View {
    const board = this.#board;
    const states = board.states;
    return {
      ...row,
      branchName: `owner/${row.identifier.toLowerCase()}-${row.title.toLowerCase().replaceAll(/[^a-z0-9]+/g, "-")}`,
      url: `https://linear.app/fake/issue/${row.identifier}`,
      completedAt: states.get(row.stateId)?.type === "completed" ? row.updatedAt : null,
      previousIdentifiers: [],
      state: () => this.state(found(states.get(row.stateId), "WorkflowState")),
      team: () => this.team(row.teamId),
      project: () => (row.projectId === null ? null : this.project(row.projectId)),
      assignee: () => this.userOrNull(row.assigneeId),
      delegate: () => this.userOrNull(row.delegateId),
      creator: () => this.user(board.viewer()),
      parent: () => (row.parentId === null ? null : this.issue(board.issue(row.parentId))),
      children: (args: ListArgs) =>
        this.issues(
          [...board.issues.values()].filter((other) => other.parentId === row.id),
          args,
        ),
      labels: (args: ListArgs) => this.list(this.#labelsOf(row), args, (label) => this.label(label)),
      comments: (args: ListArgs) => this.list(board.commentsOf(row.id), args, (comment) => this.comment(comment)),
      attachments: (args: ListArgs) =>
        this.list(
          [...board.attachments.values()].filter((attachment) => attachment.issueId === row.id),
          args,
          (attachment) => this.attachment(attachment),
        ),
      relations: (args: ListArgs) => this.#relations("issueId", row, args),
      inverseRelations: (args: ListArgs) => this.#relations("relatedIssueId", row, args),
    };
  }

  #relations(side: "issueId" | "relatedIssueId", issue: IssueRow, args: ListArgs): Connection<View> {
    const rows = [...this.#board.relations.values()].filter((relation) => relation[side] === issue.id);
    return this.list(rows, args, (relation) => this.relation(relation));
  }

  relation(row: RelationRow): View {
    return {
      ...row,
      updatedAt: row.createdAt,
      issue: () => this.issue(this.#board.issue(row.issueId)),
      relatedIssue: () => this.issue(this.#board.issue(row.relatedIssueId)),
    };
  }

  state(row: StateRow): View {
    return { ...row, color: "#888888", team: () => this.team(row.teamId) };
  }

  label(row: LabelRow): View {
    return {
      ...row,
      color: "#888888",
      isGroup: false,
      archivedAt: null,
      team: () => (row.teamId === null ? null : this.team(row.teamId)),
    };
  }

  team(id: string): View {
    const board = this.#board;
    const row = found(board.teams.get(id), "Team");
    return {
      ...row,
      inviteHash: "invite-hash-of-the-team",
      states: (args: ListArgs) =>
        this.list(
          [...board.states.values()].filter((state) => state.teamId === id),
          args,
          (state) => this.state(state),
        ),
      labels: (args: ListArgs) => this.list(board.labels.values(), args, (label) => this.label(label)),
      issues: (args: ListArgs) =>
        this.issues(
          [...board.issues.values()].filter((issue) => issue.teamId === id),
          args,
        ),
      webhooks: (args: ListArgs) => this.webhooks(args),
    };
  }

  project(id: string): View {
    const board = this.#board;
    const row = found(board.projects.get(id), "Project");
    return {
      ...row,
      url: `https://linear.app/fake/project/${row.slugId}`,
      teams: (args: ListArgs) => this.list(board.teams.values(), args, (team) => this.team(team.id)),
      issues: (args: ListArgs) =>
        this.issues(
          [...board.issues.values()].filter((issue) => issue.projectId === id),
          args,
        ),
    };
  }

  user(row: UserRow): View {
    return {
      ...row,
      displayName: row.name.toLowerCase().replaceAll(" ", "."),
      active: true,
      isMe: row.id === this.#board.viewer().id,
      calendarHash: "calendar-hash-of-the-user",
      organization: ORGANIZATION,
    };
  }

  userOrNull(id: string | null): View | null {
    return id === null ? null : this.user(found(this.#board.users.get(id), "User"));
  }

  comment(row: CommentRow): View {
    const issue = this.#board.issue(row.issueId);
    return {
      ...row,
      url: `https://linear.app/fake/issue/${issue.identifier}#comment-${row.id}`,
      botActor: null,
      issue: () => this.issue(issue),
      user: () => this.userOrNull(row.userId),
      parent: () =>
        row.parentId === null ? null : this.comment(found(this.#board.comments.get(row.parentId), "Comment")),
    };
  }

  attachment(row: AttachmentRow): View {
    return { ...row, metadata: {}, issue: () => this.issue(this.#board.issue(row.issueId)) };
  }

  webhooks(args: ListArgs): Connection<View> {
    const hook = { id: "b6f6a3a1-6f0e-4a53-9d3b-0d6c6f5b8a11", url: "https://example.com", secret: "webhook-secret" };
    return connect([hook], args, (row) => ({ ...row, enabled: true }));
  }

  #labelsOf(row: IssueRow): LabelRow[] {
    return row.labelIds.map((id) => found(this.#board.labels.get(id), "IssueLabel"));
  }

  /** What filters look into. */
  #issueTarget(row: IssueRow): View {
    const board = this.#board;
    const parent = row.parentId === null ? null : board.issues.get(row.parentId);
    return {
      ...row,
      state: board.states.get(row.stateId),
      team: board.teams.get(row.teamId),
      project: row.projectId === null ? null : board.projects.get(row.projectId),
      assignee: this.userOrNull(row.assigneeId),
      delegate: this.userOrNull(row.delegateId),
      labels: this.#labelsOf(row),
      parent: parent === null || parent === undefined ? null : this.#issueTarget(parent),
    };
  }

  #target(row: { readonly id: string }): View {
    if ("teamId" in row && "position" in row) return { ...row, team: this.#board.teams.get(String(row.teamId)) };
    const issueId = "issueId" in row && "body" in row ? String(row.issueId) : null;
    return issueId === null ? { ...row } : { ...row, issue: this.#issueTarget(this.#board.issue(issueId)) };
  }
}

export const ORGANIZATION: View = { id: "8d3a3b62-0b1c-4f0e-8a3f-0a4b0a6a5e0c", name: "Fake", urlKey: "fake" };
