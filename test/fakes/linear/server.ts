/** A local Linear: graphql-js over the small schema, with Linear's auth shapes, prices, buckets and refusals, and faults on demand. */
import { readFileSync } from "node:fs";
import type { IncomingMessage, Server, ServerResponse } from "node:http";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { setTimeout as wait } from "node:timers/promises";

import type { DocumentNode, OperationDefinitionNode } from "graphql";
import { buildSchema, execute, GraphQLError, Kind, parse, validate } from "graphql";

import { Board, EntityNotFound } from "./board.ts";
import type { BucketLimits } from "./buckets.ts";
import { Buckets, KEY_LIMITS } from "./buckets.ts";
import { priceOf } from "./complexity.ts";
import type { AnswerBody, FaultRule } from "./faults.ts";
import { Faults, rateLimitedBody, sendJson, spoil } from "./faults.ts";
import { ArgumentValidationError } from "./filter.ts";
import type { OAuthClient } from "./oauth.ts";
import { TokenDesk } from "./oauth.ts";
import { mutationFields, queryFields } from "./resolvers.ts";

/** Linear refuses a single query above this price. */
const MAX_COMPLEXITY = 10_000;

const schema = buildSchema(readFileSync(new URL("schema.graphql", import.meta.url), "utf8"));

export interface LinearServerOptions {
  /** 0 or absent = any free port of 127.0.0.1. */
  readonly port?: number;
  /** A personal key, accepted bare. */
  readonly apiKey?: string;
  /** OAuth access tokens, accepted as `Bearer`. May be changed while the server runs. */
  readonly oauthTokens?: Set<string>;
  /** An OAuth application, whose tokens `/oauth/token` hands out. */
  readonly oauthClient?: OAuthClient;
  readonly limits?: BucketLimits;
  /** Epoch ms for stamps and buckets. */
  readonly now?: () => number;
}

/** One request that was answered (or, for a hang, swallowed). */
export interface LoggedRequest {
  readonly operation: string | null;
  readonly kind: "query" | "mutation" | "subscription" | "unreadable";
  readonly rootFields: readonly string[];
  readonly variables: Readonly<Record<string, unknown>>;
  readonly query: string;
  readonly authorized: boolean;
  /** Rounded up, as in the header. */
  readonly points: number;
}

export interface LinearServer {
  /** The GraphQL endpoint. */
  readonly url: string;
  /** Where OAuth applications fetch their tokens. */
  readonly tokenUrl: string;
  readonly apiKey: string;
  readonly board: Board;
  readonly buckets: Buckets;
  readonly tokens: TokenDesk;
  /** Oldest first; a test may empty it. */
  readonly requests: LoggedRequest[];
  fail(rule: FaultRule): void;
  heal(): void;
  close(): Promise<void>;
}

interface Operation {
  readonly query: string;
  readonly variables: Readonly<Record<string, unknown>>;
  readonly operationName: string | null;
}

interface Answer {
  readonly status: number;
  readonly body: AnswerBody;
  readonly points: number;
}

function refuse(status: number, message: string, code: string, type = "invalid input"): Answer {
  const extensions = { code, type, userError: true, userPresentableMessage: message, http: { status } };
  return { status, body: { errors: [{ message, extensions }] }, points: 0 };
}

const THROTTLED: Answer = { status: 400, body: rateLimitedBody("both"), points: 0 };

/** Linear says the number in the presentable message alone. */
function tooComplex(points: number): Answer {
  const userPresentableMessage = `Query too complex. Complexity: ${Math.ceil(points)}, maximum: ${MAX_COMPLEXITY}.`;
  const extensions = { code: "INPUT_ERROR", type: "invalid input", userError: true, userPresentableMessage };
  return { status: 400, body: { errors: [{ message: "Query too complex", extensions }] }, points: 0 };
}

async function readBody(request: IncomingMessage): Promise<Operation | null> {
  const chunks: Buffer[] = [];
  for await (const chunk of request) chunks.push(chunk as Buffer);
  try {
    const body = JSON.parse(Buffer.concat(chunks).toString("utf8")) as Partial<Operation> | null;
    if (typeof body?.query !== "string") return null;
    return { query: body.query, variables: body.variables ?? {}, operationName: body.operationName ?? null };
  } catch {
    return null;
  }
}

const parsed = new Map<string, DocumentNode>();

function tryParse(query: string): DocumentNode | GraphQLError {
  const known = parsed.get(query);
  if (known !== undefined) return known;
  try {
    const document = parse(query, { noLocation: true });
    parsed.set(query, document);
    return document;
  } catch (error) {
    return error instanceof GraphQLError ? error : new GraphQLError(String(error));
  }
}

/** Documents that have been found valid: a poller sends the same few for ever. */
const valid = new WeakSet<DocumentNode>();

function firstFault(document: DocumentNode): GraphQLError | undefined {
  if (valid.has(document)) return undefined;
  const [error] = validate(schema, document);
  if (error === undefined) valid.add(document);
  return error;
}

function operationsOf(document: DocumentNode | GraphQLError): readonly OperationDefinitionNode[] {
  if (document instanceof GraphQLError) return [];
  return document.definitions.filter((node) => node.kind === Kind.OPERATION_DEFINITION);
}

/** Errors of fields come with HTTP 200 and Linear's marks. */
function formatError(error: GraphQLError): unknown {
  const original = error.originalError;
  const known = original instanceof EntityNotFound || original instanceof ArgumentValidationError;
  const extensions = known
    ? { code: "INPUT_ERROR", type: "invalid input", userError: true, userPresentableMessage: original.message }
    : { code: "INTERNAL_SERVER_ERROR", type: "internal error", userError: false };
  return { message: error.message, path: error.path, extensions };
}

/** One running fake. */
class FakeLinear {
  readonly board: Board;
  readonly buckets: Buckets;
  readonly faults = new Faults();
  readonly tokens: TokenDesk;
  readonly requests: LoggedRequest[] = [];
  readonly #root: Readonly<Record<string, unknown>>;
  readonly #options: LinearServerOptions & { readonly apiKey: string };

  constructor(options: LinearServerOptions & { readonly apiKey: string }) {
    const now = options.now ?? Date.now;
    this.#options = options;
    this.board = new Board(now);
    this.tokens = new TokenDesk(options.oauthClient ?? null);
    this.buckets = new Buckets(options.limits ?? KEY_LIMITS, now);
    this.#root = { ...queryFields(this.board, () => this.#rateLimits()), ...mutationFields(this.board) };
  }

  #rateLimits(): Record<string, unknown> {
    const [limits, left, resets] = [this.buckets.limits(), this.buckets.left(), this.buckets.resets()];
    const row = (type: "requests" | "complexity"): Record<string, unknown> => ({
      type,
      allowedAmount: limits[type],
      remainingAmount: left[type],
      requestedAmount: 1,
      period: 3_600_000,
      reset: resets[type],
    });
    return { kind: "user", identifier: this.board.viewer().id, limits: [row("requests"), row("complexity")] };
  }

  /** A key goes bare, an OAuth token goes as Bearer; the other way round is refused. */
  #authorized(request: IncomingMessage): boolean {
    const header = request.headers.authorization ?? "";
    if (header === this.#options.apiKey) return true;
    if (!header.startsWith("Bearer ")) return false;
    const token = header.slice("Bearer ".length);
    return this.tokens.accepts(token) || (this.#options.oauthTokens?.has(token) ?? false);
  }

  async handle(request: IncomingMessage, response: ServerResponse): Promise<void> {
    if (request.url === "/oauth/token") {
      await this.tokens.handle(request, response);
      return;
    }
    const operation = await readBody(request);
    const document = tryParse(operation?.query ?? "");
    const [first] = operationsOf(document);
    const fields = first?.selectionSet.selections ?? [];
    const incoming = {
      operation: first?.name?.value ?? null,
      rootFields: fields.flatMap((node) => (node.kind === Kind.FIELD ? [node.name.value] : [])),
      variables: operation?.variables ?? {},
    };
    const authorized = this.#authorized(request);
    const answer = await this.#answer(operation, document, authorized);
    const points = Math.ceil(answer.points);
    const kind = first?.operation ?? "unreadable";
    this.requests.push({ ...incoming, kind, query: operation?.query ?? "", authorized, points });
    const headers = this.buckets.headers(answer.points);
    const fault = this.faults.take(incoming);
    if (fault === null) sendJson(response, answer.status, answer.body, headers);
    else if (fault.kind === "delay") {
      await wait(fault.ms);
      sendJson(response, answer.status, answer.body, headers);
    } else spoil(fault, response, { body: answer.body, headers });
  }

  async #answer(
    operation: Operation | null,
    document: DocumentNode | GraphQLError,
    authorized: boolean,
  ): Promise<Answer> {
    if (!authorized) return refuse(401, "Authentication required", "AUTHENTICATION_ERROR", "authentication error");
    if (!this.buckets.takeRequest()) return THROTTLED;
    if (operation === null) return refuse(400, "Body is not a GraphQL request", "BAD_REQUEST");
    if (document instanceof GraphQLError) {
      return refuse(400, document.message, "GRAPHQL_PARSE_FAILED", "graphql error");
    }
    if (operationsOf(document).length !== 1) {
      return refuse(400, "Exactly one operation is wanted", "BAD_REQUEST", "graphql error");
    }
    const invalid = firstFault(document);
    if (invalid !== undefined) {
      return refuse(400, invalid.message, "GRAPHQL_VALIDATION_FAILED", "graphql error");
    }
    const points = priceOf({ schema, document, variables: operation.variables });
    if (points > MAX_COMPLEXITY) return tooComplex(points);
    if (!this.buckets.takePoints(points)) return THROTTLED;
    const result = await execute({ schema, document, rootValue: this.#root, variableValues: operation.variables });
    // A request whose variables don't fit is refused before anything runs, and so has no data at all.
    if (!("data" in result)) {
      const message = result.errors?.[0]?.message ?? "invalid request";
      return refuse(400, message, "BAD_USER_INPUT");
    }
    const errors = result.errors === undefined ? {} : { errors: result.errors.map(formatError) };
    return { status: 200, body: { ...errors, data: result.data }, points };
  }
}

async function listen(server: Server, port: number): Promise<number> {
  await new Promise<void>((resolve, reject) => {
    server.once("error", reject);
    server.listen(port, "127.0.0.1", resolve);
  });
  return (server.address() as AddressInfo).port;
}

/** Starts a fake with a team ENG, a project `demo` and no issues. */
export async function startLinearServer(options: LinearServerOptions = {}): Promise<LinearServer> {
  const apiKey = options.apiKey ?? "lin_api_0000local0000key0000of0000the0000fake";
  const fake = new FakeLinear({ ...options, apiKey });
  const server = createServer((request, response) => {
    fake.handle(request, response).catch((error: unknown) => {
      if (!response.headersSent) sendJson(response, 500, { errors: [{ message: String(error) }] });
      else response.destroy();
    });
  });
  const port = await listen(server, options.port ?? 0);
  return {
    url: `http://127.0.0.1:${port}/graphql`,
    tokenUrl: `http://127.0.0.1:${port}/oauth/token`,
    apiKey,
    tokens: fake.tokens,
    board: fake.board,
    buckets: fake.buckets,
    requests: fake.requests,
    fail: (rule) => fake.faults.add(rule),
    heal: () => fake.faults.clear(),
    async close() {
      const closed = new Promise<void>((resolve) => {
        server.close(() => resolve());
      });
      server.closeAllConnections();
      await closed;
    },
  };
}
