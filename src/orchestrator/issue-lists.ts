/** The tickets that the daemon knows, the questions that wait for a person, and why one ticket runs or doesn't, as the API shows them. */
import type { Claim } from "../domain/claim.ts";
import type { Issue } from "../domain/issue.ts";
import type { Settings } from "../domain/settings.ts";
import { startGate } from "../scheduler/eligibility.ts";
import { explain } from "../scheduler/explain.ts";
import { compareIssues } from "../scheduler/order.ts";
import type { State } from "../scheduler/state.ts";
import type { MalformedTicket } from "../tracker/port.ts";

/** What these views are made from. */
export interface Seen {
  readonly state: State;
  readonly settings: Settings;
  /** Why the ledger can't be written; null where it can. */
  readonly ledgerError: { readonly message: string } | null;
  /** What the last listing left out. */
  readonly malformed: readonly MalformedTicket[];
  /** Epoch ms. */
  readonly now: number;
}

type Json = Readonly<Record<string, unknown>>;

/** What a person means who types an identifier: the one that is spelled so, else one that differs in letter case alone. */
export function findTyped<T>(all: readonly T[], typed: string, nameOf: (one: T) => string): T | null {
  const wanted = typed.toLowerCase();
  return all.find((one) => nameOf(one) === typed) ?? all.find((one) => nameOf(one).toLowerCase() === wanted) ?? null;
}

/** Claimed or listed by the last poll, by identifier without letter case, as people type it; null when it is neither. */
export function findKnownIssue(state: State, identifier: string): Issue | null {
  const known = [...[...state.claims.values()].map(({ issue }) => issue), ...state.candidates];
  return findTyped(known, identifier, (issue) => issue.identifier);
}

/** Every ticket that is claimed or was listed by the last poll, in dispatch order. */
export function issuesJson({ state, settings }: Seen): Json {
  const known = new Map(state.candidates.map((issue) => [issue.id, issue]));
  for (const claim of state.claims.values()) known.set(claim.issue.id, claim.issue);
  const { lastOkAt } = state.tracker;
  return {
    issues: [...known.values()].toSorted(compareIssues).map((issue) => {
      const gate = startGate(issue, settings);
      return {
        issue_id: issue.id,
        issue_identifier: issue.identifier,
        title: issue.title,
        url: issue.url,
        state: issue.state,
        priority: issue.priority,
        labels: issue.labels,
        status: statusOf(state.claims.get(issue.id), gate === null),
        gate,
      };
    }),
    polled_at: lastOkAt === null ? null : new Date(lastOkAt).toISOString(),
  };
}

function statusOf(claim: Claim | undefined, isFree: boolean): string {
  if (claim === undefined || (claim.kind === "waiting" && claim.why === "dispatch")) return isFree ? "ready" : "held";
  return claim.kind === "waiting" ? "retrying" : claim.kind;
}

/** One that the last listing left out, by identifier as people type it. */
export function findMalformed(malformed: readonly MalformedTicket[], identifier: string): MalformedTicket | null {
  return findTyped(malformed, identifier, (ticket) => ticket.identifier);
}

/** Null for a ticket that is neither claimed, nor listed, nor left out as malformed. */
export function explanationJson(identifier: string, seen: Seen): Json | null {
  const issue = findKnownIssue(seen.state, identifier);
  if (issue === null) {
    const ticket = findMalformed(seen.malformed, identifier);
    return ticket === null ? null : malformedJson(ticket);
  }
  return {
    issue_id: issue.id,
    issue_identifier: issue.identifier,
    title: issue.title,
    state: issue.state,
    ...explain({ ...seen, issue }),
  };
}

/** A ticket that can't be read meets no gate but this one. */
function malformedJson({ identifier, where, reason, title, state }: MalformedTicket): Json {
  const mend = "mend it there; it is read again with the next poll";
  return {
    issue_id: identifier,
    issue_identifier: identifier,
    title: title ?? where,
    state: state ?? "not readable",
    verdict: "held",
    gates: [{ gate: "record", pass: false, value: `${where}: ${reason}`, mend }],
  };
}

/** Every question that is open, the oldest first. */
export function questionsJson(state: State): Json {
  const asked = [...state.claims.values()].flatMap((claim) => {
    if ((claim.kind !== "running" && claim.kind !== "blocked") || claim.question === null) return [];
    return [{ claim, question: claim.question }];
  });
  return {
    questions: asked
      .toSorted((a, b) => a.question.askedAt - b.question.askedAt)
      .map(({ claim, question }) => ({
        id: question.id,
        issue_id: claim.issue.id,
        issue_identifier: claim.issue.identifier,
        kind: question.kind,
        summary: question.summary,
        subject: question.subject,
        detail: question.detail,
        asked_at: new Date(question.askedAt).toISOString(),
        deadline_at: question.deadlineAt === null ? null : new Date(question.deadlineAt).toISOString(),
        status: claim.kind,
        answered: claim.inbox.some(({ id }) => id === question.id),
      })),
  };
}
