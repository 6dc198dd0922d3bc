/** What an agent may hand to `linear_graphql`: a query string, or a query with variables (section 10.5). */
import { z } from "zod";

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

/** The object form; a string alone stands for its `query`. Errors are sentences for the model. */
export const toolInputSchema = z.strictObject(
  {
    query: z
      .string({ error: `query is no string. ${SHAPE}` })
      .refine((query) => query.trim() !== "", { error: `query is empty. ${SHAPE}` })
      .refine((query) => Buffer.byteLength(query) <= MAX_QUERY_BYTES, {
        error: `query is larger than ${MAX_QUERY_BYTES} bytes; pass long texts as variables.`,
      })
      .describe("A GraphQL document with exactly one operation."),
    variables: z
      .record(z.string(), z.unknown(), { error: `variables is no object. ${SHAPE}` })
      .refine((variables) => Buffer.byteLength(JSON.stringify(variables)) <= MAX_VARIABLES_BYTES, {
        error: `variables are larger than ${MAX_VARIABLES_BYTES} bytes.`,
      })
      .nullish()
      .describe("Values of its variables."),
  },
  {
    error: (issue) =>
      issue.code === "unrecognized_keys"
        ? `The input has an unknown key ${issue.keys.map((key) => JSON.stringify(key)).join(", ")}. ${SHAPE}`
        : `The input is neither a string nor an object. ${SHAPE}`,
  },
);

/** Checks type and size; the document itself is judged later. */
export function readToolInput(args: unknown): ReadInput {
  const parsed = toolInputSchema.safeParse(typeof args === "string" ? { query: args } : args);
  if (!parsed.success) return { ok: false, problem: parsed.error.issues[0]?.message ?? SHAPE };
  const { query, variables } = parsed.data;
  return { ok: true, input: { query, variables: variables ?? {} } };
}
