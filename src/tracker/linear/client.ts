/** The way to Linear's GraphQL endpoint: one exchange at a time through Linear's SDK, under the budget, with a deadline. */
import { LinearError, LinearGraphQLClient } from "@linear/sdk";

import { AppError, errorMessage, isAppError } from "../../domain/errors.ts";
import type { Clock } from "../../lib/clock.ts";
import type { Account } from "./accounts.ts";
import type { Budget, HeaderReader, Lane } from "./budget.ts";
import { withDeadline } from "./deadline.ts";
import type { Exchange } from "./failures.ts";
import { failureOf, reasonOf } from "./failures.ts";

/** Linear answers in well under a second; this ends a hang. */
const REQUEST_TIMEOUT_MS = 30_000;

export interface LinearRequest {
  readonly document: string;
  readonly variables: Readonly<Record<string, unknown>>;
  readonly lane: Lane;
  readonly signal?: AbortSignal | undefined;
}

/** An answered request: complete data, or what is wrong with it. */
export interface LinearAnswer {
  readonly exchange: Exchange;
  readonly failure: AppError | null;
}

export interface LinearClientDeps {
  readonly endpoint: string;
  readonly account: Account;
  readonly clock: Clock;
}

/** Safe to use from many places at once. */
export class LinearClient {
  readonly budget: Budget;
  readonly #deps: LinearClientDeps;
  readonly #closed = new AbortController();

  constructor(deps: LinearClientDeps) {
    this.#deps = deps;
    this.budget = deps.account.budget;
  }

  /** Complete data, or an AppError: nothing in between. */
  async query(request: LinearRequest): Promise<unknown> {
    const { exchange, failure } = await this.send(request);
    if (failure !== null) throw failure;
    return exchange.body.kind === "json" ? exchange.body.data : null;
  }

  /** Whatever was answered. Throws tracker_rate_limited where the budget forbids sending, tracker_request where nothing came back. */
  async send(request: LinearRequest): Promise<LinearAnswer> {
    const { credentials } = this.#deps.account;
    const header = await credentials.header();
    const answer = await this.#sendWith(header, request);
    if (reasonOf(answer.failure) !== "authentication" || !(await credentials.renew(header))) return answer;
    return this.#sendWith(await credentials.header(), request);
  }

  async #sendWith(header: string, request: LinearRequest): Promise<LinearAnswer> {
    this.budget.admit(request.lane);
    const outer = [this.#closed.signal, ...(request.signal === undefined ? [] : [request.signal])];
    const work = (signal: AbortSignal): Promise<Exchange> => this.#post(header, request, signal);
    const exchange = await withDeadline(this.#deps.clock, REQUEST_TIMEOUT_MS, work, outer);
    this.budget.learn(exchange.headers, request.lane);
    return { exchange, failure: failureOf(exchange, () => this.budget.throttle(exchange.headers, request.lane)) };
  }

  async #post(header: string, request: LinearRequest, signal: AbortSignal): Promise<Exchange> {
    // A client of its own for each request: the SDK takes the signal nowhere else. A redirect would be an answer we can't trust.
    const options = { headers: { Authorization: header }, signal, redirect: "manual" } satisfies RequestInit;
    const client = new LinearGraphQLClient(this.#deps.endpoint, options);
    try {
      const { data, headers, status } = await client.rawRequest<unknown, Record<string, unknown>>(request.document, {
        ...request.variables,
      });
      return { status: status ?? 200, headers: headers ?? NO_HEADERS, body: { kind: "json", data, errors: [] } };
    } catch (error) {
      const refused = error instanceof LinearError ? exchangeOf(error) : null;
      if (refused !== null) return refused;
      throw signal.aborted || isAppError(error) ? error : noExchange(error);
    }
  }

  /** Ends what is under way. */
  close(): void {
    this.#closed.abort(new AppError("tracker_request", "the connection to Linear was closed", { retryable: false }));
  }
}

const NO_HEADERS: HeaderReader = { get: () => null };

/** The SDK keeps the answer inside its error; its own classes look at the wrong marks, so only the answer is used. */
function exchangeOf(error: LinearError): Exchange | null {
  const response = error.raw?.response;
  if (response?.status === undefined) return null;
  const headers = response.headers instanceof Headers ? response.headers : NO_HEADERS;
  if (typeof response.error === "string") {
    return { status: response.status, headers, body: { kind: "text", text: response.error } };
  }
  const errors: readonly unknown[] = Array.isArray(response.errors) ? response.errors : [];
  return { status: response.status, headers, body: { kind: "json", data: response.data ?? null, errors } };
}

/** A bare SyntaxError is a body that is no JSON; a TypeError with a cause is the network's, one without is a body like `null`. */
function noExchange(error: unknown): AppError {
  if (error instanceof TypeError && error.cause !== undefined) {
    const code = causeCode(error.cause);
    const text = `Linear can't be reached: ${code ?? errorMessage(error.cause)}`;
    return new AppError("tracker_request", text, { reason: "network", retryable: true, networkCode: code });
  }
  const text = "Linear answered something that is no GraphQL result";
  return new AppError("tracker_response", text, { reason: "unreadable", retryable: true });
}

function causeCode(cause: unknown): string | null {
  const code = typeof cause === "object" && cause !== null && "code" in cause ? cause.code : null;
  return typeof code === "string" ? code : null;
}
