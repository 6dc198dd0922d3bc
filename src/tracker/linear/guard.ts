/** Decides whether an agent's operation may go out: on the parsed document and the values that the server will see, never on text. */
import type { FieldNode } from "graphql/language";
import { visit } from "graphql/language";

import type { Issue } from "../../domain/issue.ts";
import type { Operation } from "./operation.ts";
import { rootFields } from "./operation.ts";
import type { Lookup, Ownership } from "./ownership.ts";
import type { ToolMode } from "./provider.ts";
import type { MutationRule, TargetKind } from "./tool-rules.ts";
import { isSecretField, MUTATION_RULES, QUERY_ROOTS } from "./tool-rules.ts";
import type { Variables } from "./values.ts";
import { argumentsOf, readVariables, ValueProblem } from "./values.ts";
import { weigh } from "./weight.ts";

/** Why not, and what would be allowed, in words for the model. */
export interface Refusal {
  readonly code: "invalid_input" | "refused" | "too_complex";
  readonly message: string;
  readonly allowed?: readonly string[];
}

export interface GuardContext {
  readonly mode: Exclude<ToolMode, "open">;
  readonly issue: Issue;
  readonly ownership: Ownership;
  readonly lookup: Lookup;
}

const MAX_DEPTH = 20;
const MAX_FIELDS = 1_000;
/** Linear's own cap for one query. */
const MAX_POINTS = 10_000;
const MAX_ROOTS = 20;

/** Null lets the operation pass. Throws AppError where a look-up at Linear fails. */
export async function judge(
  operation: Operation,
  given: Readonly<Record<string, unknown>>,
  context: GuardContext,
): Promise<Refusal | null> {
  try {
    const variables = readVariables(operation.definition, given);
    return judgeShape(operation, variables) ?? (await judgeRoots(operation, variables, context));
  } catch (error) {
    if (error instanceof ValueProblem) return { code: "invalid_input", message: error.message };
    if (error instanceof RangeError) return { code: "invalid_input", message: "The document is nested too deeply." };
    throw error;
  }
}

function invalid(message: string): Refusal {
  return { code: "invalid_input", message };
}

function refused(message: string, allowed?: readonly string[]): Refusal {
  return allowed === undefined ? { code: "refused", message } : { code: "refused", message, allowed };
}

function judgeShape(operation: Operation, variables: Variables): Refusal | null {
  const { depth, fields, points } = weigh(operation, variables);
  if (depth > MAX_DEPTH) return invalid(`The document is ${depth} levels deep; at most ${MAX_DEPTH} are allowed.`);
  if (fields > MAX_FIELDS) return invalid(`The document asks for more than ${MAX_FIELDS} fields; ask for fewer.`);
  if (points > MAX_POINTS) {
    const cost = `about ${Math.ceil(points)} points, and Linear allows ${MAX_POINTS}`;
    const mend = "give smaller pages (first: 10), above all to nested lists";
    return { code: "too_complex", message: `The query would cost ${cost}; ${mend}.` };
  }
  const secret = findSecretField(operation);
  return secret === null ? null : refused(`The field ${secret} holds a secret or leads to one; leave it out.`);
}

function findSecretField({ document }: Operation): string | null {
  let found: string | null = null;
  visit(document, {
    Field(node) {
      if (isSecretField(node.name.value)) found ??= node.name.value;
    },
  });
  return found;
}

async function judgeRoots(operation: Operation, variables: Variables, context: GuardContext): Promise<Refusal | null> {
  const roots = rootFields(operation);
  if (roots.length > MAX_ROOTS) {
    return invalid(`The operation has ${roots.length} root fields; at most ${MAX_ROOTS} are allowed.`);
  }
  if (operation.kind === "query") return judgeQuery(roots);
  if (context.mode === "read") {
    return refused("This tool only reads: tracker.provider.tool.mode is read. Give a query.", [...QUERY_ROOTS]);
  }
  for (const root of roots) {
    const refusal = await judgeMutation(root, variables, context);
    if (refusal !== null) return refusal;
  }
  return null;
}

function judgeQuery(roots: readonly FieldNode[]): Refusal | null {
  const name = roots.map((root) => root.name.value).find((root) => !QUERY_ROOTS.has(root));
  if (name === undefined) return null;
  if (name === "__schema") {
    return refused('The whole schema is not offered; ask for one type with __type(name: "Issue").');
  }
  return refused(`The query field ${name} is not offered.`, [...QUERY_ROOTS]);
}

async function judgeMutation(root: FieldNode, variables: Variables, context: GuardContext): Promise<Refusal | null> {
  const name = root.name.value;
  if (name === "__typename") return null;
  const rule = MUTATION_RULES.get(name);
  if (rule === undefined) {
    const may = `this run may change its own issue ${context.issue.identifier} and what hangs on it`;
    return refused(`The mutation ${name} is not offered; ${may}.`, [...MUTATION_RULES.keys()]);
  }
  const values = readValues(name, rule, argumentsOf(root, variables));
  return values instanceof Map ? judgeTargets(name, rule, values, context) : values;
}

type Values = Map<string, unknown>;

/** Arguments and keys of `input` by path, or the refusal of one that isn't allowed. A null is as good as absent. */
function readValues(name: string, rule: MutationRule, args: Readonly<Record<string, unknown>>): Values | Refusal {
  const values: Values = new Map();
  for (const [key, value] of Object.entries(args)) {
    if (!rule.args.includes(key)) return refused(`${name} may not have the argument ${key} here.`, rule.args);
    if (key !== "input") {
      values.set(key, value);
      continue;
    }
    if (typeof value !== "object" || value === null || Array.isArray(value)) {
      return invalid(`The input of ${name} is no object.`);
    }
    for (const [inner, innerValue] of Object.entries(value)) {
      if (!rule.input.includes(inner)) return refused(`${name}.input may not have ${inner} here.`, rule.input);
      values.set(`input.${inner}`, innerValue);
    }
  }
  return values;
}

async function judgeTargets(
  name: string,
  rule: MutationRule,
  values: Values,
  context: GuardContext,
): Promise<Refusal | null> {
  const { issue } = context;
  const isGiven = (at: string): boolean => (values.get(at) ?? null) !== null;
  if (rule.needs.length > 0 && !rule.needs.some(isGiven)) {
    return refused(`${name} needs ${rule.needs.join(" or ")}. ${hintFor("issue", issue)}`);
  }
  for (const { at, kind } of rule.targets) {
    if (isGiven(at) && !(await isOurs(kind, values.get(at), context))) {
      return refused(`${at} of ${name} does not belong to this run. ${hintFor(kind, issue)}`);
    }
  }
  const either = rule.either(values);
  for (const at of either) if (isGiven(at) && (await isOurs("issue", values.get(at), context))) return null;
  if (either.length === 0) return null;
  return refused(`${either.join(" or ")} of ${name} must be this run's issue. ${hintFor("issue", issue)}`);
}

async function isOurs(kind: TargetKind, value: unknown, context: GuardContext): Promise<boolean> {
  return typeof value === "string" && context.ownership.belongs(kind, value, context.issue, context.lookup);
}

function hintFor(kind: TargetKind, issue: Issue): string {
  if (kind === "team") return `The team is ${JSON.stringify(issue.native_ref?.["team_id"] ?? null)}.`;
  if (kind === "project") return `The project is ${JSON.stringify(issue.native_ref?.["project_id"] ?? null)}.`;
  return `The run's issue is ${issue.id} (${issue.identifier}).`;
}
