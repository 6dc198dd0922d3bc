/** The tool `linear_graphql`: an agent's own GraphQL operation, run by the daemon with the daemon's credential (section 10.5). */
import { randomUUID } from "node:crypto";

import { print } from "graphql/language";

import type { AppError } from "../../domain/errors.ts";
import { errorMessage, isAppError } from "../../domain/errors.ts";
import type { Tool, ToolContext, ToolResult } from "../../domain/tool.ts";
import { declaredSchema } from "../tool-schema.ts";
import type { LinearAnswer, LinearClient } from "./client.ts";
import type { Credentials } from "./credentials.ts";
import { callKey, DoubtfulCalls, findMade, isInDoubt } from "./doubtful-calls.ts";
import type { FixedCall, FixedId } from "./fixed-ids.ts";
import { fixIds } from "./fixed-ids.ts";
import { judge } from "./guard.ts";
import { learnOwned } from "./learn-owned.ts";
import type { Operation } from "./operation.ts";
import { readOperation } from "./operation.ts";
import type { Lookup } from "./ownership.ts";
import { Ownership } from "./ownership.ts";
import type { ToolMode } from "./provider.ts";
import type { ToolInput } from "./tool-input.ts";
import { readToolInput, toolInputSchema } from "./tool-input.ts";
import type { ResultError } from "./tool-result.ts";
import { ResultWriter } from "./tool-result.ts";
import { ValueProblem } from "./values.ts";

export interface LinearToolDeps {
  readonly client: LinearClient;
  readonly credentials: Credentials;
  readonly mode: ToolMode;
}

const INTRODUCTION =
  "Run one GraphQL operation (a query or a mutation) against Linear, with the daemon's credential. Lists are pages: ask for first: 10 and go on with after. " +
  'Types are found with { __type(name: "Issue") { fields { name } } }.';

const ABOUT_REPEATING =
  " Where the answer to a change was lost, send the very same call again: what it makes keeps its id, so nothing is made twice.";

const ABOUT_MODE: Readonly<Record<ToolMode, string>> = {
  open: ABOUT_REPEATING,
  read: " Only queries are allowed.",
  scoped:
    " Changes are limited to your own issue: issueUpdate (title, description, stateId, priority, estimate, dueDate, labels), comments, reactions, attachments, " +
    `relations, and sub-issues in its project (issueCreate with parentId).${ABOUT_REPEATING}`,
};

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

const REPEAT =
  " It may have been carried out all the same. Send the very same call again: what it makes keeps its id, so nothing is made twice.";
const READ_FIRST = " The change may have been made all the same: read before you repeat it.";

/** What our side knows about a failure, for the agent to act on. `call` is what was sent, or null where nothing was. */
function describeFailure(failure: AppError, call: FixedCall | null): ResultError {
  const { resetAt, reason } = failure.data;
  const code = reason === "too_complex" ? "too_complex" : failure.code;
  const inDoubt = call !== null && isInDoubt(failure) ? call.fixed : null;
  return {
    code,
    message: `${failure.message}${adviceFor(inDoubt)}`,
    ...(typeof resetAt === "number" ? { reset_at: new Date(resetAt).toISOString() } : {}),
    ...(inDoubt === null || inDoubt.length === 0 ? {} : { in_doubt: inDoubt }),
  };
}

function adviceFor(inDoubt: readonly FixedId[] | null): string {
  if (inDoubt === null) return "";
  return inDoubt.length > 0 ? REPEAT : READ_FIRST;
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
  readonly #doubtful = new DoubtfulCalls();
  readonly #results: ResultWriter;

  constructor(deps: LinearToolDeps) {
    this.#deps = deps;
    this.#results = new ResultWriter(() => deps.credentials.secrets());
  }

  async call(args: unknown, context: ToolContext): Promise<ToolResult> {
    const readable = read(args);
    if (!readable.ok) return this.#results.error({ code: "invalid_input", message: readable.problem });
    try {
      return await this.#run(readable.operation, readable.input, context);
    } catch (error) {
      return this.#results.error(describeThrown(error, null, context));
    }
  }

  async #run(operation: Operation, input: ToolInput, context: ToolContext): Promise<ToolResult> {
    const { mode } = this.#deps;
    if (mode !== "open") {
      const guard = { mode, issue: context.issue, ownership: this.#ownership, lookup: this.#lookup(context) };
      const refusal = await judge(operation, input.variables, guard);
      if (refusal !== null) return this.#results.error(refusal);
    }
    if (operation.kind === "mutation") return this.#change(operation, input, context);
    // What was judged is what is sent, whatever another parser would have made of the text.
    const document = mode === "open" ? input.query : print(operation.document);
    const request = { document, variables: input.variables, lane: "tool_read", signal: context.signal } as const;
    return this.#report(await this.#deps.client.send(request), null);
  }

  /** What it makes is made under ids of ours, so that the same call can be sent again. */
  async #change(operation: Operation, { variables }: ToolInput, context: ToolContext): Promise<ToolResult> {
    const key = callKey(context.issue.id, operation, variables);
    const before = this.#doubtful.recall(key);
    const call = before ?? fixIds(operation, variables, randomUUID);
    const request = { document: print(call.document), variables: call.variables, lane: "tool_change" } as const;
    let answer: LinearAnswer;
    try {
      answer = await this.#deps.client.send({ ...request, signal: context.signal });
    } catch (error) {
      const isHeldBack = isAppError(error, "tracker_rate_limited");
      if (!isHeldBack) this.#leaveInDoubt(key, call, context);
      return this.#results.error(describeThrown(error, isHeldBack ? null : call, context));
    }
    const { exchange, failure } = answer;
    if (failure !== null && isInDoubt(failure)) {
      this.#leaveInDoubt(key, call, context);
      return this.#report(answer, call);
    }
    if (failure !== null && before !== null) {
      const made = await findMade(call.fixed, this.#lookup(context));
      if (made.length > 0 && made.length === call.fixed.length) {
        this.#doubtful.settle(key);
        return this.#results.madeBefore(made);
      }
    }
    if (failure === null) {
      this.#doubtful.settle(key);
      this.#own(call, context);
      if (exchange.body.kind === "json") {
        learnOwned(operation, exchange.body.data, (kind, id) => this.#ownership.remember(kind, id, context.issue));
      }
    }
    return this.#report(answer, call);
  }

  #leaveInDoubt(key: string, call: FixedCall, context: ToolContext): void {
    this.#doubtful.note(key, call);
    this.#own(call, context);
  }

  /** Comments under ids of ours are the run's own, whether or not the agent asked for the id. */
  #own({ fixed }: FixedCall, { issue }: ToolContext): void {
    for (const { mutation, id } of fixed) {
      if (mutation === "commentCreate") this.#ownership.remember("comment", id, issue);
    }
  }

  #lookup({ signal }: ToolContext): Lookup {
    return (document, variables) => this.#deps.client.query({ document, variables, lane: "tool_read", signal });
  }

  #report({ exchange, failure }: LinearAnswer, call: FixedCall | null): ToolResult {
    const error = failure !== null && needsWords(failure) ? describeFailure(failure, call) : null;
    return this.#results.answer(exchange, failure, error);
  }
}

/** What went wrong without an answer. */
function describeThrown(error: unknown, call: FixedCall | null, { signal }: ToolContext): ResultError {
  if (isAppError(error)) return describeFailure(error, call);
  if (error instanceof ValueProblem) return { code: "invalid_input", message: error.message };
  if (!signal.aborted) return { code: "tracker_request", message: errorMessage(error) };
  const inDoubt = call !== null && call.fixed.length > 0;
  const message = `The call was ended: its time is up, or the run ends.${inDoubt ? REPEAT : ""}`;
  return { code: "cancelled", message, ...(inDoubt ? { in_doubt: call.fixed } : {}) };
}

/** The tool in its mode. Ownership that it has learned lives as long as it does. */
export function createLinearTool(deps: LinearToolDeps): Tool {
  const tool = new LinearTool(deps);
  return {
    name: "linear_graphql",
    description: `${INTRODUCTION}${ABOUT_MODE[deps.mode]}`,
    inputSchema: declaredSchema(toolInputSchema),
    canChange(args) {
      const readable = read(args);
      return readable.ok && readable.operation.kind === "mutation";
    },
    call: (args, context) => tool.call(args, context),
  };
}
