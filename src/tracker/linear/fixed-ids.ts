/** Gives what an agent's mutation makes an id before it is sent, so that the same call, sent again after a lost answer, makes nothing twice. */
import type { DocumentNode, FieldNode, ObjectValueNode, ValueNode } from "graphql/language";
import { Kind, visit } from "graphql/language";

import type { Operation } from "./operation.ts";
import { rootFields } from "./operation.ts";
import type { Variables } from "./values.ts";
import { argumentsOf, readVariables } from "./values.ts";

/** Mutations whose `input` takes the new thing's own id. Attachments need none: Linear keeps one for each issue and address. */
export const MAKERS = ["commentCreate", "issueCreate", "issueRelationCreate", "reactionCreate"] as const;

type Maker = (typeof MAKERS)[number];

/** Something that a mutation makes, under the id that was chosen for it. */
export interface FixedId {
  readonly mutation: Maker;
  readonly id: string;
}

/** A call as it is sent. */
export interface FixedCall {
  readonly document: DocumentNode;
  readonly variables: Readonly<Record<string, unknown>>;
  /** Only those that the agent has left to us. */
  readonly fixed: readonly FixedId[];
}

/** Where an id goes: into the input as it is written, or into the value of a variable, be it the whole input's or the id's own. */
type Place =
  | { readonly kind: "literal"; readonly input: ObjectValueNode }
  | { readonly kind: "input_variable" | "id_variable"; readonly name: string };

/** A field that makes something and has no id yet. */
interface Target {
  readonly mutation: Maker;
  readonly field: FieldNode;
  readonly place: Place;
}

function makerOf(field: FieldNode): Maker | null {
  return MAKERS.find((name) => name === field.name.value) ?? null;
}

function placeOf(input: ValueNode | undefined): Place | null {
  if (input?.kind === Kind.VARIABLE) return { kind: "input_variable", name: input.name.value };
  if (input?.kind !== Kind.OBJECT) return null;
  const written = input.fields.find((field) => field.name.value === "id")?.value;
  return written?.kind === Kind.VARIABLE
    ? { kind: "id_variable", name: written.name.value }
    : { kind: "literal", input };
}

function targetOf(field: FieldNode, variables: Variables): Target | null {
  const mutation = makerOf(field);
  const place = placeOf(field.arguments?.find((argument) => argument.name.value === "input")?.value);
  if (mutation === null || place === null) return null;
  const { input } = argumentsOf(field, variables);
  const isMap = typeof input === "object" && input !== null && !Array.isArray(input);
  return isMap && (!("id" in input) || input.id === null) ? { mutation, field, place } : null;
}

/** Of two that share a variable neither can be given an id of its own in it. */
function withoutShared(targets: readonly Target[]): Target[] {
  const nameOf = ({ place }: Target): string | null => (place.kind === "literal" ? null : place.name);
  return targets.filter((target) => {
    const name = nameOf(target);
    return name === null || targets.every((other) => other === target || nameOf(other) !== name);
  });
}

function idField(id: string): ObjectValueNode["fields"][number] {
  const name = { kind: Kind.NAME, value: "id" } as const;
  return { kind: Kind.OBJECT_FIELD, name, value: { kind: Kind.STRING, value: id } };
}

function fieldWithId(field: FieldNode, input: ObjectValueNode, id: string): FieldNode {
  const fields = [...input.fields.filter((one) => one.name.value !== "id"), idField(id)];
  const args = field.arguments?.map((argument) =>
    argument.value === input ? { ...argument, value: { ...input, fields } } : argument,
  );
  return { ...field, arguments: args };
}

/** `newId` makes a UUID (version 4, as Linear demands). Throws ValueProblem for values that no server would take. */
export function fixIds(operation: Operation, given: Readonly<Record<string, unknown>>, newId: () => string): FixedCall {
  const unchanged: FixedCall = { document: operation.document, variables: given, fixed: [] };
  if (operation.kind !== "mutation") return unchanged;
  const values = readVariables(operation.definition, given);
  const found = rootFields(operation).map((field) => targetOf(field, values));
  const targets = withoutShared(found.filter((target) => target !== null));
  if (targets.length === 0) return unchanged;
  const ids = new Map(targets.map((target) => [target.field, { ...target, id: newId() }]));
  const variables: Record<string, unknown> = { ...given };
  for (const { place, id } of ids.values()) {
    if (place.kind === "id_variable") variables[place.name] = id;
    if (place.kind === "input_variable") variables[place.name] = { ...asMap(values.get(place.name)), id };
  }
  const document = visit(operation.document, {
    Field(node) {
      const target = ids.get(node);
      return target?.place.kind === "literal" ? fieldWithId(node, target.place.input, target.id) : undefined;
    },
  });
  return { document, variables, fixed: [...ids.values()].map(({ mutation, id }) => ({ mutation, id })) };
}

function asMap(value: unknown): object {
  return typeof value === "object" && value !== null ? value : {};
}
