/** The OpenAPI document, made from the routes and their schemas, so that it can't say anything else than the code does. */
import { z } from "zod";
import { errorSchema } from "./envelope.ts";
import type { Route } from "./route.ts";

type Json = Readonly<Record<string, unknown>>;

/** A schema in the words of JSON Schema 2020-12, which OpenAPI 3.1 takes as it is. */
function schemaOf(schema: z.ZodType, io: "input" | "output"): Json {
  const { $schema: _, ...rest } = z.toJSONSchema(schema, { io, unrepresentable: "any" });
  return rest;
}

function parametersOf({ path, query }: Route): readonly Json[] {
  const inPath = [...path.matchAll(/:(\w+)/g)].map(([, name]) => {
    return { name, in: "path", required: true, schema: { type: "string" } };
  });
  if (query === null) return inPath;
  const { properties = {}, required = [] } = z.toJSONSchema(query, { io: "input" });
  const inQuery = Object.entries(properties).map(([name, schema]) => {
    return { name, in: "query", required: required.includes(name), schema };
  });
  return [...inPath, ...inQuery];
}

function operationOf(route: Route): Json {
  const parameters = parametersOf(route);
  return {
    summary: route.summary,
    ...(parameters.length === 0 ? {} : { parameters }),
    ...(route.body === null
      ? {}
      : { requestBody: { content: { "application/json": { schema: schemaOf(route.body, "input") } } } }),
    responses: {
      [route.status]: {
        description: "done as asked",
        content: { [route.mediaType]: { schema: schemaOf(route.answer, "output") } },
      },
      default: { $ref: "#/components/responses/Error" },
    },
  };
}

/** The whole document (OpenAPI 3.1). */
export function openApiDocument(routes: readonly Route[]): Json {
  const paths = Map.groupBy(routes, ({ path }) => path.replaceAll(/:(\w+)/g, "{$1}"));
  return {
    openapi: "3.1.0",
    info: {
      title: "symphony",
      version: "1",
      description:
        "One daemon's API. On its Unix socket it needs no token. Over TCP, requests that change something need one, and on an address that other machines reach, all do.",
    },
    security: [{}, { token: [] }],
    paths: Object.fromEntries(
      [...paths].map(([path, group]) => [
        path,
        Object.fromEntries(group.map((route) => [route.method, operationOf(route)])),
      ]),
    ),
    components: {
      securitySchemes: {
        token: { type: "http", scheme: "bearer", description: "the text of the file `token` in the state directory" },
      },
      responses: {
        Error: {
          description: "what went wrong",
          content: { "application/json": { schema: schemaOf(errorSchema, "output") } },
        },
      },
    },
  };
}
