/** Arguments as the server will see them: literals, variables, defaults and nested input objects resolved without a schema. */
import type { ArgumentNode, FieldNode, OperationDefinitionNode, ValueNode } from "graphql/language";
import { Kind } from "graphql/language";

/** A variable that has neither a value nor a default: what it stands for is left out. */
const ABSENT = Symbol("absent");

export type Variables = ReadonlyMap<string, unknown>;

/** Something that no GraphQL server takes, in words for the model. */
export class ValueProblem extends Error {}

/** Given values, else defaults. An explicit null is a value. */
export function readVariables(
  definition: OperationDefinitionNode,
  given: Readonly<Record<string, unknown>>,
): Variables {
  const variables = new Map<string, unknown>();
  for (const { variable, defaultValue } of definition.variableDefinitions ?? []) {
    const name = variable.name.value;
    if (variables.has(name)) throw new ValueProblem(`The variable $${name} is declared twice.`);
    const value = Object.hasOwn(given, name) ? given[name] : undefined;
    if (value !== undefined) variables.set(name, value);
    else variables.set(name, defaultValue === undefined ? ABSENT : resolveValue(defaultValue, new Map()));
  }
  return variables;
}

function resolveValue(node: ValueNode, variables: Variables): unknown {
  switch (node.kind) {
    case Kind.VARIABLE: {
      const name = node.name.value;
      if (!variables.has(name)) throw new ValueProblem(`The variable $${name} is not declared.`);
      return variables.get(name);
    }
    case Kind.NULL:
      return null;
    case Kind.INT:
    case Kind.FLOAT:
      return Number(node.value);
    case Kind.STRING:
    case Kind.BOOLEAN:
    case Kind.ENUM:
      return node.value;
    case Kind.LIST:
      return node.values.map((item) => {
        const value = resolveValue(item, variables);
        return value === ABSENT ? null : value;
      });
    case Kind.OBJECT:
      return resolveNamed(node.fields, variables, "input key");
    default:
      throw new ValueProblem("The document holds a value of an unknown kind.");
  }
}

interface NamedValue {
  readonly name: { readonly value: string };
  readonly value: ValueNode;
}

/** A prototype-free object, so that a key such as `__proto__` is a key like any other. */
function resolveNamed(nodes: readonly NamedValue[], variables: Variables, what: string): Record<string, unknown> {
  const object: Record<string, unknown> = Object.create(null) as Record<string, unknown>;
  for (const { name, value: node } of nodes) {
    if (Object.hasOwn(object, name.value)) throw new ValueProblem(`The ${what} ${name.value} is given twice.`);
    const value = resolveValue(node, variables);
    if (value !== ABSENT) object[name.value] = value;
  }
  return object;
}

/** A field's arguments by name. Throws {@link ValueProblem}. */
export function argumentsOf(field: FieldNode, variables: Variables): Readonly<Record<string, unknown>> {
  const nodes: readonly ArgumentNode[] = field.arguments ?? [];
  return resolveNamed(nodes, variables, "argument");
}
