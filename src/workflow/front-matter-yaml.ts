/** Reads the front matter's YAML: plain data only, bounded, with the file's own line numbers in every error. */
import { isMap, isNode, LineCounter, parseAllDocuments, visit, type Document, type ParsedNode } from "yaml";

import { AppError, errorMessage } from "../domain/errors.ts";

/** Where a value stands in the front matter: map keys and list indexes. */
export type KeyPath = readonly (string | number)[];

/** `codex.env.TOKEN`, `notify.webhooks[0]`. */
export function keyText(path: KeyPath): string {
  return path.reduce<string>((text, key) => {
    if (typeof key === "number") return `${text}[${key}]`;
    return text === "" ? key : `${text}.${key}`;
  }, "");
}

/** The front matter as data. */
export interface FrontMatter {
  readonly values: Readonly<Record<string, unknown>>;
  /** Line in the file (from 1) of a key, or of the nearest one above it that the file has. */
  lineOf(path: KeyPath): number;
}

/** More aliases than this, or ones that unfold to more, are an attack or an accident (the library counts the unfolded ones). */
const MAX_ALIASES = 100;

/** The tags of the YAML core schema; any other asks for a type that settings don't have. */
const CORE_TAGS: ReadonlySet<string> = new Set(
  ["str", "int", "float", "bool", "null", "map", "seq"].map((name) => `tag:yaml.org,2002:${name}`),
);

interface Source {
  readonly path: string;
  readonly firstLine: number;
  readonly counter: LineCounter;
}

/** What stands where the map should be, in words. */
function kindOf(value: unknown): string {
  if (Array.isArray(value)) return "a list";
  return typeof value === "string" ? "text" : `a ${typeof value}`;
}

function lineAt(source: Source, offset: number): number {
  return source.firstLine + Math.max(source.counter.linePos(offset).line, 1) - 1;
}

function parseError(source: Source, line: number, problem: string): AppError {
  return new AppError("workflow_parse_error", `${source.path}:${line}: ${problem}`, { path: source.path, line });
}

/**
 * Parses `yaml`, whose first line is line `firstLine` of the file. Throws `workflow_parse_error` with the line for anything that is
 * not one document of plain data, and `workflow_front_matter_not_a_map`. Empty YAML is an empty map.
 */
export function parseFrontMatter(path: string, yaml: string, firstLine: number): FrontMatter {
  const source: Source = { path, firstLine, counter: new LineCounter() };
  const document = readDocument(source, yaml);
  if (!document?.contents) return { values: {}, lineOf: () => 1 };
  refuseTags(source, document);
  const values = toData(source, document);
  if (values === null) return { values: {}, lineOf: () => 1 };
  if (!isMap(document.contents)) {
    const message = `${path}:${firstLine}: the front matter is ${kindOf(values)}, not a map; write it as key: value lines`;
    throw new AppError("workflow_front_matter_not_a_map", message, { path, line: firstLine });
  }
  return { values: values as Record<string, unknown>, lineOf: (key) => lineOfKey(source, document, key) };
}

function readDocument(source: Source, yaml: string): Document.Parsed | null {
  const options = { lineCounter: source.counter, prettyErrors: false, uniqueKeys: true, logLevel: "silent" } as const;
  const parsed = parseAllDocuments(yaml, options);
  const documents: readonly Document.Parsed[] = Array.isArray(parsed) ? parsed : [];
  const [document, second] = documents;
  const error = document?.errors[0];
  if (error !== undefined) {
    throw parseError(source, lineAt(source, error.pos[0]), `the front matter is no valid YAML: ${error.message}`);
  }
  if (second !== undefined) {
    const line = lineAt(source, second.range[0]);
    throw parseError(
      source,
      line,
      "the front matter holds a second YAML document; remove the line that ends the first one",
    );
  }
  return document ?? null;
}

/** A tag can ask for a type, or in some libraries for code; nothing here needs either. */
function refuseTags(source: Source, document: Document.Parsed): void {
  visit(document, {
    Node(_key, node) {
      const tag = "tag" in node ? node.tag : undefined;
      if (tag === undefined || CORE_TAGS.has(tag)) return;
      const line = lineAt(source, node.range?.[0] ?? 0);
      throw parseError(source, line, `the YAML tag ${tag} is not allowed; write the plain value`);
    },
  });
}

function toData(source: Source, document: Document.Parsed): unknown {
  try {
    const data: unknown = document.toJS({ maxAliasCount: MAX_ALIASES });
    // An alias inside its own anchor makes a ring, which nothing that reads settings expects.
    JSON.stringify(data);
    return data;
  } catch (error) {
    const reason = error instanceof TypeError ? "an alias stands inside its own anchor" : errorMessage(error);
    throw parseError(source, source.firstLine, `the front matter can't be read: ${reason}`);
  }
}

function lineOfKey(source: Source, document: Document.Parsed, path: KeyPath): number {
  let line = source.firstLine;
  let node: unknown = document.contents;
  for (const key of path) {
    const child = childOf(node, key);
    if (child === null) return line;
    if (child.offset !== null) line = lineAt(source, child.offset);
    node = child.node;
  }
  return line;
}

/** A map's pair counts from its key, a list's item from itself. */
function childOf(node: unknown, key: string | number): { offset: number | null; node: unknown } | null {
  if (isMap<ParsedNode, ParsedNode>(node)) {
    const pair = node.items.find((item) => String(item.key) === String(key));
    return pair === undefined ? null : { offset: pair.key.range[0], node: pair.value };
  }
  const item: unknown = isNode(node) && "items" in node && typeof key === "number" ? node.items[key] : undefined;
  return isNode(item) ? { offset: item.range?.[0] ?? null, node: item } : null;
}
