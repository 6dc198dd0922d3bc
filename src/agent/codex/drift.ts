/** What moved in another version's protocol, as far as it concerns us: its schema against the manifest of what we send and read. */
import { assertNever } from "../../domain/errors.ts";
import type { MessageUse, ProtocolManifest, Shape } from "./manifest.ts";
import { SchemaTree, type Direction } from "./schema-tree.ts";

/** One difference. `where` is the method, and the path in its params or result where there is one. */
export type Drift =
  | { readonly kind: "method_gone"; readonly where: string; readonly ours: "send" | "read" | "opt out of" }
  | { readonly kind: "field_gone"; readonly where: string }
  | { readonly kind: "type_changed"; readonly where: string; readonly expected: string; readonly found: string }
  | { readonly kind: "values_gone"; readonly where: string; readonly values: readonly string[] }
  /** What we read may be a value that this version of ours has no name for. */
  | { readonly kind: "values_new"; readonly where: string; readonly values: readonly string[] }
  /** The app-server may ask for something that we refuse. */
  | { readonly kind: "request_new"; readonly where: string }
  /** A request of ours lacks a field without which it is now refused. */
  | { readonly kind: "field_required"; readonly where: string };

const DIRECTIONS = ["clientRequests", "clientNotifications", "serverRequests", "serverNotifications"] as const;

/** Compares the bundle that `generate-json-schema` writes. Empty: everything that we use is as it was. */
export function findDrift(bundle: unknown, manifest: ProtocolManifest): readonly Drift[] {
  const tree = new SchemaTree(bundle);
  return [
    ...DIRECTIONS.flatMap((direction) => driftOf(tree, direction, manifest[direction])),
    ...manifest.unused.flatMap((where): readonly Drift[] =>
      tree.methods("serverNotifications").has(where) ? [] : [{ kind: "method_gone", ours: "opt out of", where }],
    ),
    ...newRequests(tree, manifest),
  ];
}

function newRequests(tree: SchemaTree, manifest: ProtocolManifest): readonly Drift[] {
  const known = new Set([...Object.keys(manifest.serverRequests), ...manifest.refusedRequests]);
  return [...tree.methods("serverRequests").keys()]
    .filter((method) => !known.has(method))
    .map((where) => ({ kind: "request_new", where }));
}

function driftOf(tree: SchemaTree, direction: Direction, uses: Readonly<Record<string, MessageUse>>): readonly Drift[] {
  const methods = tree.methods(direction);
  const weSend = direction === "clientRequests" || direction === "clientNotifications";
  return Object.entries(uses).flatMap(([method, use]): readonly Drift[] => {
    const params = methods.get(method);
    if (!methods.has(method)) return [{ kind: "method_gone", ours: weSend ? "send" : "read", where: method }];
    const sides = [
      { name: "params", schema: params, shapes: use.params, isSent: weSend },
      { name: "result", schema: tree.resultOf(params), shapes: use.result, isSent: !weSend },
    ].filter(({ schema }) => schema !== null);
    return sides.flatMap((side) => driftOfSide(tree, method, side));
  });
}

interface Side {
  readonly name: string;
  readonly schema: unknown;
  readonly shapes: Readonly<Record<string, Shape>> | undefined;
  readonly isSent: boolean;
}

function driftOfSide(tree: SchemaTree, method: string, side: Side): readonly Drift[] {
  const { name, schema, shapes = {}, isSent } = side;
  const place = (path: string): string => `${method} ${name}.${path}`;
  const drifts = Object.entries(shapes).flatMap(([path, shape]) => {
    const nodes = tree.at(schema, path);
    if (nodes.length === 0) return [{ kind: "field_gone", where: place(path) } satisfies Drift];
    return typeof shape === "string"
      ? typeDrift(nodes, place(path), shape)
      : valueDrift(tree.values(nodes), place(path), { shape, isSent });
  });
  if (!isSent) return drifts;
  const sent = new Set(Object.keys(shapes).map((path) => path.split(/[.[]/)[0]));
  const lacking = tree.required(schema).filter((field) => !sent.has(field));
  return [...drifts, ...lacking.map((field): Drift => ({ kind: "field_required", where: place(field) }))];
}

function typeDrift(nodes: readonly Readonly<Record<string, unknown>>[], where: string, expected: string): Drift[] {
  const found = new Set(nodes.flatMap(typesOf));
  if (expected === "any" || found.has(expected)) return [];
  return [{ kind: "type_changed", where, expected, found: [...found].join(" or ") || "anything" }];
}

function typesOf(node: Readonly<Record<string, unknown>>): readonly string[] {
  const types = [node["type"]].flat().filter((type) => typeof type === "string");
  return types.map((type) => (type === "integer" ? "number" : type));
}

interface Values {
  readonly shape: readonly string[];
  readonly isSent: boolean;
}

/** What we send must still be accepted; what we read may also be more than we know. */
function valueDrift(found: readonly string[], where: string, { shape, isSent }: Values): readonly Drift[] {
  const gone = shape.filter((value) => !found.includes(value));
  const more = isSent ? [] : [...new Set(found)].filter((value) => !shape.includes(value));
  return [
    ...(gone.length === 0 ? [] : [{ kind: "values_gone", where, values: gone } satisfies Drift]),
    ...(more.length === 0 ? [] : [{ kind: "values_new", where, values: more } satisfies Drift]),
  ];
}

/** One line for a person. */
export function describeDrift(drift: Drift): string {
  switch (drift.kind) {
    case "method_gone":
      return `${drift.where}: we ${drift.ours} it, and there is no such method`;
    case "field_gone":
      return `${drift.where}: there is no such field`;
    case "type_changed":
      return `${drift.where}: was ${drift.expected}, is ${drift.found}`;
    case "values_gone":
      return `${drift.where}: can't be ${drift.values.join(", ")}`;
    case "values_new":
      return `${drift.where}: may also be ${drift.values.join(", ")}`;
    case "request_new":
      return `${drift.where}: a request that we don't know; it is refused`;
    case "field_required":
      return `${drift.where}: is required, and we don't send it`;
    default:
      return assertNever(drift);
  }
}
