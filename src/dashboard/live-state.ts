/** What the page knows from the stream, moved by one pure function; rows that didn't change stay the same objects, so nothing draws them again. */
import type { Snapshot } from "./data.ts";

/** `locked`: the address is reachable by others, and the token is missing or wrong. */
export type Connection = "connecting" | "live" | "lost" | "locked";

export interface LiveState {
  readonly connection: Connection;
  /** The newest that was told; kept while the connection is lost. */
  readonly snapshot: Snapshot | null;
  /** The daemon's clock minus this one, ms. */
  readonly skewMs: number;
}

export type LiveNews =
  | { readonly kind: "connection"; readonly connection: Connection }
  | { readonly kind: "snapshot"; readonly snapshot: Snapshot; readonly receivedAt: number };

export const UNCONNECTED: LiveState = { connection: "connecting", snapshot: null, skewMs: 0 };

/** Below this, a difference of clocks is the way that a message took. */
const SKEW_NOTICED_MS = 2000;

/** The same state object when nothing changed. */
export function reduceLive(state: LiveState, news: LiveNews): LiveState {
  switch (news.kind) {
    case "connection":
      return state.connection === news.connection ? state : { ...state, connection: news.connection };
    case "snapshot": {
      const skewMs = Date.parse(news.snapshot.generated_at) - news.receivedAt;
      return {
        connection: "live",
        snapshot: keepSame(state.snapshot, news.snapshot),
        skewMs: Math.abs(skewMs) < SKEW_NOTICED_MS ? 0 : skewMs,
      };
    }
    default:
      return news satisfies never;
  }
}

/** `fresh`, with every part that equals the old one replaced by it. Rows are matched by their ticket, wherever they stand. */
function keepSame<T>(old: unknown, fresh: T): T {
  if (Object.is(old, fresh) || typeof fresh !== "object" || fresh === null) return fresh;
  if (typeof old !== "object" || old === null || Array.isArray(old) !== Array.isArray(fresh)) return fresh;
  const kept = Array.isArray(fresh) ? keepRows(old as readonly unknown[], fresh) : keepFields(old, fresh);
  return kept as T;
}

function keepRows(old: readonly unknown[], fresh: readonly unknown[]): readonly unknown[] {
  const byKey = new Map(old.map((row, index) => [keyOf(row) ?? index, row]));
  const kept = fresh.map((row, index) => keepSame(byKey.get(keyOf(row) ?? index), row));
  return kept.length === old.length && kept.every((row, index) => row === old[index]) ? old : kept;
}

function keyOf(row: unknown): string | null {
  return typeof row === "object" && row !== null && "issue_id" in row ? String(row.issue_id) : null;
}

function keepFields(old: object, fresh: object): object {
  const before: Readonly<Record<string, unknown>> = { ...old };
  const entries = Object.entries(fresh).map(([key, value]) => [key, keepSame(before[key], value)] as const);
  const isSame =
    entries.length === Object.keys(before).length && entries.every(([key, value]) => Object.is(before[key], value));
  return isSame ? old : Object.fromEntries(entries);
}
