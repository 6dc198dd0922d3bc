/** Ways for the fake to misbehave, chosen by operation name and counted. */
import type { ServerResponse } from "node:http";

/** What the answer to a matching request becomes. */
export type Fault =
  | { readonly kind: "status"; readonly status: number; readonly body?: string; readonly contentType?: string }
  | {
      readonly kind: "ratelimited";
      readonly status?: number;
      /** Which of Linear's two marks the body carries; "none" leaves only the status. */
      readonly mark?: "both" | "code" | "type" | "none";
      readonly headers?: Readonly<Record<string, string>>;
    }
  | {
      readonly kind: "graphql";
      readonly status?: number;
      readonly errors?: readonly unknown[];
      readonly withData?: boolean;
    }
  | { readonly kind: "alter"; readonly alter: (body: AnswerBody) => unknown }
  | { readonly kind: "delay"; readonly ms: number }
  | { readonly kind: "html" | "empty" | "truncated" | "reset" | "hang" | "badCursor" | "notJson" };

export interface AnswerBody {
  data?: unknown;
  errors?: readonly unknown[];
}

export interface FaultRule {
  readonly fault: Fault;
  /** Operation name or root field; default: every request. */
  readonly operation?: string;
  /** Matching requests to let pass first. */
  readonly skip?: number;
  /** How many to spoil; default: all until cleared. */
  readonly times?: number;
}

/** One request as the rules see it. */
export interface Incoming {
  readonly operation: string | null;
  readonly rootFields: readonly string[];
  readonly variables: Readonly<Record<string, unknown>>;
}

interface ActiveRule {
  readonly rule: FaultRule;
  skip: number;
  left: number;
}

/** The rules in force. */
export class Faults {
  #rules: ActiveRule[] = [];

  add(rule: FaultRule): void {
    this.#rules.push({ rule, skip: rule.skip ?? 0, left: rule.times ?? Number.POSITIVE_INFINITY });
  }

  clear(): void {
    this.#rules = [];
  }

  /** The first rule that matches and isn't used up; uses it. */
  take(request: Incoming): Fault | null {
    for (const active of this.#rules) {
      if (active.left <= 0 || !matches(active.rule, request)) continue;
      if (active.skip > 0) {
        active.skip -= 1;
        continue;
      }
      active.left -= 1;
      return active.rule.fault;
    }
    return null;
  }
}

function matches(rule: FaultRule, request: Incoming): boolean {
  if (rule.fault.kind === "badCursor" && typeof request.variables["after"] !== "string") return false;
  const { operation } = rule;
  return operation === undefined || operation === request.operation || request.rootFields.includes(operation);
}

/** Linear's captured refusal of a throttled request. */
export function rateLimitedBody(mark: "both" | "code" | "type" | "none"): AnswerBody {
  if (mark === "none") return {};
  const extensions = {
    ...(mark === "code" ? {} : { type: "ratelimited" }),
    ...(mark === "type" ? {} : { code: "RATELIMITED" }),
    statusCode: 429,
    userError: true,
    userPresentableMessage: "Rate limit exceeded. Only 2500 requests are allowed per 1 hour.",
    meta: { rateLimitResult: { allowed: false, requested: 1, remaining: 0, duration: 3_600_000, limit: 2_500 } },
    http: { status: 400 },
  };
  return { errors: [{ message: "Rate limit exceeded", extensions }] };
}

/** Writes JSON and its headers. */
export function sendJson(
  response: ServerResponse,
  status: number,
  body: unknown,
  headers: Readonly<Record<string, string>> = {},
): void {
  response.writeHead(status, { "content-type": "application/json; charset=utf-8", ...headers });
  response.end(JSON.stringify(body));
}

const HTML = "<!doctype html><html><body><h1>Bad gateway</h1></body></html>";

/** Answers wrongly on purpose. `normal` is what a healthy server would have said. */
export function spoil(
  fault: Exclude<Fault, { readonly kind: "delay" }>,
  response: ServerResponse,
  normal: { readonly body: AnswerBody; readonly headers: Readonly<Record<string, string>> },
): void {
  switch (fault.kind) {
    case "status":
      response.writeHead(fault.status, { "content-type": fault.contentType ?? "text/plain" });
      response.end(fault.body ?? "");
      return;
    case "ratelimited":
      sendJson(response, fault.status ?? 400, rateLimitedBody(fault.mark ?? "both"), fault.headers ?? normal.headers);
      return;
    case "graphql": {
      const errors = fault.errors ?? [{ message: "Internal error", extensions: { code: "INTERNAL_SERVER_ERROR" } }];
      sendJson(response, fault.status ?? 200, fault.withData === true ? { ...normal.body, errors } : { errors });
      return;
    }
    case "badCursor":
      sendJson(response, 200, {
        errors: [
          {
            message: "Argument Validation Error - invalid cursor",
            extensions: { code: "INPUT_ERROR", type: "invalid input" },
          },
        ],
        data: null,
      });
      return;
    case "alter":
      sendJson(response, 200, fault.alter(normal.body), normal.headers);
      return;
    case "html":
      response.writeHead(200, { "content-type": "text/html" }).end(HTML);
      return;
    case "notJson":
      response.writeHead(200, { "content-type": "application/json" }).end(HTML);
      return;
    case "empty":
      response.writeHead(200, { "content-type": "application/json" }).end();
      return;
    case "truncated": {
      const text = JSON.stringify(normal.body);
      response.writeHead(200, { "content-type": "application/json", "content-length": String(text.length + 100) });
      response.write(text.slice(0, text.length / 2), () => response.destroy());
      return;
    }
    case "reset":
      response.destroy();
      return;
    case "hang":
      return;
  }
}
