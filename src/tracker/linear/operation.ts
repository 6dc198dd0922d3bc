/** One parsed GraphQL operation, read by its syntax tree: text is never matched, since strings, comments and aliases defeat that. */
import type {
  DocumentNode,
  FieldNode,
  FragmentDefinitionNode,
  OperationDefinitionNode,
  SelectionSetNode,
} from "graphql/language";
import { Kind, parse } from "graphql/language";

import { errorMessage } from "../../domain/errors.ts";

export interface Operation {
  readonly document: DocumentNode;
  readonly definition: OperationDefinitionNode;
  readonly kind: "query" | "mutation";
  readonly fragments: ReadonlyMap<string, FragmentDefinitionNode>;
}

/** An operation, or what is wrong in words for the model. */
export type ReadOperation =
  { readonly ok: true; readonly operation: Operation } | { readonly ok: false; readonly problem: string };

/** A page of fields has a few hundred tokens. */
const MAX_TOKENS = 10_000;

function parseDocument(query: string): DocumentNode | string {
  try {
    return parse(query, { maxTokens: MAX_TOKENS, noLocation: true });
  } catch (error) {
    // The parser recurses: thousands of nested braces overflow the stack before the token limit ends them.
    if (error instanceof RangeError) return "The document is nested too deeply.";
    return `The document is no valid GraphQL: ${errorMessage(error)}`;
  }
}

/** Parses; demands exactly one operation, a query or a mutation, and nothing beside it but fragments. */
export function readOperation(query: string): ReadOperation {
  const document = parseDocument(query);
  if (typeof document === "string") return { ok: false, problem: document };
  const operations: OperationDefinitionNode[] = [];
  const fragments = new Map<string, FragmentDefinitionNode>();
  for (const node of document.definitions) {
    if (node.kind === Kind.OPERATION_DEFINITION) operations.push(node);
    else if (node.kind !== Kind.FRAGMENT_DEFINITION) {
      return { ok: false, problem: "The document defines types; give one query or mutation." };
    } else if (fragments.has(node.name.value)) {
      return { ok: false, problem: `The fragment ${node.name.value} is defined twice.` };
    } else fragments.set(node.name.value, node);
  }
  const [definition] = operations;
  if (definition === undefined || operations.length > 1) {
    return { ok: false, problem: `The document has ${operations.length} operations; give exactly one per call.` };
  }
  const kind = definition.operation;
  if (kind === "subscription") {
    return { ok: false, problem: "Subscriptions are not offered; give a query or a mutation." };
  }
  return { ok: true, operation: { document, definition, kind, fragments } };
}

/** The operation's root fields, those inside fragments and behind @skip or @include too: what might run is judged as if it does. */
export function rootFields({ definition, fragments }: Operation): readonly FieldNode[] {
  const fields: FieldNode[] = [];
  const spread = new Set<string>();
  const collect = (selection: SelectionSetNode): void => {
    for (const node of selection.selections) {
      if (node.kind === Kind.FIELD) fields.push(node);
      else if (node.kind === Kind.INLINE_FRAGMENT) collect(node.selectionSet);
      else if (!spread.has(node.name.value)) {
        spread.add(node.name.value);
        const fragment = fragments.get(node.name.value);
        if (fragment !== undefined) collect(fragment.selectionSet);
      }
    }
  };
  collect(definition.selectionSet);
  return fields;
}
