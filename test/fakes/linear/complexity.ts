/** Linear's price of a document, as calibrated: a leaf 0.1, an object 1, a connection its page size times its whole selection. */
import type { DocumentNode, FieldNode, FragmentDefinitionNode, GraphQLSchema, SelectionSetNode } from "graphql";
import { getNamedType, isLeafType, isObjectType, Kind } from "graphql";

const LEAF = 0.1;
const OBJECT = 1;
const DEFAULT_PAGE = 50;

export interface Priced {
  readonly schema: GraphQLSchema;
  readonly document: DocumentNode;
  /** Coerced. */
  readonly variables: Readonly<Record<string, unknown>>;
}

/** Points, not yet rounded. Charged for what is asked for, whatever comes back. */
export function priceOf({ schema, document, variables }: Priced): number {
  const fragments = new Map<string, FragmentDefinitionNode>();
  for (const node of document.definitions) {
    if (node.kind === Kind.FRAGMENT_DEFINITION) fragments.set(node.name.value, node);
  }

  const included = (field: FieldNode): boolean =>
    (field.directives ?? []).every((directive) => {
      const value = directive.arguments?.find((argument) => argument.name.value === "if")?.value;
      if (value === undefined) return true;
      let holds = value.kind === Kind.BOOLEAN && value.value;
      if (value.kind === Kind.VARIABLE) holds = variables[value.name.value] === true;
      return directive.name.value === "skip" ? !holds : holds;
    });

  const pageSize = (field: FieldNode): number => {
    const argument = field.arguments?.find(({ name }) => name.value === "first" || name.value === "last");
    if (argument?.value.kind === Kind.INT) return Number(argument.value.value);
    const value = argument?.value.kind === Kind.VARIABLE ? variables[argument.value.name.value] : undefined;
    return typeof value === "number" ? value : DEFAULT_PAGE;
  };

  const priceField = (field: FieldNode, parent: string): number => {
    const type = schema.getType(parent);
    const definition = isObjectType(type) ? type.getFields()[field.name.value] : undefined;
    if (definition === undefined || !included(field)) return 0;
    const named = getNamedType(definition.type);
    if (isLeafType(named) || field.selectionSet === undefined) return LEAF;
    const inner = priceSelection(field.selectionSet, named.name);
    if (named.name.endsWith("Connection")) return pageSize(field) * inner;
    return OBJECT + inner;
  };

  const priceSelection = (selection: SelectionSetNode, parent: string): number => {
    let points = 0;
    for (const node of selection.selections) {
      if (node.kind === Kind.FIELD) points += priceField(node, parent);
      else if (node.kind === Kind.INLINE_FRAGMENT) {
        points += priceSelection(node.selectionSet, node.typeCondition?.name.value ?? parent);
      } else {
        const fragment = fragments.get(node.name.value);
        if (fragment !== undefined) points += priceSelection(fragment.selectionSet, fragment.typeCondition.name.value);
      }
    }
    return points;
  };

  const operation = document.definitions.find((node) => node.kind === Kind.OPERATION_DEFINITION);
  if (operation === undefined) return 0;
  const root = operation.operation === "mutation" ? "Mutation" : "Query";
  return priceSelection(operation.selectionSet, root);
}
