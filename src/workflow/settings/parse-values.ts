/** Checks the front matter's values one by one against the schema, and says in words what is wrong with them. */
import type { FrontMatter, KeyPath } from "../front-matter-yaml.ts";
import { keyText } from "../front-matter-yaml.ts";
import { shown, type Problems } from "./problems.ts";
import type { Resolved } from "../references.ts";
import { workflowSchema, type WorkflowValues } from "./schema.ts";

/** Where secrets may stand: their values are in no message. */
const SECRET_KEYS: readonly string[] = [
  "codex.env",
  "notify.secret",
  "notify.webhooks",
  "server.webhooks",
  "tracker.provider",
];

function mayShow(path: KeyPath): boolean {
  const key = keyText(path);
  return !SECRET_KEYS.some((secret) => key.startsWith(secret));
}

function valueAt(values: Readonly<Record<string, unknown>>, path: KeyPath): unknown {
  return path.reduce<unknown>((value, key) => {
    if (typeof value !== "object" || value === null || !Object.hasOwn(value, key)) return undefined;
    return (value as Record<string | number, unknown>)[key];
  }, values);
}

/** The value as the file has it (`"soon"`, `$POLL_MS`), or what stands in for it. */
function describeValue(matter: FrontMatter, resolved: Resolved, path: KeyPath): string {
  const variable = resolved.from.get(keyText(path));
  if (variable !== undefined) return `$${variable}`;
  const value = valueAt(matter.values, path);
  if (value === undefined) return "the key";
  return mayShow(path) ? shown(value) : "the value";
}

/** The checked values with every default in place, or null when there are problems. `kinds` are the trackers that there are. */
export function parseValues(
  draft: { readonly matter: FrontMatter; readonly resolved: Resolved; readonly problems: Problems },
  kinds: readonly string[],
): WorkflowValues | null {
  const { matter, resolved, problems } = draft;
  const result = workflowSchema.safeParse({ tracker: {}, ...resolved.values });
  const reported = new Set<string>();
  for (const issue of result.error?.issues ?? []) {
    const path = issue.path.map((key) => (typeof key === "number" ? key : String(key)));
    const key = keyText(path);
    if (reported.has(key)) continue;
    reported.add(key);
    const missing = resolved.unset.find((reference) => keyText(reference.path) === key);
    const problem =
      missing === undefined
        ? `${describeValue(matter, resolved, path)} ${issue.message}`
        : `$${missing.name} is unset or empty; export it, or write the value out`;
    problems.error(path, key === "tracker.kind" ? `${problem}; known kinds are ${kinds.join(", ")}` : problem);
  }
  for (const { path, name } of resolved.unset) {
    if (!reported.has(keyText(path))) problems.warn(path, `$${name} is unset or empty, so the value counts as missing`);
  }
  return result.data ?? null;
}
