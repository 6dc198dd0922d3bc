/** The part of an agent's events that is kept in full: what it said, planned, ran and changed, each once. */
import type { AgentEventBody, ItemRef } from "./events.ts";
import type { JsonValue } from "./issue.ts";
import type { Question } from "./outcome.ts";

/** One item of a transcript. Its text is the agent's and untrusted. */
export interface TranscriptItem extends ItemRef {
  readonly kind: TranscriptKind;
  readonly data: { readonly [key: string]: JsonValue };
}

export type TranscriptKind =
  "message" | "reasoning" | "plan" | "command" | "file_change" | "tool_call" | "question" | "answer";

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
    case "question_asked":
      return ofQuestion(event.question);
    case "question_answered":
      return place(aside(`${event.questionId}.answer`), "answer", { question_id: event.questionId });
    default:
      return null;
  }
}

function ofQuestion({ id, kind, summary, subject, detail, deadlineAt }: Question): TranscriptItem | null {
  return place(aside(id), "question", { kind, summary, subject, detail, deadline_at: deadlineAt });
}

/** Questions are the daemon's own: they outlive the thread that they came from, and an answer may come to another one. */
function aside(itemId: string): ItemRef {
  return { threadId: "", turnId: null, itemId };
}

function place(item: ItemRef | undefined, kind: TranscriptKind, data: TranscriptItem["data"]): TranscriptItem | null {
  return item === undefined ? null : { ...item, kind, data };
}
