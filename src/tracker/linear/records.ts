/** Linear's wire shapes, read with suspicion: what an issue can't do without is checked, the rest becomes null. */
import { z } from "zod";

import { AppError } from "../../domain/errors.ts";

const filled = z.string().refine((value) => value.trim() !== "", "is blank");
const optionalText = z.string().nullable().catch(null);
const reference = z.object({ id: z.string() }).nullable().catch(null);

const pageInfo = z.object({ hasNextPage: z.boolean(), endCursor: z.string().nullable().default(null) });

/** An inverse relation: `issue` is the one that blocks. */
const relation = z.object({
  type: z.string(),
  issue: z
    .object({
      id: optionalText,
      identifier: optionalText,
      state: z.object({ name: z.string() }).nullable().catch(null),
    })
    .nullable()
    .catch(null),
});

const relations = z.object({ nodes: z.array(relation), pageInfo });

const issueNode = z.object({
  id: filled,
  identifier: filled,
  title: filled,
  state: z.object({ id: optionalText, name: filled, type: optionalText }),
  labelIds: z.array(z.string()),
  inverseRelations: relations,
  description: optionalText,
  priority: z.number().nullable().catch(null),
  branchName: optionalText,
  url: optionalText,
  createdAt: optionalText,
  updatedAt: optionalText,
  archivedAt: optionalText,
  trashed: z.boolean().nullable().catch(null),
  team: z.object({ id: z.string(), key: optionalText }).nullable().catch(null),
  project: reference,
  assignee: reference,
  delegate: reference,
});

export type RelationNode = z.infer<typeof relation>;
export type IssueNode = z.infer<typeof issueNode>;
type RelationPage = z.infer<typeof relations>;

/** A record of a list: usable, or why it isn't. `id` is null where not even that can be read. */
export type ReadIssue =
  | { readonly ok: true; readonly node: IssueNode }
  | { readonly ok: false; readonly id: string | null; readonly identifier: string | null; readonly problem: string };

const identity = z.object({ id: z.string().nullable().catch(null), identifier: optionalText });

/** Reads one record of a list of issues. */
export function readIssue(raw: unknown): ReadIssue {
  const parsed = issueNode.safeParse(raw);
  if (parsed.success) return { ok: true, node: parsed.data };
  const problem = parsed.error.issues.map((issue) => `${issue.path.join(".") || "record"} ${issue.message}`).join("; ");
  const named = identity.safeParse(raw);
  const { id, identifier } = named.success ? named.data : { id: null, identifier: null };
  return { ok: false, id, identifier, problem };
}

/** One page of a list; `endCursor` is null on the last. */
export interface Page {
  readonly nodes: readonly unknown[];
  readonly endCursor: string | null;
}

const connection = z.object({ nodes: z.array(z.unknown()), pageInfo });
const viaView = z.object({ issues: z.unknown() });

/** Throws tracker_response for another shape. */
export function readPage(data: unknown, alias: string): Page {
  const raw = field(data, alias);
  const inView = viaView.safeParse(raw);
  const parsed = connection.safeParse(inView.success ? inView.data.issues : raw);
  if (!parsed.success) throw shapeError(alias);
  return { nodes: parsed.data.nodes, endCursor: nextCursor(parsed.data.pageInfo, alias) };
}

/** Null on the last page; throws tracker_pagination for a next page without a cursor. */
export function nextCursor(info: z.infer<typeof pageInfo>, what: string): string | null {
  if (!info.hasNextPage) return null;
  if (info.endCursor !== null && info.endCursor !== "") return info.endCursor;
  const text = `Linear promised a further page of ${what} and gave no cursor`;
  throw new AppError("tracker_pagination", text, { retryable: true });
}

/** An instant that can be compared and reckoned with. */
const instant = z.string().refine((value) => !Number.isNaN(Date.parse(value)));

const lightIssue = z.object({
  id: filled,
  updatedAt: instant,
  archivedAt: z.string().nullable(),
  trashed: z.boolean().nullish(),
  state: z.object({ name: filled }),
});
const issueState = lightIssue.pick({ id: true, state: true });

export type LightIssue = z.infer<typeof lightIssue>;

/** Just enough to see what has changed, or null where one of them can't be read. */
export function readLightIssues(nodes: readonly unknown[]): readonly LightIssue[] | null {
  return z.array(lightIssue).safeParse(nodes).data ?? null;
}

/** State names by issue id, or null where one of them can't be read. */
export function readStates(nodes: readonly unknown[]): ReadonlyMap<string, string> | null {
  const parsed = z.array(issueState).safeParse(nodes);
  return parsed.success ? new Map(parsed.data.map((issue) => [issue.id, issue.state.name])) : null;
}

const stateList = z.object({ nodes: z.array(z.object({ name: z.string() })), pageInfo });

/** Names of workflow states; null where the named ones didn't fit a page, so that nothing can be said of those that are missing. */
export function readStateNames(
  data: unknown,
): { readonly named: readonly string[]; readonly all: readonly string[] } | null {
  const parsed = z.object({ named: stateList, all: stateList }).safeParse(data);
  if (!parsed.success) throw shapeError("workflowStates");
  const { named, all } = parsed.data;
  if (named.pageInfo.hasNextPage) return null;
  return { named: named.nodes.map((node) => node.name), all: all.nodes.map((node) => node.name) };
}

const labelList = z.object({ nodes: z.array(z.object({ id: z.string(), name: z.string() })) });

/** Label ids and names. */
export function readLabels(data: unknown): ReadonlyMap<string, string> {
  const parsed = labelList.safeParse(field(data, "issueLabels"));
  if (!parsed.success) throw shapeError("issueLabels");
  return new Map(parsed.data.nodes.map((label) => [label.id, label.name]));
}

const relationsById = z.object({ nodes: z.array(z.object({ id: z.string(), inverseRelations: relations })) });

/** The relations of several issues. */
export function readRelationsById(data: unknown): ReadonlyMap<string, RelationPage> {
  const parsed = relationsById.safeParse(field(data, "issues"));
  if (!parsed.success) throw shapeError("issues.inverseRelations");
  return new Map(parsed.data.nodes.map((node) => [node.id, node.inverseRelations]));
}

/** A further page of one issue's relations. */
export function readMoreRelations(data: unknown): RelationPage {
  const parsed = z.object({ inverseRelations: relations }).safeParse(field(data, "issue"));
  if (!parsed.success) throw shapeError("issue.inverseRelations");
  return parsed.data.inverseRelations;
}

/** The user id behind the credential. */
export function readViewerId(data: unknown): string {
  const parsed = z.object({ id: filled }).safeParse(field(data, "viewer"));
  if (!parsed.success) throw shapeError("viewer");
  return parsed.data.id;
}

/** Whether the credential is an application's. */
export function readIsApp(data: unknown): boolean {
  return z.object({ app: z.literal(true) }).safeParse(field(data, "viewer")).success;
}

/** The id of a session that was opened. */
export function readSessionId(data: unknown): string {
  const payload = field(data, "agentSessionCreateOnIssue");
  const parsed = z.object({ agentSession: z.object({ id: filled }) }).safeParse(payload);
  if (!parsed.success) throw shapeError("agentSessionCreateOnIssue");
  return parsed.data.agentSession.id;
}

function field(data: unknown, name: string): unknown {
  const parsed = z.record(z.string(), z.unknown()).safeParse(data);
  return parsed.success ? parsed.data[name] : undefined;
}

function shapeError(where: string): AppError {
  const data = { reason: "shape", retryable: true };
  return new AppError("tracker_response", `Linear's answer has an unknown shape at ${where}`, data);
}
