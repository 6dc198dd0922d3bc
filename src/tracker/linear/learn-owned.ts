/** Reads the ids of comments and attachments that an agent has just made out of the answer, so that changing them needs no look-up. */
import type { FieldNode, SelectionSetNode } from "graphql/language";
import { Kind } from "graphql/language";
import { z } from "zod";

import type { Operation } from "./operation.ts";
import { rootFields } from "./operation.ts";

type Made = "comment" | "attachment";

/** Mutations that make something, and the field of their payload that it is in. */
const MAKERS: ReadonlyMap<string, Made> = new Map([
  ["commentCreate", "comment"],
  ["attachmentCreate", "attachment"],
  ["attachmentLinkURL", "attachment"],
  ["attachmentLinkGitHubPR", "attachment"],
  ["attachmentLinkGitHubIssue", "attachment"],
  ["attachmentLinkGitLabMR", "attachment"],
]);

const record = z.record(z.string(), z.unknown());

function keyOf(field: FieldNode): string {
  return field.alias?.value ?? field.name.value;
}

/** The value of a directly selected field; one inside a fragment is left to the look-up. */
function valueOf(answer: unknown, selection: SelectionSetNode | undefined, name: string): Selected | null {
  for (const node of selection?.selections ?? []) {
    if (node.kind !== Kind.FIELD || node.name.value !== name) continue;
    const parsed = record.safeParse(answer);
    return parsed.success ? { field: node, value: parsed.data[keyOf(node)] } : null;
  }
  return null;
}

interface Selected {
  readonly field: FieldNode;
  readonly value: unknown;
}

/** Calls `note` for each thing that the answered mutation has made and whose id was asked for. */
export function learnOwned(operation: Operation, data: unknown, note: (kind: Made, id: string) => void): void {
  const payloads = record.safeParse(data);
  if (!payloads.success) return;
  for (const root of rootFields(operation)) {
    const kind = MAKERS.get(root.name.value);
    if (kind === undefined) continue;
    const made = valueOf(payloads.data[keyOf(root)], root.selectionSet, kind);
    const id = made === null ? null : valueOf(made.value, made.field.selectionSet, "id");
    if (typeof id?.value === "string") note(kind, id.value);
  }
}
