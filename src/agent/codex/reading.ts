/** Reads fields of the protocol's JSON without trusting its shape: what is missing or of another type is null. */

export type JsonObject = Readonly<Record<string, unknown>>;

/** The value as an object; null for anything else, arrays included. */
export function asObject(value: unknown): JsonObject | null {
  return typeof value === "object" && value !== null && !Array.isArray(value) ? (value as JsonObject) : null;
}

/** The string at `key`, the empty one too. */
export function stringAt(value: unknown, key: string): string | null {
  const field = asObject(value)?.[key];
  return typeof field === "string" ? field : null;
}

/** The finite number at `key`. */
export function numberAt(value: unknown, key: string): number | null {
  const field = asObject(value)?.[key];
  return typeof field === "number" && Number.isFinite(field) ? field : null;
}

export function booleanAt(value: unknown, key: string): boolean | null {
  const field = asObject(value)?.[key];
  return typeof field === "boolean" ? field : null;
}

export function objectAt(value: unknown, key: string): JsonObject | null {
  return asObject(asObject(value)?.[key]);
}

/** The array at `key`; empty when there is none. */
export function arrayAt(value: unknown, key: string): readonly unknown[] {
  const field = asObject(value)?.[key];
  return Array.isArray(field) ? field : [];
}

/** A text that others wrote, cut to `limit` characters; the cut shows, and never splits a character. */
export function bounded(text: string, limit: number): string {
  if (text.length <= limit) return text;
  return `${cutAt(text, limit - 1)}…`;
}

/** The first `limit` UTF-16 units at most; half of a surrogate pair is left out. */
export function cutAt(text: string, limit: number): string {
  const last = text.charCodeAt(limit - 1);
  const splitsPair = last >= 0xd800 && last <= 0xdbff;
  return text.slice(0, splitsPair ? limit - 1 : limit);
}

/** The last `limit` UTF-16 units at most; the cut shows. */
export function tailOf(text: string, limit: number): string {
  if (text.length <= limit) return text;
  const first = text.charCodeAt(text.length - limit + 1);
  const splitsPair = first >= 0xdc00 && first <= 0xdfff;
  return `…${text.slice(text.length - limit + (splitsPair ? 2 : 1))}`;
}
