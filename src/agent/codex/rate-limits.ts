/** The account's rate limits as they trickle in: sparse updates merged per limit, and when a spent one resets. */
import { arrayAt, asObject, numberAt, objectAt, stringAt, type JsonObject } from "./reading.ts";

const DEFAULT_LIMIT = "codex";
const WINDOWS = ["primary", "secondary"] as const;
/** `usedPercent` is a whole number; 100 means that nothing is left. */
const SPENT_PERCENT = 100;

/**
 * Merges `account/rateLimits/updated` per `limitId`: a null says nothing about what was known. The update that names the reset
 * comes before the error that says that the limit is reached (measured).
 */
export class RateLimits {
  readonly #limits = new Map<string, JsonObject>();

  /** The merged limit; null when the update says nothing (an API-key account's are all null). */
  update(params: unknown): JsonObject | null {
    const limits = objectAt(params, "rateLimits") ?? asObject(arrayAt(params, "rateLimits")[0]);
    if (limits === null) return null;
    const id = stringAt(limits, "limitId") ?? DEFAULT_LIMIT;
    const news = Object.entries(limits).filter(([, value]) => value !== null && value !== undefined);
    if (!news.some(([name]) => name !== "limitId")) return null;
    const merged: JsonObject = { ...this.#limits.get(id), ...Object.fromEntries(news), limitId: id };
    this.#limits.set(id, merged);
    return merged;
  }

  /** When the last of the spent windows resets, epoch ms; null when no spent window names a time still to come. */
  resetsAt(now: number): number | null {
    const times = [...this.#limits.values()].flatMap((limit) => WINDOWS.map((window) => spentUntil(limit, window)));
    const ahead = times.filter((time) => time !== null && time > now);
    return ahead.length === 0 ? null : Math.max(...ahead.map((time) => time ?? 0));
  }
}

function spentUntil(limit: JsonObject, window: (typeof WINDOWS)[number]): number | null {
  const state = objectAt(limit, window);
  const used = numberAt(state, "usedPercent");
  const resetsAt = numberAt(state, "resetsAt");
  return used !== null && used >= SPENT_PERCENT && resetsAt !== null ? resetsAt * 1000 : null;
}
