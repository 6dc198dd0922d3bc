/** What a request brings, checked against its schema; what is wrong is said in words of ours: key, value and mend. */
import type { z } from "zod";
import { ApiError } from "./envelope.ts";

type Fault = z.core.$ZodRawIssue;

/** Enough to recognise a value by. */
const SHOWN_CHARS = 60;

/** Throws ApiError `bad_request` that names what is wrong. */
export function parseInput<T extends z.ZodType>(schema: T, value: unknown, where: "query" | "body"): z.output<T> {
  const result = schema.safeParse(value, { error: (fault) => faultText(fault, at(value, fault.path ?? [])) });
  if (result.success) return result.data;
  const problems = result.error.issues.map(({ path, message }) => [...path, message].join(": "));
  throw new ApiError(400, "bad_request", `${where}: ${problems.join("; ")}`);
}

/** What came, before a schema made a number of it. */
function at(value: unknown, path: readonly PropertyKey[]): unknown {
  return path.reduce<unknown>(
    (inner, key) => (typeof inner === "object" && inner !== null ? Reflect.get(inner, key) : undefined),
    value,
  );
}

function faultText(fault: Fault, given: unknown): string {
  const value = shown(given);
  switch (fault.code) {
    case "unrecognized_keys":
      return `${fault.keys.join(", ")}: is not known here; leave it out`;
    case "invalid_value":
      return `${value} is unknown; give one of ${fault.values.join(", ")}`;
    case "too_big":
      return `${value} is more than ${fault.maximum}; give at most ${fault.maximum}`;
    case "too_small":
      return `${value} is less than ${fault.minimum}; give at least ${fault.minimum}`;
    case "invalid_type": {
      const kind = KINDS[fault.expected] ?? `a value of the kind ${fault.expected}`;
      return given === undefined ? `is missing; give ${kind}` : `${value} is not ${kind}; give one`;
    }
    default:
      return `${value} is not understood; see /api/v1/openapi.json`;
  }
}

const KINDS: Readonly<Record<string, string>> = {
  string: "a string",
  number: "a number",
  int: "a whole number",
  boolean: "true or false",
  object: "an object",
};

/** A number in a query is text that looks like one. */
function shown(value: unknown): string {
  const isNumber = typeof value === "string" && /^-?\d+(\.\d+)?$/.test(value);
  const text = isNumber ? value : (JSON.stringify(value) ?? "nothing");
  return text.length > SHOWN_CHARS ? `${text.slice(0, SHOWN_CHARS)}…` : text;
}
