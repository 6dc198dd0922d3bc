/** The kinds of value that settings have, as zod schemas whose messages say what is wrong and what to write instead. */
import { z } from "zod";

/** "2" and "true" count as what they spell: variables hold text, and older files quote their numbers. */
function spelledNumber(value: unknown): unknown {
  return typeof value === "string" && /^\s*-?\d+\s*$/.test(value) ? Number(value) : value;
}

function spelledNumberOrFraction(value: unknown): unknown {
  return typeof value === "string" && /^\s*\d+(\.\d+)?\s*$/.test(value) ? Number(value) : value;
}

function spelledFlag(value: unknown): unknown {
  if (value === "true") return true;
  return value === "false" ? false : value;
}

interface NumberRule {
  /** "a whole number of milliseconds". */
  readonly what: string;
  readonly min?: number;
  readonly max?: number;
  /** The most that makes sense, named only to those who pass it; by default the largest whole number that is exact. */
  readonly limit?: number;
  readonly example: number;
}

function rangeText({ min, max }: NumberRule): string {
  if (max !== undefined) return ` from ${min ?? 0} to ${max}`;
  return min === undefined ? "" : `, ${min} or more`;
}

/** A whole number within the rule's bounds. */
export function whole(rule: NumberRule) {
  const wrong = `is not ${rule.what}${rangeText(rule)}; write one such as ${rule.example}`;
  const limit = rule.limit ?? Number.MAX_SAFE_INTEGER;
  const tooLarge = `is too large, ${limit} is the most; write one such as ${rule.example}`;
  // A rule with a largest value of its own says so anyway.
  const error = ({ code }: z.core.$ZodRawIssue): string =>
    code === "too_big" && rule.max === undefined ? tooLarge : wrong;
  const bounded = z
    .number({ error })
    .int({ error })
    .min(rule.min ?? Number.MIN_SAFE_INTEGER, { error })
    .max(rule.max ?? limit, { error });
  return z.preprocess(spelledNumber, bounded);
}

/** A number that may have a fraction, 0 or more. */
export function amount(of: string, example: number) {
  const error = `is not an amount of ${of}, 0 or more; write one such as ${example}`;
  return z.preprocess(spelledNumberOrFraction, z.number({ error }).min(0, { error }));
}

export function flag() {
  return z.preprocess(spelledFlag, z.boolean({ error: "is neither true nor false; write one of the two" }));
}

/** A whole number of `unit`. */
export function count(unit: string, min: number, example: number) {
  return whole({ what: `a whole number of ${unit}`, min, example });
}

/** Longer waits are typing errors, and from some length on no dates any more. */
const YEAR_MS = 31_536_000_000;

/** A duration in milliseconds, a year at most; without `min`, 0 and less may mean "never". */
export function milliseconds(example: number, min: number | null = 1) {
  return whole({ what: "a whole number of milliseconds", limit: YEAR_MS, example, ...(min === null ? {} : { min }) });
}

/** Text that isn't blank. */
export function text(mend: string) {
  const error = `is not text; ${mend}`;
  return z.string({ error }).refine((value) => value.trim() !== "", { error: `is blank; ${mend}` });
}

/** One of a few words. */
export function choice<const Words extends readonly [string, ...string[]]>(words: Words) {
  return z.enum(words, { error: `is not supported; write one of ${words.join(", ")}` });
}

/** Text that goes to a shell as it is. A blank script is no script. */
export function script() {
  const error = 'is not text; write the script as a block, such as "|" followed by indented lines';
  return z.string({ error }).transform((value) => (value.trim() === "" ? null : value));
}

/** A list of names; older files also wrote one text with commas. */
export function names(what: string) {
  const error = `is not a list of ${what}; write it such as [One, Two], and quote names that look like numbers`;
  const split = (value: unknown): unknown => (typeof value === "string" ? value.split(",") : value);
  return z.preprocess(split, z.array(z.string({ error: `is not text; quote it` }), { error }));
}

/** A map whose keys are not ours. */
export function map<Value extends z.ZodType>(value: Value, mend: string) {
  return z.record(z.string(), value, { error: `is not a map; ${mend}` });
}

/** A group of keys. */
export function section<Shape extends z.ZodRawShape>(shape: Shape) {
  return z.object(shape, { error: "is not a map; write its keys indented on the lines below it" });
}
