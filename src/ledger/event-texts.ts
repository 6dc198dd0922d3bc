/** Known secrets out of the texts of events, at little cost for a batch that has none. */
import type { JsonValue } from "../domain/issue.ts";
import type { EventRow } from "./port.ts";

/**
 * What each row of the batch must go through, or null when none of them holds anything to take out. All texts are looked through at once,
 * because a call for each costs more than the looking. A find that spans two of them is none, and only costs the looking row by row.
 */
export function redactorOf(
  batch: readonly { readonly event: EventRow }[],
  redact: (text: string) => string,
): ((text: string) => string) | null {
  const texts: string[] = [];
  for (const { event } of batch) {
    if (event.message !== null) texts.push(event.message);
    if (event.item !== undefined && event.item !== null) collect(event.item.data, texts);
  }
  const all = texts.join("\n");
  return redact(all) === all ? null : redact;
}

/** The row with `redact` applied to every text, before it becomes JSON: a secret with a quote in it would be spelled otherwise there. */
export function redactRow(event: EventRow, redact: (text: string) => string): EventRow {
  const { message, item } = event;
  const clean = { ...event, message: message === null ? null : redact(message) };
  if (item === undefined || item === null) return clean;
  const data = Object.fromEntries(Object.entries(item.data).map(([key, value]) => [key, redacted(value, redact)]));
  return { ...clean, item: { ...item, data } };
}

function collect(value: JsonValue, texts: string[]): void {
  if (typeof value === "string") texts.push(value);
  else if (value !== null && typeof value === "object") {
    for (const entry of Object.values(value)) collect(entry, texts);
  }
}

function redacted(value: JsonValue, redact: (text: string) => string): JsonValue {
  if (typeof value === "string") return redact(value);
  if (value === null || typeof value !== "object") return value;
  if (isList(value)) return value.map((entry) => redacted(entry, redact));
  return Object.fromEntries(Object.entries(value).map(([key, entry]) => [key, redacted(entry, redact)]));
}

/** Array.isArray doesn't narrow a readonly array. */
function isList(value: JsonValue): value is readonly JsonValue[] {
  return Array.isArray(value);
}
