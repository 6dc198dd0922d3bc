/** The rows of the fake workspace, as its board keeps them. */

export interface TeamRow {
  readonly id: string;
  readonly key: string;
  readonly name: string;
}

export interface StateRow {
  readonly id: string;
  readonly teamId: string;
  name: string;
  readonly type: string;
  readonly position: number;
}

export interface LabelRow {
  readonly id: string;
  readonly teamId: string | null;
  name: string;
  readonly createdAt: string;
  updatedAt: string;
}

export interface ProjectRow {
  readonly id: string;
  readonly name: string;
  readonly slugId: string;
}

export interface UserRow {
  readonly id: string;
  readonly name: string;
  readonly email: string;
  app: boolean;
}

/** A saved filter. */
export interface ViewRow {
  readonly id: string;
  readonly name: string;
  readonly slugId: string;
  readonly filter: unknown;
}

export interface IssueRow {
  readonly id: string;
  readonly number: number;
  identifier: string;
  title: string;
  description: string | null;
  priority: number;
  estimate: number | null;
  dueDate: string | null;
  stateId: string;
  teamId: string;
  projectId: string | null;
  labelIds: string[];
  assigneeId: string | null;
  delegateId: string | null;
  parentId: string | null;
  readonly createdAt: string;
  updatedAt: string;
  archivedAt: string | null;
  trashed: boolean | null;
}

export interface CommentRow {
  readonly id: string;
  readonly issueId: string;
  readonly parentId: string | null;
  body: string;
  readonly userId: string;
  readonly createdAt: string;
  updatedAt: string;
  resolvedAt: string | null;
}

export interface AttachmentRow {
  readonly id: string;
  readonly issueId: string;
  title: string;
  readonly url: string;
  subtitle: string | null;
  readonly createdAt: string;
  updatedAt: string;
}

/** `issueId` blocks, duplicates or relates to `relatedIssueId`. */
export interface RelationRow {
  readonly id: string;
  readonly type: string;
  readonly issueId: string;
  readonly relatedIssueId: string;
  readonly createdAt: string;
}

/** What an agent shows of its work on an issue. */
export interface SessionRow {
  readonly id: string;
  readonly issueId: string;
  urls: readonly { readonly label: string; readonly url: string }[];
  plan: unknown;
  readonly activities: ActivityRow[];
}

/** `content` is one of Linear's kinds: thought, action, elicitation, response, error. */
export interface ActivityRow {
  readonly id: string;
  readonly content: Readonly<Record<string, unknown>>;
  readonly ephemeral: boolean;
}
