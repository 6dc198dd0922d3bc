/** The tool `local_board`: what an agent may do to the board, done by the daemon. */
import { z } from "zod";

import { AppError, assertNever, errorMessage } from "../../domain/errors.ts";
import { normalizeState } from "../../domain/issue.ts";
import type { Tool, ToolContext, ToolResult } from "../../domain/tool.ts";
import type { Clock } from "../../lib/clock.ts";
import { declaredSchema } from "../tool-schema.ts";
import { createFile, editFile } from "./atomic-file.ts";
import { isTicketName, type Board, type TicketEntry } from "./board.ts";
import { oneLine, plainText } from "./markdown.ts";
import { composeTicket, withComment, withState } from "./ticket-edit.ts";
import type { Comment, Ticket } from "./ticket-file.ts";

export interface LocalBoardDeps {
  readonly board: Board;
  readonly clock: Clock;
  /** Every state that a ticket may be moved to, as spelled in the settings. */
  readonly states: readonly string[];
  /** Where a created ticket starts when the call names no state. */
  readonly firstState: string;
}

/** A refusal in words for the model. */
class Refusal extends Error {
  override readonly name = "Refusal";
}

/** Long enough for any report; a ticket must stay readable, and below its own limit. */
const MAX_BODY_CHARS = 60_000;
const MAX_TITLE_CHARS = 300;
/** What an answer may hold: the agent keeps about 12 KB of a longer one and drops the middle (measured on app-server 0.171.0). */
const MAX_DESCRIPTION_CHARS = 6_000;
const MAX_COMMENTS_CHARS = 4_000;
/** Two makers of tickets rarely want one number at once; many times in a row means that something else is wrong. */
const MAX_CREATE_TRIES = 50;

const argumentsSchema = z.strictObject({
  action: z.enum(["get", "comment", "move", "create"]).describe("What to do."),
  issue: z
    .string()
    .optional()
    .describe("Identifier of the ticket; the ticket you work on when left out. Not for create."),
  state: z
    .string()
    .optional()
    .describe("move: the new state. create: the first state, when it is not to be the default."),
  title: z.string().max(MAX_TITLE_CHARS).optional().describe("create: the title, one line."),
  body: z.string().max(MAX_BODY_CHARS).optional().describe("comment: the comment. create: the description. Markdown."),
});
type Arguments = z.output<typeof argumentsSchema>;

function parseArguments(args: unknown): Arguments {
  const parsed = argumentsSchema.safeParse(args);
  if (parsed.success) return parsed.data;
  const problems = parsed.error.issues.map((issue) => [issue.path.join("."), issue.message].filter(Boolean).join(": "));
  throw new Refusal(`the arguments are not understood: ${problems.join("; ")}`);
}

function refuseExtras(args: Arguments, allowed: readonly (keyof Arguments)[]): void {
  const extra = Object.keys(args).find((key) => key !== "action" && !allowed.some((name) => name === key));
  if (extra !== undefined) throw new Refusal(`${args.action} takes no "${extra}"`);
}

function knownState(wanted: string, states: readonly string[]): string {
  const state = states.find((name) => normalizeState(name) === normalizeState(wanted));
  if (state !== undefined) return state;
  throw new Refusal(
    `there is no state "${oneLine(wanted)}" on this board; use one of: ${[...new Set(states)].join(", ")}`,
  );
}

async function findTicket(
  identifier: string,
  board: Board,
  signal: AbortSignal,
): Promise<{ entry: TicketEntry; ticket: Ticket }> {
  if (!isTicketName(identifier)) {
    throw new Refusal(`"${oneLine(identifier)}" is no ticket identifier; give a name such as ENG-7`);
  }
  const entry = (await board.load([identifier], signal)).get(identifier);
  if (entry === undefined) throw new Refusal(`there is no ticket "${identifier}" on this board`);
  if (!entry.content.ok) {
    const { line, reason } = entry.content.problem;
    throw new Refusal(`the ticket "${identifier}" is malformed at line ${line}: ${reason}`);
  }
  return { entry, ticket: entry.content.ticket };
}

function clip(text: string, limit: number): string {
  return text.length <= limit ? text : `${text.slice(0, limit)}\n[cut: ${text.length - limit} more characters]`;
}

/** The newest comments that fit, oldest first. */
function newestComments(comments: readonly Comment[]): {
  readonly comments: readonly Comment[];
  readonly earlier_comments: number;
} {
  const kept: Comment[] = [];
  let left = MAX_COMMENTS_CHARS;
  for (const next of comments.toReversed()) {
    left -= next.text.length;
    if (left < 0 && kept.length > 0) break;
    kept.unshift({ ...next, text: clip(next.text, MAX_COMMENTS_CHARS) });
  }
  return { comments: kept, earlier_comments: comments.length - kept.length };
}

async function get(args: Arguments, context: ToolContext, deps: LocalBoardDeps): Promise<object> {
  refuseExtras(args, ["issue"]);
  const { entry, ticket } = await findTicket(args.issue ?? context.issue.identifier, deps.board, context.signal);
  return {
    identifier: entry.name,
    title: ticket.title,
    state: ticket.state,
    priority: ticket.priority,
    labels: ticket.labels,
    blocked_by: ticket.blockedBy,
    created_at: ticket.createdAt ?? entry.bornAt,
    description: ticket.description === null ? null : clip(ticket.description, MAX_DESCRIPTION_CHARS),
    ...newestComments(ticket.comments),
    states: [...new Set(deps.states)],
  };
}

async function comment(args: Arguments, context: ToolContext, deps: LocalBoardDeps): Promise<object> {
  refuseExtras(args, ["issue", "body"]);
  const text = plainText(args.body ?? "");
  if (text.trim() === "") throw new Refusal('comment needs a "body" that says something');
  const own = context.issue.identifier;
  const { entry } = await findTicket(args.issue ?? own, deps.board, context.signal);
  const at = new Date(deps.clock.now()).toISOString();
  const author = entry.name === own ? "agent" : `agent (working on ${own})`;
  await edit(entry, context, (source, bornAt) => withComment(source, { at, author, text }, bornAt));
  return { identifier: entry.name, commented_at: at };
}

async function move(args: Arguments, context: ToolContext, deps: LocalBoardDeps): Promise<object> {
  refuseExtras(args, ["issue", "state"]);
  const state = knownState(args.state ?? "", deps.states);
  const { entry, ticket } = await findTicket(args.issue ?? context.issue.identifier, deps.board, context.signal);
  if (ticket.state !== state) await edit(entry, context, (source, bornAt) => withState(source, state, bornAt));
  return { identifier: entry.name, state, was: ticket.state };
}

async function edit(
  entry: TicketEntry,
  context: ToolContext,
  change: (source: string, bornAt: string) => string,
): Promise<void> {
  context.signal.throwIfAborted();
  await editFile(entry.path, ({ text, bornAt }) => change(text, new Date(bornAt).toISOString()));
}

/** Prefix and number of `ENG-007`; a name without a number gets one behind a dash. */
function splitIdentifier(identifier: string): { readonly prefix: string; readonly digits: number } {
  const [, prefix, number] = /^(.*?)(\d+)$/s.exec(identifier) ?? [];
  return prefix === undefined || number === undefined
    ? { prefix: `${identifier}-`, digits: 1 }
    : { prefix, digits: number.startsWith("0") ? number.length : 1 };
}

/** One past the highest number in use with this prefix, in any letter case, malformed tickets included. */
function nextIdentifier(like: string, names: readonly string[]): string {
  const { prefix, digits } = splitIdentifier(like);
  let highest = 0n;
  for (const name of names) {
    if (!name.toLowerCase().startsWith(prefix.toLowerCase())) continue;
    const number = name.slice(prefix.length);
    if (/^\d+$/.test(number) && BigInt(number) > highest) highest = BigInt(number);
  }
  return prefix + String(highest + 1n).padStart(digits, "0");
}

async function create(args: Arguments, context: ToolContext, deps: LocalBoardDeps): Promise<object> {
  refuseExtras(args, ["title", "state", "body"]);
  const title = oneLine(args.title ?? "");
  if (title === "") throw new Refusal('create needs a "title"');
  const state = knownState(args.state ?? deps.firstState, [deps.firstState, ...deps.states]);
  const createdAt = new Date(deps.clock.now()).toISOString();
  const text = composeTicket({ title, state, createdAt, description: args.body ?? "" });
  for (let tries = 0; tries < MAX_CREATE_TRIES; tries += 1) {
    const identifier = nextIdentifier(context.issue.identifier, await deps.board.list(context.signal));
    const path = deps.board.pathOf(identifier);
    if (path === null) throw new Refusal(`a ticket can't be named "${identifier}"`);
    context.signal.throwIfAborted();
    if (await createFile(path, text)) return { identifier, title, state };
  }
  throw new Refusal(`no free identifier was found in ${MAX_CREATE_TRIES} tries; try again`);
}

function run(args: Arguments, context: ToolContext, deps: LocalBoardDeps): Promise<object> {
  switch (args.action) {
    case "get":
      return get(args, context, deps);
    case "comment":
      return comment(args, context, deps);
    case "move":
      return move(args, context, deps);
    case "create":
      return create(args, context, deps);
    default:
      return assertNever(args.action);
  }
}

function failureCode(error: unknown): string {
  return error instanceof AppError ? error.code : "tracker_request";
}

function failure(error: unknown): ToolResult {
  const code = error instanceof Refusal ? "invalid_arguments" : failureCode(error);
  return { success: false, text: JSON.stringify({ error: { code, message: errorMessage(error) } }) };
}

/** The tool, bound to one board and one set of states. */
export function createLocalBoardTool(deps: LocalBoardDeps): Tool {
  return {
    name: "local_board",
    description:
      "Reads and changes the ticket board that this work comes from. get: one ticket with its description, comments and the states " +
      "there are. comment: adds a comment to a ticket. move: puts a ticket into another state. create: makes a new ticket.",
    inputSchema: declaredSchema(argumentsSchema),
    canChange(args) {
      const parsed = argumentsSchema.safeParse(args);
      return parsed.success && parsed.data.action !== "get";
    },
    async call(args, context) {
      try {
        return { success: true, text: JSON.stringify(await run(parseArguments(args), context, deps), null, 2) };
      } catch (error) {
        return failure(error);
      }
    },
  };
}
