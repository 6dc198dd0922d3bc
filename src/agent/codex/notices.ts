/** Notifications as we read them: only ids, `turn.status` and `item.type` are needed; every other field may be missing or new. */
import { asObject, booleanAt, objectAt, stringAt, type JsonObject } from "./reading.ts";
import type { RequestId } from "./wire.ts";

export interface ItemView {
  readonly id: string;
  readonly type: string;
  /** The item as received. */
  readonly fields: JsonObject;
}

export interface TurnErrorView {
  readonly message: string;
  readonly details: string | null;
  /** `codexErrorInfo`: a name, or an object with one key, open to new ones. */
  readonly info: unknown;
}

export interface TurnView {
  readonly id: string;
  readonly status: string;
  readonly error: TurnErrorView | null;
}

interface Placed {
  readonly threadId: string;
  /** Null where the server didn't say. */
  readonly turnId: string | null;
}

export type Notice =
  | (Placed & { readonly kind: "turn_started"; readonly turnId: string })
  | (Placed & { readonly kind: "turn_completed"; readonly turn: TurnView })
  | (Placed & { readonly kind: "item_started"; readonly item: ItemView })
  | (Placed & { readonly kind: "item_completed"; readonly item: ItemView })
  | (Placed & { readonly kind: "error"; readonly error: TurnErrorView; readonly willRetry: boolean })
  | (Placed & { readonly kind: "plan"; readonly params: JsonObject })
  | (Placed & { readonly kind: "model_rerouted"; readonly from: string | null; readonly to: string })
  /** Anything else about a thread: deltas, status, settings. */
  | (Placed & { readonly kind: "thread_other"; readonly method: string })
  | { readonly kind: "tokens"; readonly params: unknown }
  | { readonly kind: "rate_limits"; readonly params: unknown }
  | { readonly kind: "request_resolved"; readonly requestId: RequestId }
  | { readonly kind: "warning"; readonly text: string }
  | { readonly kind: "other"; readonly method: string };

/** Reads one notification. What lacks the fields that its kind needs becomes `other`, and is no more than a sign of life. */
export function readNotice(method: string, params: unknown): Notice {
  switch (method) {
    case "thread/tokenUsage/updated":
    case "codex/event/token_count":
      return { kind: "tokens", params };
    case "account/rateLimits/updated":
      return { kind: "rate_limits", params };
    case "serverRequest/resolved":
      return readResolved(params) ?? { kind: "other", method };
    case "warning":
    case "configWarning":
    case "deprecationNotice":
    case "guardianWarning":
    case "mcpServer/startupStatus/updated":
      return readWarning(method, params) ?? { kind: "other", method };
    default:
      return readPlaced(method, params) ?? { kind: "other", method };
  }
}

/** A `turn` object of a reply or a notification; null without id or status. */
export function readTurn(value: unknown): TurnView | null {
  const id = stringAt(value, "id");
  const status = stringAt(value, "status");
  return id === null || status === null ? null : { id, status, error: readTurnError(objectAt(value, "error")) };
}

function readPlaced(method: string, params: unknown): Notice | null {
  const fields = asObject(params);
  const threadId = stringAt(params, "threadId");
  if (fields === null || threadId === null) return null;
  const place: Placed = { threadId, turnId: stringAt(params, "turnId") ?? stringAt(objectAt(params, "turn"), "id") };
  switch (method) {
    case "turn/started":
      return place.turnId === null ? null : { kind: "turn_started", threadId, turnId: place.turnId };
    case "turn/completed": {
      const turn = readTurn(fields["turn"]);
      return turn === null ? null : { kind: "turn_completed", ...place, turn };
    }
    case "item/started":
    case "item/completed": {
      const item = readItem(fields["item"]);
      if (item === null) return null;
      return { kind: method === "item/started" ? "item_started" : "item_completed", ...place, item };
    }
    case "error": {
      const error = readTurnError(objectAt(params, "error"));
      return error === null
        ? null
        : { kind: "error", ...place, error, willRetry: booleanAt(params, "willRetry") ?? false };
    }
    case "turn/plan/updated":
      return { kind: "plan", ...place, params: fields };
    case "model/rerouted": {
      const to = stringAt(params, "toModel");
      return to === null ? null : { kind: "model_rerouted", ...place, from: stringAt(params, "fromModel"), to };
    }
    default:
      return { kind: "thread_other", ...place, method };
  }
}

function readItem(value: unknown): ItemView | null {
  const fields = asObject(value);
  const id = stringAt(value, "id");
  const type = stringAt(value, "type");
  return fields === null || id === null || type === null ? null : { id, type, fields };
}

function readTurnError(error: JsonObject | null): TurnErrorView | null {
  if (error === null) return null;
  return {
    message: stringAt(error, "message") ?? "no message",
    details: stringAt(error, "additionalDetails"),
    info: error["codexErrorInfo"] ?? null,
  };
}

function readResolved(params: unknown): Notice | null {
  const requestId = asObject(params)?.["requestId"];
  return typeof requestId === "number" || typeof requestId === "string"
    ? { kind: "request_resolved", requestId }
    : null;
}

function readWarning(method: string, params: unknown): Notice | null {
  if (method === "mcpServer/startupStatus/updated") return readMcpStart(params);
  const text = stringAt(params, "message") ?? stringAt(params, "summary");
  const details = stringAt(params, "details");
  if (text === null) return null;
  return { kind: "warning", text: details === null ? text : `${text} (${details})` };
}

/** An MCP server of the agent's own that didn't come up: its tools are missing, and nothing else says so. */
function readMcpStart(params: unknown): Notice | null {
  if (stringAt(params, "status") !== "failed") return null;
  const reason = stringAt(params, "error") ?? "no reason given";
  return {
    kind: "warning",
    text: `the agent's MCP server "${stringAt(params, "name") ?? "?"}" did not start: ${reason}`,
  };
}
