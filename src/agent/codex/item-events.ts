/** A completed item as the event that the rest of the product knows; whatever text is in it is bounded here. */
import type { AgentEventBody, FileChange, ItemRef } from "../../domain/events.ts";
import type { ItemView } from "./notices.ts";
import { arrayAt, asObject, bounded, booleanAt, numberAt, objectAt, stringAt, tailOf } from "./reading.ts";
import type { JsonObject } from "./reading.ts";

/** What a person reads of a message; the longest ones that models write at the end of a turn are some 10 kB. */
const MESSAGE_CHARS = 16_000;
const TEXT_CHARS = 8000;
const COMMAND_CHARS = 2000;
const OUTPUT_TAIL_CHARS = 4000;
const MAX_FILES = 100;
const PATH_CHARS = 500;
/** One generated file must not take the room of all others. */
const FILE_DIFF_CHARS = 8000;
/** All diffs of one item together; the workspace's git has the whole. */
const ITEM_DIFF_CHARS = 24_000;

/** Null for an item that tells a reader nothing, or whose event comes from elsewhere (our own tools' calls). */
export function eventOfItem({ type, fields }: ItemView, item: ItemRef): AgentEventBody | null {
  switch (type) {
    case "agentMessage":
      return textEvent("message", { text: stringAt(fields, "text"), item, limit: MESSAGE_CHARS });
    case "plan":
      return textEvent("plan", { text: stringAt(fields, "text"), item, limit: TEXT_CHARS });
    case "reasoning":
      return textEvent("reasoning", { text: strings(fields, "summary").join("\n"), item, limit: TEXT_CHARS });
    case "commandExecution":
      return {
        kind: "command",
        command: bounded(stringAt(fields, "command") ?? "", COMMAND_CHARS),
        exitCode: numberAt(fields, "exitCode"),
        durationMs: numberAt(fields, "durationMs"),
        outputTail: tailOf(stringAt(fields, "aggregatedOutput") ?? "", OUTPUT_TAIL_CHARS),
        item,
      };
    case "fileChange":
      return fileChangeEvent(fields, item);
    case "mcpToolCall":
      return toolEvent(`${stringAt(fields, "server") ?? "mcp"}/${stringAt(fields, "tool") ?? "?"}`, fields, item);
    case "collabAgentToolCall":
      return toolEvent(`agents/${stringAt(fields, "tool") ?? "?"}`, fields, item);
    case "webSearch":
      return toolEvent("web_search", fields, item);
    case "contextCompaction":
      return { kind: "compaction" };
    default:
      return null;
  }
}

/** The event of `turn/plan/updated`: a turn has one such plan, told anew whenever it changes. */
export function eventOfPlan(params: JsonObject, place: Omit<ItemRef, "itemId">): AgentEventBody | null {
  const steps = arrayAt(params, "plan").map(
    (step) => `[${stringAt(step, "status") ?? "?"}] ${stringAt(step, "step") ?? ""}`,
  );
  const lines = [stringAt(params, "explanation"), ...steps].filter((line) => line !== null && line !== "");
  return textEvent("plan", { text: lines.join("\n"), item: { ...place, itemId: "plan" }, limit: TEXT_CHARS });
}

function textEvent(
  kind: "message" | "plan" | "reasoning",
  { text, item, limit }: { readonly text: string | null; readonly item: ItemRef; readonly limit: number },
): AgentEventBody | null {
  return text === null || text.trim() === "" ? null : { kind, text: bounded(text, limit), item };
}

/** A change that was refused or failed has changed nothing, and must not look as if it had. */
function fileChangeEvent(fields: JsonObject, item: ItemRef): AgentEventBody {
  const changes = readChanges(fields);
  const status = stringAt(fields, "status");
  if (status !== "declined" && status !== "failed") return { kind: "file_change", changes, item };
  const paths = changes.map(({ path }) => path).join(", ");
  return { kind: "warning", text: bounded(`a change was not made (${status}): ${paths}`, COMMAND_CHARS) };
}

function readChanges(fields: JsonObject): readonly FileChange[] {
  let room = ITEM_DIFF_CHARS;
  const changes: FileChange[] = [];
  for (const entry of arrayAt(fields, "changes")) {
    const path = stringAt(entry, "path");
    if (path === null) continue;
    if (changes.length === MAX_FILES) break;
    const kind = objectAt(entry, "kind");
    const movedTo = stringAt(kind, "move_path");
    const whole = stringAt(entry, "diff") ?? "";
    const limit = Math.min(FILE_DIFF_CHARS, room);
    const diff = limit === 0 ? "" : bounded(whole, limit);
    room -= diff.length;
    changes.push({
      path: bounded(movedTo === null ? path : `${path} -> ${movedTo}`, PATH_CHARS),
      change: bounded(stringAt(kind, "type") ?? stringAt(entry, "kind") ?? "update", 20),
      diff,
    });
  }
  return changes;
}

function toolEvent(tool: string, fields: JsonObject, item: ItemRef): AgentEventBody {
  const result = fields["result"] ?? null;
  const failed = stringAt(fields, "status") === "failed" || asObject(fields["error"]) !== null;
  return {
    kind: "tool_call",
    tool: bounded(tool, 200),
    callId: item.itemId,
    ok: !failed && booleanAt(result, "isError") !== true,
    durationMs: numberAt(fields, "durationMs") ?? 0,
    bytes: result === null ? 0 : Buffer.byteLength(JSON.stringify(result)),
    item,
  };
}

function strings(fields: JsonObject, key: string): readonly string[] {
  return arrayAt(fields, key).filter((value) => typeof value === "string");
}
