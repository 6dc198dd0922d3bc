/** Reads one Markdown ticket: YAML front matter, a description, and comments under their heading. Pure: text in, ticket out. */
import { Composer, isMap, isScalar, LineCounter, Parser, type CST, type Document, type YAMLMap } from "yaml";
import { z } from "zod";

import { errorMessage } from "../../domain/errors.ts";
import { layoutOf, oneLine, unquote } from "./markdown.ts";

/** One comment, oldest first in a ticket. `at` and `author` are null where a person wrote without a heading of our form. */
export interface Comment {
  readonly at: string | null;
  readonly author: string | null;
  readonly text: string;
}

/** What a ticket file says, with nothing filled in from elsewhere. */
export interface Ticket {
  readonly title: string;
  readonly state: string;
  readonly priority: number | null;
  readonly labels: readonly string[];
  /** Identifiers of other tickets on the same board. */
  readonly blockedBy: readonly string[];
  /** RFC 3339, or null where the file doesn't say. */
  readonly createdAt: string | null;
  readonly url: string | null;
  readonly branchName: string | null;
  readonly assigneeId: string | null;
  /** The body without its comments, trimmed, with line feeds; null when it is blank. */
  readonly description: string | null;
  readonly comments: readonly Comment[];
}

/** Why a file is no ticket. `line` counts from 1 in the whole file. */
export interface TicketProblem {
  readonly line: number;
  readonly reason: string;
}

interface NoTicket {
  readonly ok: false;
  readonly problem: TicketProblem;
}

export type ParsedTicket = { readonly ok: true; readonly ticket: Ticket } | NoTicket;

/** A ticket's text cut into pieces that, joined, give the text again. */
export interface TicketPieces {
  /** Byte order mark and opening `---` line. */
  readonly open: string;
  readonly yaml: string;
  /** The closing `---` line. */
  readonly close: string;
  readonly body: string;
}

/** A larger file is no ticket: the text becomes a prompt, and every tick may read it. */
export const MAX_TICKET_BYTES = 1_048_576;

const OPEN = /^\uFEFF?---[ \t]*\r?\n/;
const CLOSE = /^(?:---|\.\.\.)[ \t]*(?:\r?\n|$)/m;
/** Front matter starts on the file's second line. */
const YAML_FIRST_LINE = 2;
/** Aliases may repeat a value, not multiply it without end. */
const MAX_ALIASES = 100;
const COMMENT_HEADING = /^###[ \t]+(\S+) by (.+)$/;
const INSTANT = /^(\d{4}-\d{2}-\d{2})(?:[Tt ](\d{2}:\d{2}(?::\d{2}(?:\.\d+)?)?) ?([Zz]|[+-]\d{2}:\d{2}))?$/;

/** Null when the text has no front matter. */
export function splitTicket(text: string): TicketPieces | null {
  const open = OPEN.exec(text)?.[0];
  if (open === undefined) return null;
  const rest = text.slice(open.length);
  const close = CLOSE.exec(rest);
  if (close === null) return null;
  const bodyStart = close.index + close[0].length;
  return { open, yaml: rest.slice(0, close.index), close: close[0], body: rest.slice(bodyStart) };
}

/** Front matter with the tokens it came from, so that an edit can put one value in place and leave every other byte alone. */
export interface FrontMatter {
  readonly document: Document;
  readonly tokens: readonly CST.Token[];
  readonly lines: LineCounter;
}

/** Every scalar stays the text that stands in the file (YAML's failsafe schema): `title: 404` is a title, `007` keeps its zeros. */
export function readFrontMatter(yaml: string): FrontMatter {
  const lines = new LineCounter();
  const tokens = [...new Parser(lines.addNewLine).parse(yaml)];
  const composer = new Composer({ keepSourceTokens: true, schema: "failsafe", lineCounter: lines });
  const [document] = [...composer.compose(tokens, true, yaml.length)];
  if (document === undefined) throw new Error("a YAML stream always holds a document when it is forced to");
  return { document, tokens, lines };
}

function toInstant(value: string): string | null {
  const match = INSTANT.exec(value);
  if (match === null) return null;
  const [, day, time, zone] = match;
  const epochMs = Date.parse(time === undefined ? `${day}T00:00Z` : `${day}T${time}${zone?.toUpperCase()}`);
  return Number.isNaN(epochMs) ? null : new Date(epochMs).toISOString();
}

/** In the failsafe schema a null is the text that stands for one. */
function nullable(value: unknown): unknown {
  return value === undefined || value === null || value === "" || value === "~" || value === "null" ? null : value;
}

const text = z.string("must be text");
const required = z.preprocess(
  nullable,
  z.string("is missing; give it a value").transform(oneLine).pipe(z.string().min(1, "is blank; give it a value")),
);
const optional = z.preprocess(nullable, text.transform(oneLine).nullable());
const list = z.preprocess((value) => nullable(value) ?? [], z.array(text.trim(), "must be a list, such as [a, b]"));

const frontMatterSchema = z.object({
  title: required,
  state: required,
  priority: z.preprocess(
    nullable,
    z
      .string("must be a whole number, 1 (urgent) to 4 (low), or nothing")
      .regex(/^[+-]?\d{1,9}$/, "must be a whole number, 1 (urgent) to 4 (low), or nothing")
      .transform(Number)
      .nullable(),
  ),
  labels: list,
  blocked_by: list,
  created_at: z.preprocess(
    nullable,
    z
      .string("must be a time such as 2026-11-30T09:00:00Z")
      .transform((value, context) => {
        const instant = toInstant(value.trim());
        if (instant === null) context.addIssue("must be a day, or a time with its zone such as 2026-11-30T09:00:00Z");
        return instant;
      })
      .nullable(),
  ),
  url: optional,
  branch_name: optional,
  assignee_id: optional,
});

function problemAt(line: number, reason: string): NoTicket {
  return { ok: false, problem: { line, reason } };
}

/** The line of `key`, or of the front matter's first line when the key isn't there. */
function lineOfKey(map: YAMLMap, key: string, lines: LineCounter): number {
  const pair = map.items.find((item) => isScalar(item.key) && item.key.value === key);
  const offset = isScalar(pair?.key) ? pair.key.range?.[0] : undefined;
  return offset === undefined ? YAML_FIRST_LINE : lines.linePos(offset).line + YAML_FIRST_LINE - 1;
}

type FrontMatterValues = z.output<typeof frontMatterSchema>;

function parseFrontMatter(yaml: string): { readonly ok: true; readonly values: FrontMatterValues } | NoTicket {
  const { document, lines } = readFrontMatter(yaml);
  const [fault] = document.errors;
  if (fault !== undefined) {
    const line = lines.linePos(fault.pos[0]).line + YAML_FIRST_LINE - 1;
    return problemAt(line, fault.message.split(" at line ")[0] ?? fault.message);
  }
  const map = document.contents;
  if (!isMap(map)) {
    return problemAt(YAML_FIRST_LINE, "the front matter is no list of keys; write lines such as `title: ...`");
  }
  let raw: unknown;
  try {
    raw = document.toJS({ maxAliasCount: MAX_ALIASES });
  } catch (error) {
    return problemAt(YAML_FIRST_LINE, errorMessage(error));
  }
  const parsed = frontMatterSchema.safeParse(raw);
  if (parsed.success) return { ok: true, values: parsed.data };
  const [issue] = parsed.error.issues;
  const key = String(issue?.path[0] ?? "");
  return problemAt(lineOfKey(map, key, lines), `${key} ${issue?.message ?? "is not understood"}`);
}

/** Reads comments from the section's text, heading line included. */
function parseComments(section: string): Comment[] {
  const comments: { at: string | null; author: string | null; lines: string[] }[] = [];
  let current = { at: null as string | null, author: null as string | null, lines: [] as string[] };
  comments.push(current);
  for (const line of section.split("\n").slice(1)) {
    if (/^###(?:[ \t]|$)/.test(line)) {
      const [, at, author] = COMMENT_HEADING.exec(line) ?? [];
      const ours = at !== undefined && author !== undefined && toInstant(at) !== null;
      current = ours
        ? { at: toInstant(at), author: author.trim(), lines: [] }
        : { at: null, author: null, lines: [line] };
      comments.push(current);
    } else {
      current.lines.push(line);
    }
  }
  return comments
    .map(({ at, author, lines }) => ({ at, author, text: unquote(lines.join("\n").trim()) }))
    .filter((comment) => comment.text !== "" || comment.author !== null);
}

function parseBody(raw: string): { description: string | null; comments: Comment[] } {
  const body = raw.replace(/\r\n?/g, "\n");
  const { comments } = layoutOf(body);
  if (comments === null) return { description: body.trim() || null, comments: [] };
  const around = [body.slice(0, comments.start), body.slice(comments.end)].map((part) => part.trim()).filter(Boolean);
  return {
    description: around.join("\n\n") || null,
    comments: parseComments(body.slice(comments.start, comments.end)),
  };
}

/** Reads a ticket's text. Never throws: what isn't a ticket is a problem with its line. */
export function parseTicket(source: string): ParsedTicket {
  const pieces = splitTicket(source);
  if (pieces === null) {
    return problemAt(
      1,
      "there is no front matter; begin the file with a `---` line, keys such as `title`, and another `---` line",
    );
  }
  const front = parseFrontMatter(pieces.yaml);
  if (!front.ok) return front;
  const { values } = front;
  const { description, comments } = parseBody(pieces.body);
  const ticket: Ticket = {
    title: values.title,
    state: values.state,
    priority: values.priority,
    labels: values.labels,
    blockedBy: [...new Set(values.blocked_by.filter((name) => name !== ""))],
    createdAt: values.created_at,
    url: values.url,
    branchName: values.branch_name,
    assigneeId: values.assignee_id,
    description,
    comments,
  };
  return { ok: true, ticket };
}
