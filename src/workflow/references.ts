/** `$NAME` values: a value that is exactly a reference is replaced by the variable's, and an unset or empty variable is a missing value. */
import { keyText, type KeyPath } from "./front-matter-yaml.ts";

/** The daemon's environment. */
export type Environment = Readonly<Record<string, string | undefined>>;

const REFERENCE = /^\$(?:\{([A-Za-z_]\w*)\}|([A-Za-z_]\w*))$/;

/** The variable that `value` (`$NAME` or `${NAME}`) refers to, or null when it is no reference. */
export function referencedName(value: unknown): string | null {
  const match = typeof value === "string" ? REFERENCE.exec(value.trim()) : null;
  return match?.[1] ?? match?.[2] ?? null;
}

/** Resolves one value: the variable's value for a reference, undefined when that is unset or empty, anything else unchanged. */
export function resolveReference(value: unknown, env: Environment): unknown {
  const name = referencedName(value);
  if (name === null) return value;
  const found = env[name];
  return found === undefined || found.trim() === "" ? undefined : found;
}

/** The front matter with its references resolved, and which values came from where. */
export interface Resolved {
  readonly values: Readonly<Record<string, unknown>>;
  /** Key text to the variable that gave the value. */
  readonly from: ReadonlyMap<string, string>;
  /** References that gave no value. */
  readonly unset: readonly { readonly path: KeyPath; readonly name: string }[];
}

/**
 * Left to others: shell text, whose own `$NAME`s the shell resolves; values that are passed through; and the adapter's keys,
 * which its descriptor resolves.
 */
function isVerbatim(path: KeyPath): boolean {
  const [section, key] = path;
  switch (section) {
    case "hooks":
      return key !== undefined && key !== "timeout_ms";
    case "codex":
      return key === "command" || key === "approval_policy" || key === "turn_sandbox_policy";
    case "tracker":
      return key === "provider" || (key !== undefined && !TRACKER_KEYS.has(String(key)));
    default:
      return false;
  }
}

/** Keys of `tracker` that are ours; others are an adapter's old flat ones. */
const TRACKER_KEYS: ReadonlySet<string> = new Set([
  "kind",
  "required_labels",
  "excluded_labels",
  "active_states",
  "terminal_states",
]);

/** Resolves every reference of the file. A key without a value (`key:`) is a missing key. */
export function resolveReferences(values: Readonly<Record<string, unknown>>, env: Environment): Resolved {
  const from = new Map<string, string>();
  const unset: { path: KeyPath; name: string }[] = [];

  const resolveAt = (value: unknown, path: KeyPath): unknown => {
    if (isVerbatim(path)) return value;
    if (Array.isArray(value)) {
      const items = value.map((item, index) => resolveAt(item, [...path, index]));
      return items.filter((item) => item !== undefined);
    }
    if (typeof value === "object" && value !== null) return resolveMap(value, path);
    const name = referencedName(value);
    if (name === null) return value;
    const found = resolveReference(value, env);
    if (found === undefined) unset.push({ path, name });
    else from.set(keyText(path), name);
    return found;
  };

  const resolveMap = (map: object, path: KeyPath): Record<string, unknown> => {
    const entries = Object.entries(map).map(
      ([key, value]: [string, unknown]) => [key, resolveAt(value, [...path, key])] as const,
    );
    return Object.fromEntries(entries.filter(([, value]) => value !== undefined && value !== null));
  };

  return { values: resolveMap(values, []), from, unset };
}
