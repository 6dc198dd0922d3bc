/** What an agent may hand to `linear_graphql`: a query string, or a query with variables (section 10.5). */

export interface ToolInput {
  readonly query: string;
  readonly variables: Readonly<Record<string, unknown>>;
}

/** Input, or what is wrong with it in words for the model. */
export type ReadInput =
  { readonly ok: true; readonly input: ToolInput } | { readonly ok: false; readonly problem: string };

/** Far more than a document with a long comment in it; a larger one is a mistake or an attack. */
const MAX_QUERY_BYTES = 100_000;
const MAX_VARIABLES_BYTES = 500_000;

const SHAPE = 'Give a GraphQL document as a string, or {"query": "...", "variables": {...}}.';

function isMap(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

function refuse(problem: string): ReadInput {
  return { ok: false, problem };
}

/** Checks type and size; the document itself is judged later. */
export function readToolInput(args: unknown): ReadInput {
  if (typeof args !== "string" && !isMap(args)) return refuse(`The input is neither a string nor an object. ${SHAPE}`);
  const map: Readonly<Record<string, unknown>> = typeof args === "string" ? { query: args } : args;
  const unknown = Object.keys(map).find((key) => key !== "query" && key !== "variables");
  if (unknown !== undefined) return refuse(`The input has an unknown key ${JSON.stringify(unknown)}. ${SHAPE}`);
  const { query, variables = null } = map;
  if (typeof query !== "string") return refuse(`query is no string. ${SHAPE}`);
  if (query.trim() === "") return refuse(`query is empty. ${SHAPE}`);
  if (variables !== null && !isMap(variables)) return refuse(`variables is no object. ${SHAPE}`);
  if (Buffer.byteLength(query) > MAX_QUERY_BYTES) {
    return refuse(`query is larger than ${MAX_QUERY_BYTES} bytes; pass long texts as variables.`);
  }
  if (variables !== null && Buffer.byteLength(JSON.stringify(variables)) > MAX_VARIABLES_BYTES) {
    return refuse(`variables are larger than ${MAX_VARIABLES_BYTES} bytes.`);
  }
  return { ok: true, input: { query, variables: variables ?? {} } };
}
