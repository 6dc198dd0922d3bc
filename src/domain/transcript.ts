/** The part of an agent's events that is kept in full: what it said, planned, ran and changed, each once. */
import type { AgentEventBody, ItemRef } from "./events.ts";
import type { JsonValue } from "./issue.ts";

/** One item of a transcript. Its text is the agent's and untrusted. */
export interface TranscriptItem extends ItemRef {
  readonly kind: TranscriptKind;
  readonly data: { readonly [key: string]: JsonValue };
}

export type TranscriptKind = "message" | "reasoning" | "plan" | "command" | "file_change" | "tool_call";

/** Null for events that are no item, and for items that the agent didn't name. Sizes are the event's: its maker has cut them. */
export function transcriptItem(event: AgentEventBody): TranscriptItem | null {
  switch (event.kind) {
    case "message":
    case "reasoning":
    case "plan":
      return place(event.item, event.kind, { text: event.text });
    case "command":
      return place(event.item, event.kind, {
        command: event.command,
        exit_code: event.exitCode,
        duration_ms: event.durationMs,
        output_tail: event.outputTail,
      });
    case "file_change":
      return place(event.item, event.kind, {
        changes: event.changes.map(({ path, change, diff }) => ({ path, change, diff })),
      });
    case "tool_call":
      return place(event.item, event.kind, {
        tool: event.tool,
        ok: event.ok,
        duration_ms: event.durationMs,
        bytes: event.bytes,
      });
    default:
      return null;
  }
}

function place(item: ItemRef | undefined, kind: TranscriptKind, data: TranscriptItem["data"]): TranscriptItem | null {
  return item === undefined ? null : { ...item, kind, data };
}
