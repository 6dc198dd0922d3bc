/** What a template may read: the issue's fields and their shapes, known without rendering, so that branches never taken are checked too. */
import { analyzeSync, ForTag, TablerowTag, toValueSync, Variable, type Template } from "liquidjs";

import type { Blocker, Issue } from "../../domain/issue.ts";
import { nearestName } from "../nearest-name.ts";

/** `any`: an adapter's own data, or something that only rendering tells. */
type Shape = "text" | "any" | { readonly each: Shape } | { readonly fields: Readonly<Record<string, Shape>> };

const BLOCKER = { id: "text", identifier: "text", state: "text" } as const satisfies Record<keyof Blocker, Shape>;

const ISSUE: Readonly<Record<keyof Issue, Shape>> = {
  id: "text",
  identifier: "text",
  title: "text",
  state: "text",
  description: "text",
  branch_name: "text",
  url: "text",
  assignee_id: "text",
  priority: "text",
  labels: { each: "text" },
  blocked_by: { each: { fields: BLOCKER } },
  dispatchable: "text",
  native_ref: "any",
  created_at: "text",
  updated_at: "text",
};

const INPUTS: Readonly<Record<string, Shape>> = { issue: { fields: ISSUE }, attempt: "text" };

/** A name that a template reads and that no issue has. */
export interface UnknownName {
  readonly message: string;
  /** Line in the template, from 1. */
  readonly row: number;
}

/** Every unknown name of the template, those in branches and loops that a sample wouldn't reach included. */
export function unknownNames(templates: readonly Template[]): readonly UnknownName[] {
  const globals = Object.values(analyzeSync([...templates], { partials: false }).globals).flat();
  const roots: Shape = { fields: INPUTS };
  const unknown = globals.map((variable) => mistakeIn(variable, variable.segments, roots));
  return [...unknown.filter((found) => found !== null), ...unknownInLoops(templates)];
}

type Segments = Variable["segments"];

/** Follows a path through the shapes; null when it may exist. */
function mistakeIn(variable: Variable, segments: Segments, start: Shape): UnknownName | null {
  let shape = start;
  for (const segment of segments) {
    const next = stepInto(shape, segment);
    if (next === null) return { message: describe(variable, String(segment), shape), row: variable.location.row };
    shape = next;
  }
  return null;
}

function stepInto(shape: Shape, segment: Segments[number]): Shape | null {
  if (shape === "any" || segment instanceof Variable) return "any";
  if (shape === "text") return segment === "size" ? "text" : null;
  if ("fields" in shape) return Object.hasOwn(shape.fields, segment) ? (shape.fields[segment] ?? null) : null;
  if (segment === "size") return "text";
  return segment === "first" || segment === "last" || typeof segment === "number" ? shape.each : null;
}

function describe(variable: Variable, segment: string, shape: Shape): string {
  const name = String(variable);
  const hasFields = typeof shape === "object" && "fields" in shape;
  if (!hasFields) return `${name} does not exist: nothing is called ${segment} there`;
  const known = Object.keys(shape.fields);
  const near = nearestName(segment, known);
  return `${name} does not exist; ${near === null ? `known are ${known.join(", ")}` : `did you mean ${near}?`}`;
}

/** Loop variables are no globals, but what they hold is known when the loop runs over one of the issue's own lists. */
function unknownInLoops(templates: readonly Template[]): readonly UnknownName[] {
  return templates.flatMap((template) => {
    const children = childrenOf(template);
    const isLoop = template instanceof ForTag || template instanceof TablerowTag;
    const each = isLoop ? elementShape(template.collection.getText()) : null;
    const found = isLoop && each !== null ? unknownOf(template.variable, each, template.templates) : [];
    return [...found, ...unknownInLoops(children)];
  });
}

function childrenOf(template: Template): readonly Template[] {
  return template.children === undefined ? [] : (toValueSync(template.children(false, true)) as readonly Template[]);
}

function elementShape(collection: string): Shape | null {
  const field = /^\s*issue\.(\w+)\s*$/.exec(collection)?.[1] ?? "";
  const shape = Object.entries(ISSUE).find(([name]) => name === field)?.[1];
  return typeof shape === "object" && "each" in shape ? shape.each : null;
}

function unknownOf(loopVariable: string, shape: Shape, body: readonly Template[]): readonly UnknownName[] {
  const reads = analyzeSync([...body], { partials: false }).globals[loopVariable] ?? [];
  return reads
    .map((variable) => mistakeIn(variable, variable.segments.slice(1), shape))
    .filter((found) => found !== null);
}
