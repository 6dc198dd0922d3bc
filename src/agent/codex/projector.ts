/** Notifications to the events that the rest of the product knows; whatever text is in them is bounded here. */
import type { AgentEventBody, ItemRef } from "../../domain/events.ts";
import { eventOfItem, eventOfPlan } from "./item-events.ts";
import type { Notice } from "./notices.ts";
import { bounded } from "./reading.ts";

const TEXT_CHARS = 8000;
const NAME_CHARS = 200;
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
        return eventOfItem(notice.item, { ...placeOf(notice), itemId: notice.item.id });
      case "plan":
        return eventOfPlan(notice.params, placeOf(notice));
      case "model_rerouted": {
        const { from, to } = notice;
        return {
          kind: "model_rerouted",
          from: from === null ? null : bounded(from, NAME_CHARS),
          to: bounded(to, NAME_CHARS),
        };
      }
      case "warning":
        return this.#once(`warning ${notice.text}`, { kind: "warning", text: bounded(notice.text, TEXT_CHARS) });
      case "error":
        // The final one comes again with the end of the turn.
        return notice.willRetry ? { kind: "warning", text: bounded(retryText(notice.error), TEXT_CHARS) } : null;
      case "other":
        if (UNTOLD.test(notice.method)) return null;
        return this.#once(`other ${notice.method}`, {
          kind: "other_message",
          method: bounded(notice.method, NAME_CHARS),
        });
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

function placeOf({ threadId, turnId }: Extract<Notice, { readonly threadId: string }>): Omit<ItemRef, "itemId"> {
  return { threadId, turnId };
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
