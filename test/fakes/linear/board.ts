/** The fake workspace in memory: teams, states, labels, projects, people and issues, and what a person may do to them. */
import { randomUUID } from "node:crypto";

import type {
  AttachmentRow,
  CommentRow,
  IssueRow,
  LabelRow,
  ProjectRow,
  RelationRow,
  SessionRow,
  StateRow,
  TeamRow,
  UserRow,
  ViewRow,
} from "./rows.ts";

/** Linear's usual states, with two that teams add; the types are Linear's. */
const STATES: readonly (readonly [name: string, type: string])[] = [
  ["Backlog", "backlog"],
  ["Todo", "unstarted"],
  ["In Progress", "started"],
  ["In Review", "started"],
  ["Done", "completed"],
  ["Closed", "completed"],
  ["Cancelled", "canceled"],
  ["Canceled", "canceled"],
  ["Duplicate", "duplicate"],
];

/** What a test says of a new issue; names in place of ids. */
export interface IssueDraft {
  readonly id?: string;
  readonly title: string;
  readonly description?: string | null;
  readonly state?: string;
  readonly priority?: number;
  readonly labels?: readonly string[];
  readonly team?: string;
  /** A project's slug; null = no project. Default: the first project. */
  readonly project?: string | null;
  readonly assigneeId?: string | null;
  readonly delegateId?: string | null;
  readonly parentId?: string | null;
  /** Ids of issues that block this one. */
  readonly blockedBy?: readonly string[];
}

export type IssuePatch = Partial<Omit<IssueRow, "id" | "number" | "createdAt">>;

/** A thing that isn't there: answered as Linear's "Entity not found". */
export class EntityNotFound extends Error {
  constructor(entity: string) {
    super(`Entity not found: ${entity}`);
  }
}

/** Every table is a map in order of creation. */
export class Board {
  readonly teams = new Map<string, TeamRow>();
  readonly states = new Map<string, StateRow>();
  readonly labels = new Map<string, LabelRow>();
  readonly projects = new Map<string, ProjectRow>();
  readonly users = new Map<string, UserRow>();
  readonly views = new Map<string, ViewRow>();
  readonly issues = new Map<string, IssueRow>();
  readonly comments = new Map<string, CommentRow>();
  readonly attachments = new Map<string, AttachmentRow>();
  readonly relations = new Map<string, RelationRow>();
  readonly sessions = new Map<string, SessionRow>();
  readonly #now: () => number;
  #lastStamp = 0;
  readonly #numbers = new Map<string, number>();

  /** Starts with a team ENG, a project `demo` and a person who owns the key. */
  constructor(now: () => number) {
    this.#now = now;
    this.addTeam("ENG", "Engineering");
    this.addProject("demo", "Demo");
    this.addUser({ name: "Key Owner", email: "owner@example.com" });
  }

  /** An instant that is later than every one before, as Linear's order and cursors need it. */
  stamp(): string {
    this.#lastStamp = Math.max(this.#lastStamp + 1, this.#now());
    return new Date(this.#lastStamp).toISOString();
  }

  addTeam(key: string, name: string, states: readonly (readonly [string, string])[] = STATES): TeamRow {
    const team: TeamRow = { id: randomUUID(), key, name };
    this.teams.set(team.id, team);
    for (const [position, [stateName, type]] of states.entries()) this.addState(team.id, stateName, type, position);
    return team;
  }

  addState(teamId: string, name: string, type: string, position = this.states.size): StateRow {
    const state: StateRow = { id: randomUUID(), teamId, name, type, position };
    this.states.set(state.id, state);
    return state;
  }

  addProject(slugId: string, name: string): ProjectRow {
    const project: ProjectRow = { id: randomUUID(), slugId, name };
    this.projects.set(project.id, project);
    return project;
  }

  addUser(draft: { readonly name: string; readonly email: string; readonly app?: boolean }): UserRow {
    const user: UserRow = { id: randomUUID(), app: false, ...draft };
    this.users.set(user.id, user);
    return user;
  }

  addView(slugId: string, filter: unknown): ViewRow {
    const view: ViewRow = { id: randomUUID(), name: slugId, slugId, filter };
    this.views.set(view.id, view);
    return view;
  }

  /** The label of that exact name, made when there is none. */
  label(name: string): LabelRow {
    const known = [...this.labels.values()].find((label) => label.name === name);
    if (known !== undefined) return known;
    const at = this.stamp();
    const label: LabelRow = { id: randomUUID(), teamId: null, name, createdAt: at, updatedAt: at };
    this.labels.set(label.id, label);
    return label;
  }

  team(key: string): TeamRow {
    return found(
      [...this.teams.values()].find((team) => team.key === key),
      "Team",
    );
  }

  project(slugId: string): ProjectRow {
    return found(
      [...this.projects.values()].find((project) => project.slugId === slugId),
      "Project",
    );
  }

  state(teamId: string, name: string): StateRow {
    return found(
      [...this.states.values()].find((state) => state.teamId === teamId && state.name === name),
      "WorkflowState",
    );
  }

  /** The owner of the API key. */
  viewer(): UserRow {
    return found(this.users.values().next().value, "User");
  }

  /** By id, or by identifier in any case, as Linear's `issue(id:)` takes both. */
  issue(id: string): IssueRow {
    const byId = this.issues.get(id);
    const wanted = id.toLowerCase();
    return found(byId ?? [...this.issues.values()].find((issue) => issue.identifier.toLowerCase() === wanted), "Issue");
  }

  createIssue(draft: IssueDraft): IssueRow {
    const team = this.team(draft.team ?? "ENG");
    const number = (this.#numbers.get(team.id) ?? 0) + 1;
    this.#numbers.set(team.id, number);
    const at = this.stamp();
    const issue: IssueRow = {
      id: draft.id ?? randomUUID(),
      number,
      identifier: `${team.key}-${number}`,
      title: draft.title,
      description: draft.description ?? null,
      priority: draft.priority ?? 0,
      estimate: null,
      dueDate: null,
      stateId: this.state(team.id, draft.state ?? "Todo").id,
      teamId: team.id,
      projectId: draft.project === null ? null : this.project(draft.project ?? "demo").id,
      labelIds: (draft.labels ?? []).map((name) => this.label(name).id),
      assigneeId: draft.assigneeId ?? null,
      delegateId: draft.delegateId ?? null,
      parentId: draft.parentId ?? null,
      createdAt: at,
      updatedAt: at,
      archivedAt: null,
      trashed: null,
    };
    this.issues.set(issue.id, issue);
    for (const blocker of draft.blockedBy ?? []) this.relate(blocker, issue.id);
    return issue;
  }

  /** Changes an issue and its `updatedAt`. */
  patchIssue(id: string, patch: IssuePatch): IssueRow {
    return Object.assign(this.issue(id), patch, { updatedAt: this.stamp() });
  }

  moveIssue(id: string, state: string): IssueRow {
    return this.patchIssue(id, { stateId: this.state(this.issue(id).teamId, state).id });
  }

  labelIssue(id: string, names: readonly string[]): IssueRow {
    return this.patchIssue(id, { labelIds: names.map((name) => this.label(name).id) });
  }

  archiveIssue(id: string, trashed: boolean | null = null): IssueRow {
    return this.patchIssue(id, { archivedAt: this.stamp(), trashed });
  }

  deleteIssue(id: string): void {
    this.issues.delete(this.issue(id).id);
    for (const [key, relation] of this.relations) {
      if (relation.issueId === id || relation.relatedIssueId === id) this.relations.delete(key);
    }
  }

  /** `issueId` blocks (or whatever `type` says) `relatedIssueId`. A relation doesn't change `updatedAt`. */
  relate(issueId: string, relatedIssueId: string, type = "blocks", id: string = randomUUID()): RelationRow {
    const relation: RelationRow = {
      id,
      type,
      issueId: this.issue(issueId).id,
      relatedIssueId: this.issue(relatedIssueId).id,
      createdAt: this.stamp(),
    };
    this.relations.set(relation.id, relation);
    return relation;
  }

  comment(
    issueId: string,
    body: string,
    more: { readonly id?: string; readonly parentId?: string | null; readonly userId?: string } = {},
  ): CommentRow {
    const at = this.stamp();
    const comment: CommentRow = {
      id: more.id ?? randomUUID(),
      issueId: this.issue(issueId).id,
      parentId: more.parentId ?? null,
      body,
      userId: more.userId ?? this.viewer().id,
      createdAt: at,
      updatedAt: at,
      resolvedAt: null,
    };
    this.comments.set(comment.id, comment);
    return comment;
  }

  /** An upsert by issue and address, as Linear does it. */
  attach(issueId: string, url: string, title: string, id: string = randomUUID()): AttachmentRow {
    const issue = this.issue(issueId).id;
    const at = this.stamp();
    const known = [...this.attachments.values()].find((row) => row.issueId === issue && row.url === url);
    if (known !== undefined) return Object.assign(known, { title, updatedAt: at });
    const row: AttachmentRow = { id, issueId: issue, title, url, subtitle: null, createdAt: at, updatedAt: at };
    this.attachments.set(row.id, row);
    return row;
  }

  /** As Linear does when the app is mentioned, or when the app asks for it. */
  openSession(issueId: string): SessionRow {
    const row: SessionRow = { id: randomUUID(), issueId: this.issue(issueId).id, urls: [], plan: null, activities: [] };
    this.sessions.set(row.id, row);
    return row;
  }

  commentsOf(issueId: string): CommentRow[] {
    const { id } = this.issue(issueId);
    return [...this.comments.values()].filter((comment) => comment.issueId === id);
  }
}

/** `value`, or Linear's error for a thing that isn't there. */
export function found<Row>(value: Row | undefined, entity: string): Row {
  if (value === undefined) throw new EntityNotFound(entity);
  return value;
}
