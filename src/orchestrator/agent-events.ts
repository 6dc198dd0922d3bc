/** Where an agent's event goes: into the ledger, and to those who listen. */
import type { AgentEvent } from "../domain/events.ts";
import type { IssueId, RunId } from "../domain/ids.ts";
import { transcriptItem, type TranscriptItem } from "../domain/transcript.ts";
import { messageOf } from "./live.ts";
import { redactEvent } from "./redact-event.ts";
import { RunFeed, type RunEventStream } from "./run-feed.ts";

/** Where events are kept. */
export interface EventJournal {
  /** Answers the event's sequence number. */
  appendEvent(event: {
    readonly runId: RunId;
    readonly issueId: IssueId;
    readonly at: number;
    readonly event: string;
    readonly message: string | null;
    readonly item: TranscriptItem | null;
  }): number;
}

export interface AgentEventsDeps {
  readonly ledger: EventJournal;
  /** Takes known secret values out of a text. */
  redact(text: string): string;
  /** How people call an issue. */
  identifierOf(issueId: IssueId): string;
}

/** Kinds that are too many or too empty for a row of their own; token counts have their own tables. */
const UNRECORDED: ReadonlySet<AgentEvent["kind"]> = new Set(["tokens", "rate_limits", "notification", "other_message"]);

export class AgentEvents {
  readonly #deps: AgentEventsDeps;
  readonly #feed = new RunFeed();

  constructor(deps: AgentEventsDeps) {
    this.#deps = deps;
  }

  /** Whoever listens gets what the ledger gets, under the same number. */
  take(runId: RunId, issueId: IssueId, event: AgentEvent): void {
    if (UNRECORDED.has(event.kind)) return;
    const { ledger, redact, identifierOf } = this.#deps;
    const row = { runId, issueId, at: event.at, event: event.kind };
    const sequence = ledger.appendEvent({ ...row, message: messageOf(event), item: transcriptItem(event) });
    if (this.#feed.isIdle) return;
    const issueIdentifier = identifierOf(issueId);
    this.#feed.tell({ sequence, runId, issueId, issueIdentifier, event: redactEvent(event, redact) });
  }

  listen(): RunEventStream {
    return this.#feed.listen();
  }

  end(): void {
    this.#feed.end();
  }
}
