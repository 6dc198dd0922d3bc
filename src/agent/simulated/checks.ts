/**
 * Checks of parsed JSON, as a script needs them. Small and by hand: loading a schema library takes an agent longer than all the rest of
 * its start, and fifty of them start at once.
 */
import { isRecord } from "./wire.ts";

/** Answers the value as it is used. Throws {@link Invalid}. */
export type Check<T> = (value: unknown) => T;

/** What a check answers. */
export type Checked<C> = C extends Check<infer T> ? T : never;

interface Problem {
  /** Like `runs[0].turns`; empty for the value itself. */
  readonly path: string;
  readonly text: string;
}

/** Everything that is wrong with a value. */
export class Invalid extends Error {
  override readonly name = "Invalid";
  readonly problems: readonly Problem[];

  constructor(problems: readonly Problem[]) {
    super(problems.map(({ path, text }) => `${path}: ${text}`).join("; "));
    this.problems = problems;
  }
}

function invalid(text: string): Invalid {
  return new Invalid([{ path: "", text }]);
}

/** Runs the check of each part, and throws all that is wrong with any of them at once. */
function checkParts<T>(parts: readonly (readonly [place: string, check: () => T])[]): T[] {
  const problems: Problem[] = [];
  const values = parts.flatMap(([place, check]) => {
    try {
      return [check()];
    } catch (error) {
      if (!(error instanceof Invalid)) throw error;
      for (const { path, text } of error.problems) {
        problems.push({ path: path === "" || path.startsWith("[") ? `${place}${path}` : `${place}.${path}`, text });
      }
      return [];
    }
  });
  if (problems.length > 0) throw new Invalid(problems);
  return values;
}

export const anything: Check<unknown> = (value) => {
  if (value === undefined) throw invalid("is missing");
  return value;
};

export const text: Check<string> = (value) => {
  if (typeof value !== "string") throw invalid("must be a string");
  return value;
};

export const filledText: Check<string> = (value) => {
  if (text(value) === "") throw invalid("must not be empty");
  return text(value);
};

export const flag: Check<boolean> = (value) => {
  if (typeof value !== "boolean") throw invalid("must be true or false");
  return value;
};

/** A whole number from `least` to `most`. */
export function whole(least: number, most: number = Number.MAX_SAFE_INTEGER): Check<number> {
  return (value) => {
    if (typeof value === "number" && Number.isSafeInteger(value) && value >= least && value <= most) return value;
    throw invalid(`must be a whole number from ${least}${most === Number.MAX_SAFE_INTEGER ? "" : ` to ${most}`}`);
  };
}

export function oneOf<const T extends string>(names: readonly T[]): Check<T> {
  return (value) => {
    const found = names.find((name) => name === value);
    if (found === undefined) throw invalid(`must be one of ${names.join(", ")}`);
    return found;
  };
}

/** The first check that is content; what is wrong is said in the words of the last. */
export function either<A, B>(first: Check<A>, second: Check<B>): Check<A | B> {
  return (value) => {
    try {
      return first(value);
    } catch {
      return second(value);
    }
  };
}

/** An absent value stays absent. */
export function optional<T>(check: Check<T>): Check<T | undefined> {
  return (value) => (value === undefined ? undefined : check(value));
}

export function nullable<T>(check: Check<T>): Check<T | null> {
  return (value) => (value === null ? null : check(value));
}

/** An absent value is `fallback`. */
export function withDefault<T>(check: Check<T>, fallback: T): Check<T> {
  return (value) => (value === undefined ? fallback : check(value));
}

export function listOf<T>(check: Check<T>, least = 0): Check<readonly T[]> {
  return (value) => {
    if (!Array.isArray(value) || value.length < least) {
      throw invalid(least === 0 ? "must be a list" : "must be a list that is not empty");
    }
    return checkParts(value.map((entry: unknown, index) => [`[${index}]`, () => check(entry)]));
  };
}

/** An object with any keys. */
export function mapOf<T>(check: Check<T>): Check<Readonly<Record<string, T>>> {
  return (value) => {
    if (!isRecord(value)) throw invalid("must be an object");
    const pairs = Object.entries(value).map(([key, entry]) => [key, (): [string, T] => [key, check(entry)]] as const);
    return Object.fromEntries(checkParts(pairs));
  };
}

type Shape = Readonly<Record<string, Check<unknown>>>;

/** Keys that may be absent are optional. */
type Fields<S extends Shape> = {
  readonly [K in keyof S as undefined extends Checked<S[K]> ? never : K]: Checked<S[K]>;
} & { readonly [K in keyof S as undefined extends Checked<S[K]> ? K : never]?: Checked<S[K]> };

/** An object with these keys and no others. */
export function fields<S extends Shape>(shape: S): Check<Fields<S>> {
  const known = Object.entries(shape);
  return (value) => {
    if (!isRecord(value)) throw invalid("must be an object");
    const unknown = Object.keys(value).filter((key) => !Object.hasOwn(shape, key));
    const pairs = checkParts([
      ...known.map(([key, check]) => [key, () => [key, check(value[key])] as const] as const),
      ...unknown.map((key) => [key, (): readonly [string, unknown] => refuseKey(Object.keys(shape))] as const),
    ]);
    return Object.fromEntries(pairs.filter(([, entry]) => entry !== undefined)) as Fields<S>;
  };
}

function refuseKey(known: readonly string[]): never {
  throw invalid(`is not known here; known are ${known.join(", ")}`);
}

type Variants<T extends Readonly<Record<string, Shape>>> = {
  [K in keyof T & string]: { readonly do: K } & Fields<T[K]>;
}[keyof T & string];

/** An object whose `do` says which fields it has. */
export function steps<const T extends Readonly<Record<string, Shape>>>(table: T): Check<Variants<T>> {
  const checks = new Map(Object.entries(table).map(([name, shape]) => [name, fields({ do: text, ...shape })]));
  return (value) => {
    if (!isRecord(value)) throw invalid("must be an object");
    const check = typeof value["do"] === "string" ? checks.get(value["do"]) : undefined;
    if (check === undefined) {
      throw new Invalid([{ path: "do", text: `must be one of ${[...checks.keys()].join(", ")}` }]);
    }
    return check(value) as Variants<T>;
  };
}
