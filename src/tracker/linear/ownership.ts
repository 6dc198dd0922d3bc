/** Whether something that a mutation names belongs to the run's issue; what can't be seen from the name is looked up. */
import { z } from "zod";

import { assertNever } from "../../domain/errors.ts";
import type { Issue } from "../../domain/issue.ts";
import { reasonOf } from "./failures.ts";
import type { TargetKind } from "./tool-rules.ts";

/** Sends one of the documents below and answers complete data; throws AppError. */
export type Lookup = (document: string, variables: Readonly<Record<string, unknown>>) => Promise<unknown>;

const ISSUE_OWNER = `query SymphonyIssueOwner($id: String!) { issue(id: $id) { id parent { id } } }`;
const COMMENT_OWNER = `query SymphonyCommentOwner($id: String!) { comment(id: $id) { id issue { id parent { id } } } }`;
const ATTACHMENT_OWNER = `query SymphonyAttachmentOwner($id: String!) { attachment(id: $id) { id issue { id parent { id } } } }`;

/** The documents, for their check against the schema. */
export const OWNER_DOCUMENTS: readonly string[] = [ISSUE_OWNER, COMMENT_OWNER, ATTACHMENT_OWNER];

const issueShape = z.object({ id: z.string(), parent: z.object({ id: z.string() }).nullish() });
const ownedShape = z.object({ id: z.string(), issue: issueShape.nullish() });

/** An issue and what it is a part of. */
interface Owner {
  readonly issueId: string;
  readonly parentId: string | null;
}

/** Comments and attachments stay where they are; the oldest are forgotten beyond this many. */
const MAX_REMEMBERED = 2_000;

export class Ownership {
  readonly #remembered = new Map<string, Owner>();

  /** Notes that the agent has just made a comment or attachment. */
  remember(kind: "comment" | "attachment", id: string, issue: Issue): void {
    this.#note(`${kind}:${id.toLowerCase()}`, { issueId: issue.id, parentId: null });
  }

  /** Throws AppError where Linear can't be asked. */
  async belongs(kind: TargetKind, value: string, issue: Issue, lookup: Lookup): Promise<boolean> {
    switch (kind) {
      case "own_issue":
        return isIssue(issue, value);
      case "issue":
        return isIssue(issue, value) || isPartOf(issue, await ask(lookup, ISSUE_OWNER, value, ownerOfIssue));
      case "comment":
        return isPartOf(issue, await this.#owner(`comment:${value.toLowerCase()}`, value, lookup, COMMENT_OWNER));
      case "attachment":
        return isPartOf(issue, await this.#owner(`attachment:${value.toLowerCase()}`, value, lookup, ATTACHMENT_OWNER));
      case "team":
        return isOneOf(value, issue.native_ref?.["team_id"], issue.native_ref?.["team_key"]);
      case "project":
        return isOneOf(value, issue.native_ref?.["project_id"]);
      default:
        return assertNever(kind);
    }
  }

  async #owner(key: string, id: string, lookup: Lookup, document: string): Promise<Owner | null> {
    const known = this.#remembered.get(key);
    if (known !== undefined) return known;
    const owner = await ask(lookup, document, id, ownerOfThing);
    if (owner !== null) this.#note(key, owner);
    return owner;
  }

  #note(key: string, owner: Owner): void {
    this.#remembered.set(key, owner);
    if (this.#remembered.size <= MAX_REMEMBERED) return;
    for (const oldest of this.#remembered.keys()) {
      this.#remembered.delete(oldest);
      return;
    }
  }
}

function isOneOf(value: string, ...names: readonly unknown[]): boolean {
  const wanted = value.toLowerCase();
  return names.some((name) => typeof name === "string" && name.toLowerCase() === wanted);
}

/** Linear takes an id or an identifier, in any case. */
function isIssue(issue: Issue, value: string): boolean {
  return isOneOf(value, issue.id, issue.identifier);
}

function isPartOf(issue: Issue, owner: Owner | null): boolean {
  return owner !== null && (owner.issueId === issue.id || owner.parentId === issue.id);
}

/** Null for an id that Linear doesn't know. */
async function ask(
  lookup: Lookup,
  document: string,
  id: string,
  read: (data: unknown) => Owner | null,
): Promise<Owner | null> {
  try {
    return read(await lookup(document, { id }));
  } catch (error) {
    if (reasonOf(error) === "invalid_input") return null;
    throw error;
  }
}

function toOwner(issue: z.infer<typeof issueShape>): Owner {
  return { issueId: issue.id, parentId: issue.parent?.id ?? null };
}

function ownerOfIssue(data: unknown): Owner | null {
  const parsed = z.object({ issue: issueShape }).safeParse(data);
  return parsed.success ? toOwner(parsed.data.issue) : null;
}

function ownerOfThing(data: unknown): Owner | null {
  const parsed = z.object({ comment: ownedShape.optional(), attachment: ownedShape.optional() }).safeParse(data);
  const issue = (parsed.data?.comment ?? parsed.data?.attachment)?.issue;
  return issue === null || issue === undefined ? null : toOwner(issue);
}
