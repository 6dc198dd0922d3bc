/** Changes a ticket's text and nothing else in it: people's formatting, YAML comments and line ends stay. Pure: text in, text out. */
import { isDeepStrictEqual } from "node:util";
import { CST, isMap, isNode, stringify } from "yaml";

import { AppError } from "../../domain/errors.ts";
import { layoutOf, oneLine, plainText, quote, safeDescription } from "./markdown.ts";
import {
  MAX_TICKET_BYTES,
  parseTicket,
  readFrontMatter,
  splitTicket,
  type Ticket,
  type TicketPieces,
} from "./ticket-file.ts";

/** A comment to be added. */
export interface NewComment {
  /** RFC 3339. */
  readonly at: string;
  readonly author: string;
  readonly text: string;
}

/** A ticket to be made. */
export interface NewTicket {
  readonly title: string;
  readonly state: string;
  /** RFC 3339. */
  readonly createdAt: string;
  readonly description: string;
}

interface Parts {
  readonly pieces: TicketPieces;
  readonly ticket: Ticket;
}

function take(source: string): Parts {
  const parsed = parseTicket(source);
  const pieces = splitTicket(source);
  if (!parsed.ok || pieces === null) {
    const { line, reason } = parsed.ok ? { line: 1, reason: "there is no front matter" } : parsed.problem;
    throw new AppError(
      "tracker_response",
      `the ticket can't be changed while it is malformed: line ${line}: ${reason}`,
      { line },
    );
  }
  return { pieces, ticket: parsed.ticket };
}

function join(pieces: TicketPieces): string {
  return pieces.open + pieces.yaml + pieces.close + pieces.body;
}

/** The line end that the ticket's first line has. */
function lineEnd(pieces: TicketPieces): string {
  return pieces.open.endsWith("\r\n") ? "\r\n" : "\n";
}

/** Refuses an edit whose result doesn't read back as exactly what was meant, so that a strange file is left alone. */
function checked(result: string, expected: Ticket): string {
  const bytes = Buffer.byteLength(result);
  if (bytes > MAX_TICKET_BYTES) {
    throw new AppError(
      "tracker_response",
      `the ticket would grow to ${bytes} bytes; the limit is ${MAX_TICKET_BYTES}`,
      { bytes },
    );
  }
  const parsed = parseTicket(result);
  if (!parsed.ok || !isDeepStrictEqual(parsed.ticket, expected)) {
    throw new AppError(
      "tracker_response",
      "the ticket is written in a way that can't be changed safely; edit it by hand",
    );
  }
  return result;
}

/**
 * Writes the creation time down where the file doesn't say: an edit replaces the file, and its birth time goes with the old one.
 * Left out where a line can't simply be added, as in `{title: a, state: b}`.
 */
function keepCreatedAt(parts: Parts, createdAt: string): Parts {
  if (parts.ticket.createdAt !== null) return parts;
  const { pieces } = parts;
  const eol = lineEnd(pieces);
  const pieced = { ...pieces, yaml: `${pieces.yaml}${newLineAfter(pieces.yaml, eol)}created_at: ${createdAt}${eol}` };
  const parsed = parseTicket(join(pieced));
  const ticket = { ...parts.ticket, createdAt };
  return parsed.ok && isDeepStrictEqual(parsed.ticket, ticket) ? { pieces: pieced, ticket } : parts;
}

/** Ends a code fence that the body leaves open, which would swallow whatever comes behind it. */
function closeFence(parts: Parts): Parts {
  const { pieces } = parts;
  const { comments, openFence } = layoutOf(pieces.body);
  const isPastTheComments = comments !== null && comments.end < pieces.body.length;
  if (openFence === null || isPastTheComments) return parts;
  const eol = lineEnd(pieces);
  const body = `${pieces.body}${newLineAfter(pieces.body, eol)}${openFence}${eol}`;
  return take(join({ ...pieces, body }));
}

/** The line end that `text` lacks, if it lacks one. */
function newLineAfter(text: string, eol: string): string {
  return text === "" || text.endsWith("\n") ? "" : eol;
}

/** The line ends that make the next line follow a blank one. */
function blankLineAfter(text: string, eol: string): string {
  if (/\n\r?\n$/.test(text)) return "";
  return newLineAfter(text, eol) + eol;
}

/**
 * The ticket in another state. `createdAt` is noted in the front matter if that has no time yet.
 * Throws AppError tracker_response for a malformed ticket, or one that can't be changed safely.
 */
export function withState(source: string, state: string, createdAt: string): string {
  const { pieces, ticket } = keepCreatedAt(take(source), createdAt);
  const { document, tokens } = readFrontMatter(pieces.yaml);
  const node = isMap(document.contents) ? document.contents.get("state", true) : undefined;
  const token = isNode(node) ? node.srcToken : undefined;
  if (token === undefined) {
    throw new AppError("tracker_response", "the ticket's state can't be found in its front matter");
  }
  CST.setScalarValue(token, state, token.type === "block-scalar" ? { type: "PLAIN" } : {});
  const yaml = tokens.map((part) => CST.stringify(part)).join("");
  return checked(join({ ...pieces, yaml }), { ...ticket, state });
}

/**
 * The ticket with one more comment, quoted so that its text can't pass for anything else in the file.
 * Throws AppError tracker_response like {@link withState}.
 */
export function withComment(source: string, comment: NewComment, createdAt: string): string {
  const { pieces, ticket } = closeFence(keepCreatedAt(take(source), createdAt));
  const eol = lineEnd(pieces);
  const { comments } = layoutOf(pieces.body);
  const before = pieces.body.slice(0, comments?.end);
  const after = pieces.body.slice(before.length);
  const author = oneLine(comment.author);
  const lines = [
    ...(comments === null ? ["## Comments", ""] : []),
    `### ${comment.at} by ${author}`,
    "",
    ...quote(comment.text).split("\n"),
    ...(after === "" ? [] : [""]),
  ];
  const body = before + blankLineAfter(before, eol) + lines.map((line) => line + eol).join("") + after;
  const close = pieces.close + newLineAfter(pieces.close, eol);
  return checked(join({ ...pieces, close, body }), {
    ...ticket,
    comments: [...ticket.comments, { at: comment.at, author, text: plainText(comment.text) }],
  });
}

/** The text of a new ticket. */
export function composeTicket(ticket: NewTicket): string {
  const front = stringify(
    { title: oneLine(ticket.title), state: ticket.state, created_at: ticket.createdAt },
    { lineWidth: 0, defaultKeyType: "PLAIN" },
  );
  const description = safeDescription(ticket.description).trim();
  return `---\n${front}---\n${description === "" ? "" : `\n${description}\n`}`;
}
