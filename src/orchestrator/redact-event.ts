/** An agent's event without known secrets, on its way to a person. */
import type { AgentEvent } from "../domain/events.ts";

/** Every text of the event that comes from the agent or from what it ran. */
export function redactEvent(event: AgentEvent, redact: (text: string) => string): AgentEvent {
  switch (event.kind) {
    case "message":
    case "reasoning":
    case "plan":
    case "warning":
      return { ...event, text: redact(event.text) };
    case "command":
      return { ...event, command: redact(event.command), outputTail: redact(event.outputTail) };
    case "file_change":
      return {
        ...event,
        changes: event.changes.map(({ path, change, diff }) => ({ path: redact(path), change, diff: redact(diff) })),
      };
    case "startup_failed":
    case "turn_failed":
    case "turn_ended_with_error":
      return { ...event, message: redact(event.message) };
    case "approval_auto_approved":
    case "approval_declined":
      return { ...event, subject: event.subject === null ? null : redact(event.subject) };
    case "question_asked": {
      const { summary, subject, detail, ...rest } = event.question;
      const clean = { summary: redact(summary), subject: subject === null ? null : redact(subject) };
      return { ...event, question: { ...rest, ...clean, detail: redact(detail) } };
    }
    case "malformed":
      return { ...event, sample: redact(event.sample) };
    default:
      return event;
  }
}
