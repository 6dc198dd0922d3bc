/** The JSON Schema that a tool declares, made from the very schema that parses its input: the two can't drift apart. */
import { z } from "zod";

import type { ToolSpec } from "../domain/tool.ts";

/** What the agent may send; `$schema` is left out, which the app-server has no use for. Rules that JSON Schema can't say stay with the parser. */
export function declaredSchema(schema: z.ZodType): ToolSpec["inputSchema"] {
  const { $schema: _, ...declared } = z.toJSONSchema(schema, { io: "input" });
  // JSON by its making; the round trip drops what isn't, such as undefined.
  return JSON.parse(JSON.stringify(declared)) as ToolSpec["inputSchema"];
}
