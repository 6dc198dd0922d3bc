/** Finds keys that nobody reads: most of them are typing errors, and each is worth one warning. */
import { z } from "zod";

import { nearestName } from "../nearest-name.ts";
import { keyText, type KeyPath } from "../front-matter-yaml.ts";
import type { Problems } from "./problems.ts";
import { workflowSchema } from "./schema.ts";
import type { TrackerDescriptor } from "../tracker-descriptor.ts";

/** `worker` belongs to the specification's Appendix A; cross-field.ts refuses its keys. */
const WORKER_KEYS: readonly string[] = ["ssh_hosts", "max_concurrent_agents_per_host"];

/** What may stand at a place: these keys, any keys with such values below them, or (null) anything. */
type Known = { readonly keys: ReadonlyMap<string, Known> } | { readonly each: Known } | null;

function knownBy(schema: unknown): Known {
  if (schema instanceof z.ZodObject) {
    return { keys: new Map(Object.entries(schema.shape).map(([key, value]) => [key, knownBy(value)])) };
  }
  if (schema instanceof z.ZodRecord) return { each: knownBy(schema.valueType) };
  const wraps = schema instanceof z.ZodDefault || schema instanceof z.ZodPrefault || schema instanceof z.ZodNullable;
  return wraps ? knownBy(schema.unwrap()) : null;
}

function leaf(keys: readonly string[]): ReadonlyMap<string, Known> {
  return new Map(keys.map((key) => [key, null]));
}

/** The schema's keys, with the tracker's as the descriptor gives them. */
function knownKeys(descriptor: TrackerDescriptor | null): ReadonlyMap<string, Known> {
  const known = knownBy(workflowSchema);
  const sections = new Map(known !== null && "keys" in known ? known.keys : []);
  const tracker = sections.get("tracker") ?? null;
  if (descriptor !== null && tracker !== null && "keys" in tracker) {
    const provider: Known = { keys: leaf(descriptor.providerKeys) };
    sections.set("tracker", { keys: new Map([...tracker.keys, ...leaf(descriptor.flatKeys), ["provider", provider]]) });
  }
  return sections.set("worker", { keys: leaf(WORKER_KEYS) });
}

/** Every key of the schema as a path of names, the tracker adapters' aside. */
export function schemaKeys(): readonly string[] {
  const list = (known: Known, path: string): readonly string[] => {
    if (known === null || "each" in known) return [path];
    return [...known.keys].flatMap(([key, below]) => list(below, path === "" ? key : `${path}.${key}`));
  };
  return list(knownBy(workflowSchema), "");
}

/** One warning for each unknown key, at any level. `descriptor` is null when the tracker's kind isn't known. */
export function warnAboutUnknownKeys(
  values: Readonly<Record<string, unknown>>,
  descriptor: TrackerDescriptor | null,
  problems: Problems,
): void {
  const everyKey = schemaKeys();
  const visit = (value: unknown, known: Known, path: KeyPath): void => {
    if (known === null || typeof value !== "object" || value === null || Array.isArray(value)) return;
    for (const [key, below] of Object.entries(value)) {
      const here = [...path, key];
      if ("each" in known) visit(below, known.each, here);
      else if (known.keys.has(key)) visit(below, known.keys.get(key) ?? null, here);
      else problems.warn(here, `is unknown and ignored${suggestion(key, path, [...known.keys.keys()], everyKey)}`);
    }
  };
  visit(values, { keys: knownKeys(descriptor) }, []);
}

/** A near name at the same place, else the place where a key of this very name belongs. */
function suggestion(key: string, path: KeyPath, here: readonly string[], everyKey: readonly string[]): string {
  const near = nearestName(key, here);
  if (near !== null) return `; did you mean ${keyText([...path, near])}?`;
  const elsewhere = everyKey.find((known) => known.endsWith(`.${key}`));
  return elsewhere === undefined ? "" : `; did you mean ${elsewhere}?`;
}
