import { expect, it } from "vitest";
import { z } from "zod";

import { toolInputSchema } from "./linear/tool-input.ts";
import { declaredSchema } from "./tool-schema.ts";

it("a tool declares what its parser takes: names, descriptions, what is required, and nothing else", () => {
  const schema = z.strictObject({
    action: z.enum(["get", "move"]).describe("What to do."),
    state: z.string().max(7).optional(),
  });
  expect(declaredSchema(schema)).toEqual({
    type: "object",
    properties: {
      action: { type: "string", enum: ["get", "move"], description: "What to do." },
      state: { type: "string", maxLength: 7 },
    },
    required: ["action"],
    additionalProperties: false,
  });
});

it("rules that JSON Schema can't say don't keep a tool from being declared", () => {
  expect(declaredSchema(toolInputSchema)).toMatchObject({ type: "object", required: ["query"] });
  expect(declaredSchema(toolInputSchema)).not.toHaveProperty("$schema");
});
