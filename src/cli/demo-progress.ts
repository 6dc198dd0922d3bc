/** What happens in a demo, in words: one line whenever a ticket's claim changes its kind, and what an agent does just now. */
import type { Claim } from "../domain/claim.ts";
import { assertNever } from "../domain/errors.ts";
import type { AgentEvent } from "../domain/events.ts";
import { showSpan } from "./figures.ts";

/** A ticket as the demo shows it. */
export interface TicketView {
  readonly identifier: string;
  readonly title: string;
  readonly priority: number | null;
  readonly state: string;
  readonly terminal: boolean;
  /** Blockers that aren't done, by identifier. */
  readonly waitsFor: readonly string[];
  readonly claim: Claim | null;
  /** What its agent did last; null when that is not known. */
  readonly activity: string | null;
  readonly runs: number;
  readonly turns: number;
  readonly tokens: number;
}

/** What the ticket is doing now, in a few words. */
export function describeTicket(ticket: TicketView, now: number): string {
  const { claim } = ticket;
  if (claim === null) return describeUnclaimed(ticket);
  switch (claim.kind) {
    case "running":
      return claim.phase === "turn"
        ? `turn ${claim.turn}${ticket.activity === null ? "" : `: ${ticket.activity}`}`
        : claim.phase;
    case "waiting":
      return describeWait(claim, now);
    case "blocked":
      return `blocked: ${claim.message}`;
    case "cleaning":
      return "removing its workspace";
    default:
      return assertNever(claim);
  }
}

function describeUnclaimed({ terminal, waitsFor }: TicketView): string {
  if (terminal) return "done";
  return waitsFor.length === 0 ? "ready, waits for a slot" : `waits for ${waitsFor.join(", ")}`;
}

function describeWait(claim: Extract<Claim, { kind: "waiting" }>, now: number): string {
  if (claim.why === "dispatch") return "about to start";
  const when = claim.dueAt === null ? "when a slot is free" : `in ${showSpan(Math.max(0, claim.dueAt - now))}`;
  if (claim.error !== null) return `next try ${when}, after: ${claim.error}`;
  return `goes on ${when} (${claim.why})`;
}

/** What is said when a ticket's claim has become `next`; null when that is nothing new to a reader. */
export function describeChange(before: Claim | null, next: Claim | null, now: number): string | null {
  if (next?.kind === "running") return describeRun(before, next);
  if (before?.kind === next?.kind) return null;
  switch (next?.kind) {
    case undefined:
      return before?.kind === "cleaning" ? "done" : null;
    case "waiting":
      return next.why === "dispatch" ? null : describeWait(next, now);
    case "blocked":
      return `blocked: ${next.message}`;
    case "cleaning":
      return "reached Done; its workspace is removed";
    default:
      return assertNever(next);
  }
}

function describeRun(before: Claim | null, next: Extract<Claim, { kind: "running" }>): string | null {
  if (before?.kind === "running" && before.runId === next.runId) {
    return next.turn > before.turn ? `turn ${next.turn}` : null;
  }
  return next.attempt === null ? "starts" : `starts again (attempt ${next.attempt})`;
}

/** How the app-server writes a shell command; the shell itself is no news. */
const SHELL = /^\S*bash -l?c '(.*)'$/s;

/** What an agent's event shows of its work; null for what a reader can't use. */
export function describeActivity(event: AgentEvent): string | null {
  switch (event.kind) {
    case "message":
      return `says: ${event.text}`;
    case "command":
      return `$ ${event.command.replace(SHELL, "$1")}`;
    case "file_change":
      return `edits ${event.changes.map(({ path }) => path).join(", ")}`;
    case "tool_call":
      return `calls ${event.tool}`;
    default:
      return null;
  }
}
