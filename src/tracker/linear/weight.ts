/** How deep, how wide and how dear an operation is, counted with each fragment once, before anything is sent. */
import type { FieldNode, SelectionSetNode } from "graphql/language";
import { Kind } from "graphql/language";

import type { Operation } from "./operation.ts";
import type { Variables } from "./values.ts";
import { argumentsOf, ValueProblem } from "./values.ts";

export interface Weight {
  readonly depth: number;
  readonly fields: number;
  /** By Linear's rule, as far as it can be seen without the schema. */
  readonly points: number;
}

const LEAF = 0.1;
const OBJECT = 1;
/** Rows of a list that names no page size. */
const DEFAULT_PAGE = 50;
const LIST_FIELDS: ReadonlySet<string> = new Set(["nodes", "edges", "pageInfo"]);

/** Throws {@link ValueProblem} for an unknown fragment or one that contains itself. */
export function weigh({ definition, fragments }: Operation, variables: Variables): Weight {
  const known = new Map<string, Weight>();
  const open = new Set<string>();

  const weighFragment = (name: string): Weight => {
    const done = known.get(name);
    if (done !== undefined) return done;
    const fragment = fragments.get(name);
    if (fragment === undefined) throw new ValueProblem(`The fragment ${name} is not defined.`);
    if (open.has(name)) throw new ValueProblem(`The fragment ${name} contains itself.`);
    open.add(name);
    const weight = weighSelection(fragment.selectionSet);
    open.delete(name);
    known.set(name, weight);
    return weight;
  };

  const weighField = (field: FieldNode): Weight => {
    if (field.selectionSet === undefined) return { depth: 1, fields: 1, points: LEAF };
    const inner = weighSelection(field.selectionSet);
    const points = isList(field.selectionSet) ? pageOf(field, variables) * inner.points : OBJECT + inner.points;
    return { depth: 1 + inner.depth, fields: 1 + inner.fields, points };
  };

  const weighSelection = (selection: SelectionSetNode): Weight => {
    const total = { depth: 0, fields: 0, points: 0 };
    for (const node of selection.selections) {
      let weight: Weight;
      if (node.kind === Kind.FIELD) weight = weighField(node);
      else if (node.kind === Kind.INLINE_FRAGMENT) weight = deeper(weighSelection(node.selectionSet));
      else weight = deeper(weighFragment(node.name.value));
      total.depth = Math.max(total.depth, weight.depth);
      total.fields += weight.fields;
      total.points += weight.points;
    }
    return total;
  };

  const weight = weighSelection(definition.selectionSet);
  // Fragments that nothing uses are refused by the server; weighing them finds cycles among them too.
  for (const name of fragments.keys()) weighFragment(name);
  return weight;
}

/** A fragment counts as a level too: nesting is what parsers and validators stumble over. */
function deeper(weight: Weight): Weight {
  return { ...weight, depth: weight.depth + 1 };
}

/** Without a schema, a list is known by what is asked of it. */
function isList(selection: SelectionSetNode): boolean {
  return selection.selections.some((node) => node.kind === Kind.FIELD && LIST_FIELDS.has(node.name.value));
}

function pageOf(field: FieldNode, variables: Variables): number {
  const { first, last } = argumentsOf(field, variables);
  const size = first ?? last;
  return typeof size === "number" ? Math.abs(size) : DEFAULT_PAGE;
}
