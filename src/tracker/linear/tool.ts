/** The tool `linear_graphql`: an agent's own GraphQL operation, run by the daemon with the daemon's credential (section 10.5). */
import { print } from "graphql/language";

import type { AppError } from "../../domain/errors.ts";
import { errorMessage, isAppError } from "../../domain/errors.ts";
import type { Tool, ToolContext, ToolResult } from "../../domain/tool.ts";
import type { LinearAnswer, LinearClient } from "./client.ts";
import type { Credentials } from "./credentials.ts";
import { judge } from "./guard.ts";
import { learnOwned } from "./learn-owned.ts";
import type { Operation } from "./operation.ts";
import { readOperation } from "./operation.ts";
import { Ownership } from "./ownership.ts";
import type { ToolMode } from "./provider.ts";
import type { ToolInput } from "./tool-input.ts";
import { readToolInput } from "./tool-input.ts";
import type { ResultError } from "./tool-result.ts";
import { ResultWriter } from "./tool-result.ts";

export interface LinearToolDeps {
  readonly client: LinearClient;
  readonly credentials: Credentials;
  readonly mode: ToolMode;
}

const INTRODUCTION =
  "Run one GraphQL operation (a query or a mutation) against Linear, with the daemon's credential. Lists are pages: ask for first: 10 and go on with after. " +
  'Types are found with { __type(name: "Issue") { fields { name } } }.';

const ABOUT_MODE: Readonly<Record<ToolMode, string>> = {
  open: "",
  read: " Only queries are allowed.",
  scoped:
    " Changes are limited to your own issue: issueUpdate (title, description, stateId, priority, estimate, dueDate, labels), comments, reactions, attachments, " +
    "relations, and sub-issues in its project (issueCreate with parentId).",
};

const INPUT_SCHEMA = {
  type: "object",
  properties: {
    query: { type: "string", description: "A GraphQL document with exactly one operation." },
    variables: { type: ["object", "null"], description: "Values of its variables.", additionalProperties: true },
  },
  required: ["query"],
  additionalProperties: false,
} as const;

/** Parsed and counted, or what to tell the agent. */
type Readable =
  | { readonly ok: true; readonly input: ToolInput; readonly operation: Operation }
  | { readonly ok: false; readonly problem: string };

function read(args: unknown): Readable {
  const input = readToolInput(args);
  if (!input.ok) return input;
  const operation = readOperation(input.input.query);
  return operation.ok ? { ok: true, input: input.input, operation: operation.operation } : operation;
}

/** What our side knows about a failure, for the agent to act on. */
function describeFailure(failure: AppError, kind: Operation["kind"]): ResultError {
  const { resetAt, reason } = failure.data;
  const code = reason === "too_complex" ? "too_complex" : failure.code;
  const isLost = failure.code === "tracker_request" && kind === "mutation";
  const advice = isLost ? " The change may have been made all the same: read before you repeat it." : "";
  return {
    code,
    message: `${failure.message}${advice}`,
    ...(typeof resetAt === "number" ? { reset_at: new Date(resetAt).toISOString() } : {}),
  };
}

/** Whether the body's own errors say it all (they are kept as they are), so that nothing need be added. */
function needsWords(failure: AppError): boolean {
  return (
    failure.code !== "tracker_response" ||
    failure.data["reason"] === "too_complex" ||
    failure.data["reason"] === "unreadable"
  );
}

class LinearTool {
  readonly #deps: LinearToolDeps;
  readonly #ownership = new Ownership();
  readonly #results: ResultWriter;

  constructor(deps: LinearToolDeps) {
    this.#deps = deps;
    this.#results = new ResultWriter(() => deps.credentials.secrets());
  }

  async call(args: unknown, context: ToolContext): Promise<ToolResult> {
    const readable = read(args);
    if (!readable.ok) return this.#results.error({ code: "invalid_input", message: readable.problem });
    const { operation, input } = readable;
    try {
      return await this.#run(operation, input, context);
    } catch (error) {
      if (isAppError(error)) return this.#results.error(describeFailure(error, operation.kind));
      const message = context.signal.aborted
        ? "The call was ended: its time is up, or the run ends."
        : errorMessage(error);
      return this.#results.error({ code: context.signal.aborted ? "cancelled" : "tracker_request", message });
    }
  }

  async #run(operation: Operation, input: ToolInput, context: ToolContext): Promise<ToolResult> {
    const { client, mode } = this.#deps;
    const { issue, signal } = context;
    let document = input.query;
    if (mode !== "open") {
      const lookup = (query: string, variables: Readonly<Record<string, unknown>>): Promise<unknown> =>
        client.query({ document: query, variables, lane: "tool_read", signal });
      const refusal = await judge(operation, input.variables, { mode, issue, ownership: this.#ownership, lookup });
      if (refusal !== null) return this.#results.error(refusal);
      // What was judged is what is sent, whatever another parser would have made of the text.
      document = print(operation.document);
    }
    const lane = operation.kind === "mutation" ? "tool_change" : "tool_read";
    const answer = await client.send({ document, variables: input.variables, lane, signal });
    const { body } = answer.exchange;
    if (answer.failure === null && mode === "scoped" && body.kind === "json") {
      learnOwned(operation, body.data, (kind, id) => this.#ownership.remember(kind, id, issue));
    }
    return this.#report(answer, operation);
  }

  #report({ exchange, failure }: LinearAnswer, operation: Operation): ToolResult {
    const error = failure !== null && needsWords(failure) ? describeFailure(failure, operation.kind) : null;
    return this.#results.answer(exchange, failure, error);
  }
}

/** The tool in its mode. Ownership that it has learned lives as long as it does. */
export function createLinearTool(deps: LinearToolDeps): Tool {
  const tool = new LinearTool(deps);
  return {
    name: "linear_graphql",
    description: `${INTRODUCTION}${ABOUT_MODE[deps.mode]}`,
    inputSchema: INPUT_SCHEMA,
    canChange(args) {
      const readable = read(args);
      return readable.ok && readable.operation.kind === "mutation";
    },
    call: (args, context) => tool.call(args, context),
  };
}
