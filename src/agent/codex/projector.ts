/** Notifications to the events that the rest of the product knows; whatever text is in them is bounded here. */
import type { AgentEventBody } from "../../domain/events.ts";
import type { ItemView, Notice } from "./notices.ts";
import { arrayAt, asObject, bounded, booleanAt, numberAt, stringAt, tailOf, type JsonObject } from "./reading.ts";

const TEXT_CHARS = 8000;
const COMMAND_CHARS = 2000;
const OUTPUT_TAIL_CHARS = 2000;
const MAX_PATHS = 100;
/** A warning or an unknown method is told once; this many are remembered. */
const MAX_REMEMBERED = 200;

/** Known, and no news: the server's surroundings, and old servers' second copy of every event. */
const UNTOLD = /^(account|app|codex\/event|fs|mcpServer|modelProvider|remoteControl|skills|thread|windows)\//;

/** One per session: it remembers what it has told already. */
export class Projector {
  readonly #told = new Set<string>();

  /** The event of a notice about the session's own thread, or about none; null when there is nothing to tell. */
  project(notice: Notice): AgentEventBody | null {
    switch (notice.kind) {
      case "item_completed":
        return eventOfItem(notice.item);
      case "plan":
        return { kind: "plan", text: bounded(planText(notice.params), TEXT_CHARS) };
      case "warning":
        return this.#once(`warning ${notice.text}`, { kind: "warning", text: bounded(notice.text, TEXT_CHARS) });
      case "error":
        // The final one comes again with the end of the turn.
        return notice.willRetry ? { kind: "warning", text: bounded(retryText(notice.error), TEXT_CHARS) } : null;
      case "other":
        if (UNTOLD.test(notice.method)) return null;
        return this.#once(`other ${notice.method}`, { kind: "other_message", method: bounded(notice.method, 200) });
      case "thread_other":
        return isReview(notice.method) ? { kind: "notification", method: notice.method } : null;
      default:
        return null;
    }
  }

  #once(key: string, event: AgentEventBody): AgentEventBody | null {
    if (this.#told.has(key) || this.#told.size >= MAX_REMEMBERED) return null;
    this.#told.add(key);
    return event;
  }
}

/** Hooks, guardian and review notifications are telemetry: nothing is decided on them. */
function isReview(method: string): boolean {
  return (
    method.startsWith("hook/") ||
    method.startsWith("item/autoApprovalReview/") ||
    method.startsWith("autoApprovalReview/")
  );
}

function retryText({ message, details }: { message: string; details: string | null }): string {
  return details === null ? message : `${message} (${details})`;
}

function eventOfItem({ id, type, fields }: ItemView): AgentEventBody | null {
  switch (type) {
    case "agentMessage":
      return textEvent("message", stringAt(fields, "text"));
    case "plan":
      return textEvent("plan", stringAt(fields, "text"));
    case "reasoning":
      return textEvent("reasoning", strings(fields, "summary").join("\n"));
    case "commandExecution":
      return {
        kind: "command",
        command: bounded(stringAt(fields, "command") ?? "", COMMAND_CHARS),
        exitCode: numberAt(fields, "exitCode"),
        outputTail: tailOf(stringAt(fields, "aggregatedOutput") ?? "", OUTPUT_TAIL_CHARS),
      };
    case "fileChange": {
      const paths = arrayAt(fields, "changes").map((change) => stringAt(change, "path"));
      return { kind: "file_change", paths: paths.filter((path) => path !== null).slice(0, MAX_PATHS) };
    }
    case "mcpToolCall":
      return mcpEvent(id, fields);
    case "contextCompaction":
      return { kind: "compaction" };
    default:
      return null;
  }
}

function textEvent(kind: "message" | "plan" | "reasoning", text: string | null): AgentEventBody | null {
  return text === null || text.trim() === "" ? null : { kind, text: bounded(text, TEXT_CHARS) };
}

function mcpEvent(id: string, fields: JsonObject): AgentEventBody {
  const result = fields["result"] ?? null;
  const failed = stringAt(fields, "status") === "failed" || asObject(fields["error"]) !== null;
  return {
    kind: "tool_call",
    tool: `${stringAt(fields, "server") ?? "mcp"}/${stringAt(fields, "tool") ?? "?"}`,
    callId: id,
    ok: !failed && booleanAt(result, "isError") !== true,
    durationMs: numberAt(fields, "durationMs") ?? 0,
    bytes: result === null ? 0 : Buffer.byteLength(JSON.stringify(result)),
  };
}

function planText(params: JsonObject): string {
  const steps = arrayAt(params, "plan").map(
    (step) => `[${stringAt(step, "status") ?? "?"}] ${stringAt(step, "step") ?? ""}`,
  );
  return [stringAt(params, "explanation"), ...steps].filter((line) => line !== null && line !== "").join("\n");
}

function strings(fields: JsonObject, key: string): readonly string[] {
  return arrayAt(fields, key).filter((value) => typeof value === "string");
}
