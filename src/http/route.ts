/** One route of the API as data: what it takes, what it answers, and who answers. Handlers, 405s and the OpenAPI document are made from it. */
import type { Context } from "hono";
import { z } from "zod";
import { ApiError } from "./envelope.ts";
import { parseInput } from "./input.ts";
import type { DaemonView } from "./view.ts";

/** What a handler may look at. */
export interface Asked {
  readonly context: Context;
  readonly view: DaemonView;
  /** Of the path, decoded; "" for one that the path doesn't have. */
  param(name: string): string;
}

/** A route without the types of its input, as tables of routes hold it. */
export interface Route {
  readonly method: "get" | "post";
  /** Names in it begin with a colon. */
  readonly path: string;
  readonly summary: string;
  readonly query: z.ZodType | null;
  readonly body: z.ZodType | null;
  readonly status: number;
  readonly answer: z.ZodType;
  /** Of the answer, where it isn't JSON. */
  readonly mediaType: string;
  handle(asked: Asked): Promise<Response>;
}

/** What a GET is made of. */
export interface GetSpec<Query> {
  readonly path: string;
  readonly summary: string;
  readonly query?: z.ZodType<Query>;
  readonly answer: z.ZodType;
  handle(asked: Asked, query: Query): unknown;
}

/** What a POST is made of; it answers 202 because what was asked for may take a moment. */
export interface PostSpec<Body> {
  readonly path: string;
  readonly summary: string;
  readonly body?: z.ZodType<Body>;
  readonly answer: z.ZodType;
  handle(asked: Asked, body: Body): unknown;
}

const NOTHING = z.strictObject({});

/** A route that only reads. */
export function get<Query = object>(spec: GetSpec<Query>): Route {
  const { path, summary, answer, query = null } = spec;
  return {
    method: "get",
    path,
    summary,
    answer,
    query,
    body: null,
    status: 200,
    mediaType: "application/json",
    async handle(asked) {
      const given = parseInput(query ?? NOTHING, asked.context.req.query(), "query") as Query;
      const found = await spec.handle(asked, given);
      return found instanceof Response ? found : asked.context.json(found);
    },
  };
}

/** A route that changes something. */
export function post<Body = object>(spec: PostSpec<Body>): Route {
  const { path, summary, answer, body = null } = spec;
  return {
    method: "post",
    path,
    summary,
    answer,
    query: null,
    body,
    status: 202,
    mediaType: "application/json",
    async handle(asked) {
      const given = parseInput(body ?? NOTHING, await readBody(asked.context), "body") as Body;
      return asked.context.json(await spec.handle(asked, given), 202);
    },
  };
}

/** No body counts as an empty object. A body must say that it is JSON: what a foreign page can send without asking first never does. */
async function readBody(context: Context): Promise<unknown> {
  const text = await context.req.text();
  if (text.trim() === "") return {};
  const type = context.req.header("content-type") ?? "";
  if (!/^application\/json\s*(;|$)/i.test(type)) {
    throw new ApiError(415, "unsupported_media_type", "send the body as content-type: application/json");
  }
  try {
    return JSON.parse(text);
  } catch (error) {
    throw new ApiError(400, "bad_request", "the body is not JSON", { cause: error });
  }
}
