/** Root fields of the fake: what each query answers and each mutation changes. */
import { randomUUID } from "node:crypto";

import type { Board, IssuePatch } from "./board.ts";
import { EntityNotFound, found } from "./board.ts";
import { ArgumentValidationError, isUuid } from "./filter.ts";
import type { IssueRow } from "./rows.ts";
import { sessionMutations } from "./session-resolvers.ts";
import type { ListArgs, View } from "./views.ts";
import { ORGANIZATION, Views } from "./views.ts";

type Fields = Readonly<Record<string, unknown>>;
interface ById {
  readonly id: string;
}
interface IssueInput {
  readonly id?: string | null;
  readonly title?: string | null;
  readonly description?: string | null;
  readonly priority?: number | null;
  readonly estimate?: number | null;
  readonly dueDate?: string | null;
  readonly stateId?: string | null;
  readonly labelIds?: readonly string[] | null;
  readonly addedLabelIds?: readonly string[] | null;
  readonly removedLabelIds?: readonly string[] | null;
  readonly assigneeId?: string | null;
  readonly delegateId?: string | null;
  readonly projectId?: string | null;
  readonly teamId?: string | null;
  readonly parentId?: string | null;
  readonly trashed?: boolean | null;
}
interface CommentInput {
  readonly id?: string | null;
  readonly body?: string | null;
  readonly issueId?: string | null;
  readonly parentId?: string | null;
}
interface LinkArgs {
  readonly issueId: string;
  readonly url: string;
  readonly title?: string | null;
  readonly id?: string | null;
}

const DONE = { success: true, lastSyncId: 1 };

/** Query fields over one board. `rateLimits` reads the buckets. */
export function queryFields(board: Board, rateLimits: () => View): Fields {
  const views = new Views(board);
  return {
    viewer: () => views.user(board.viewer()),
    organization: () => ORGANIZATION,
    rateLimitStatus: rateLimits,
    issue: ({ id }: ById) => views.issue(board.issue(id)),
    issues: (args: ListArgs) => views.issues(board.issues.values(), args),
    comment: ({ id }: ById) => views.comment(found(board.comments.get(id), "Comment")),
    comments: (args: ListArgs) => views.list(board.comments.values(), args, (row) => views.comment(row)),
    attachment: ({ id }: ById) => views.attachment(found(board.attachments.get(id), "Attachment")),
    issueRelation: ({ id }: ById) => views.relation(found(board.relations.get(id), "IssueRelation")),
    issueLabels: (args: ListArgs) => views.list(board.labels.values(), args, (row) => views.label(row)),
    workflowStates: (args: ListArgs) => views.list(board.states.values(), args, (row) => views.state(row)),
    team: ({ id }: ById) => views.team(isUuid(id) ? id : board.team(id).id),
    teams: (args: ListArgs) => views.list(board.teams.values(), args, (row) => views.team(row.id)),
    project: ({ id }: ById) => views.project(isUuid(id) ? id : board.project(id).id),
    projects: (args: ListArgs) => views.list(board.projects.values(), args, (row) => views.project(row.id)),
    users: (args: ListArgs) => views.list(board.users.values(), args, (row) => views.user(row)),
    customView: ({ id }: ById) => {
      const row = found(
        [...board.views.values()].find((view) => view.id === id || view.slugId === id),
        "CustomView",
      );
      const issues = (args: ListArgs): unknown =>
        views.issues(board.issues.values(), { ...args, filter: { and: [row.filter ?? {}, args.filter ?? {}] } });
      return { ...row, filterData: row.filter, issues };
    },
    webhooks: (args: ListArgs) => views.webhooks(args),
  };
}

/** A client may choose the id, once. */
function newId(id: string | null | undefined, taken: ReadonlyMap<string, unknown>): string {
  if (id === null || id === undefined) return randomUUID();
  if (!isUuid(id)) throw new ArgumentValidationError(`id must be a UUID: ${id}`);
  if (taken.has(id)) throw new ArgumentValidationError(`Entity already exists: ${id}`);
  return id;
}

function issueMutations(board: Board, views: Views): Fields {
  const update = (id: string, input: IssueInput): IssueRow =>
    board.patchIssue(id, patchOf(board, board.issue(id), input));
  const payload = (row: IssueRow): View => ({ ...DONE, issue: () => views.issue(row) });
  return {
    issueUpdate: ({ id, input }: ById & { input: IssueInput }) => payload(update(id, input)),
    issueBatchUpdate: ({ ids, input }: { ids: readonly string[]; input: IssueInput }) => ({
      ...DONE,
      issues: ids.map((id) => views.issue(update(id, input))),
    }),
    issueCreate: ({ input }: { input: IssueInput & { teamId: string } }) => {
      const team = found(board.teams.get(input.teamId), "Team");
      const row = board.createIssue({
        id: newId(input.id, board.issues),
        title: input.title ?? "",
        team: team.key,
        state: "Backlog",
        project: null,
      });
      return payload(board.patchIssue(row.id, patchOf(board, row, input)));
    },
    issueAddLabel: ({ id, labelId }: ById & { labelId: string }) => payload(update(id, { addedLabelIds: [labelId] })),
    issueRemoveLabel: ({ id, labelId }: ById & { labelId: string }) =>
      payload(update(id, { removedLabelIds: [labelId] })),
    issueArchive: ({ id, trash }: ById & { trash?: boolean | null }) => ({
      ...DONE,
      entity: views.issue(board.archiveIssue(id, trash ?? null)),
    }),
    issueDelete: ({ id }: ById) => ({ ...DONE, entity: views.issue(board.archiveIssue(id, true)) }),
  };
}

/** The input's own keys, with label additions worked in and every id looked up. */
function patchOf(board: Board, row: IssueRow, input: IssueInput): IssuePatch {
  const { id: _id, addedLabelIds, removedLabelIds, labelIds, ...plain } = input;
  if (plain.stateId !== undefined && plain.stateId !== null) found(board.states.get(plain.stateId), "WorkflowState");
  if (plain.projectId !== undefined && plain.projectId !== null) found(board.projects.get(plain.projectId), "Project");
  const removed = new Set(removedLabelIds ?? []);
  const labels = [...new Set([...(labelIds ?? row.labelIds), ...(addedLabelIds ?? [])])].filter(
    (id) => !removed.has(id),
  );
  for (const label of labels) found(board.labels.get(label), "IssueLabel");
  const given = Object.fromEntries(Object.entries(plain).filter(([, value]) => value !== undefined));
  return { ...given, labelIds: labels };
}

function commentMutations(board: Board, views: Views): Fields {
  return {
    commentCreate: ({ input }: { input: CommentInput }) => {
      const { parentId = null } = input;
      const parent = parentId === null ? null : found(board.comments.get(parentId), "Comment");
      const issue = input.issueId ?? parent?.issueId;
      if (issue === undefined) throw new ArgumentValidationError("issueId is missing");
      const id = newId(input.id, board.comments);
      const row = board.comment(issue, input.body ?? "", { id, parentId: parent?.id ?? null });
      return { ...DONE, comment: views.comment(row) };
    },
    commentUpdate: ({ id, input }: ById & { input: CommentInput }) => {
      const row = found(board.comments.get(id), "Comment");
      Object.assign(row, { body: input.body ?? row.body, updatedAt: board.stamp() });
      return { ...DONE, comment: views.comment(row) };
    },
    commentResolve: ({ id }: ById) => {
      const row = found(board.comments.get(id), "Comment");
      row.resolvedAt = board.stamp();
      return { ...DONE, comment: views.comment(row) };
    },
    commentDelete: ({ id }: ById) => remove(board.comments, id, "Comment"),
    reactionCreate: ({ input }: { input: { id?: string; emoji: string; issueId?: string; commentId?: string } }) => {
      if (input.issueId !== undefined) board.issue(input.issueId);
      if (input.commentId !== undefined) found(board.comments.get(input.commentId), "Comment");
      return { ...DONE, reaction: { id: input.id ?? randomUUID(), emoji: input.emoji } };
    },
  };
}

function linkMutations(board: Board, views: Views): Fields {
  const link = (args: LinkArgs): View => {
    const id = newId(args.id, board.attachments);
    return { ...DONE, attachment: views.attachment(board.attach(args.issueId, args.url, args.title ?? args.url, id)) };
  };
  return {
    attachmentCreate: ({ input }: { input: LinkArgs }) => link(input),
    attachmentLinkURL: link,
    attachmentLinkGitHubPR: link,
    attachmentDelete: ({ id }: ById) => remove(board.attachments, id, "Attachment"),
    issueRelationCreate: ({
      input,
    }: {
      input: { id?: string; issueId: string; relatedIssueId: string; type: string };
    }) => {
      const id = newId(input.id, board.relations);
      const row = board.relate(input.issueId, input.relatedIssueId, input.type, id);
      return { ...DONE, issueRelation: views.relation(row) };
    },
    issueRelationDelete: ({ id }: ById) => remove(board.relations, id, "IssueRelation"),
    fileUpload: (args: { contentType: string; filename: string; size: number }) => ({
      ...DONE,
      uploadFile: {
        ...args,
        uploadUrl: "https://uploads.example.com/put",
        assetUrl: "https://uploads.example.com/a",
        headers: [],
      },
    }),
  };
}

function remove(rows: Map<string, unknown>, id: string, entity: string): View {
  if (!rows.delete(id)) throw new EntityNotFound(entity);
  return { ...DONE, entityId: id };
}

/** Mutation fields over one board. */
export function mutationFields(board: Board): Fields {
  const views = new Views(board);
  return {
    ...issueMutations(board, views),
    ...commentMutations(board, views),
    ...linkMutations(board, views),
    ...sessionMutations(board),
  };
}
