/** How a demo is seen while it goes on: a table that is painted anew on a terminal, plain lines anywhere else. */
import type { WriteStream } from "node:tty";
import { describeTicket, type TicketView } from "./demo-progress.ts";
import { showCount } from "./figures.ts";
import { tableLines, type Column } from "./table.ts";
import { cutText, plainLine } from "./terminal-text.ts";

/** Where a demo's course is shown. */
export interface DemoView {
  /** One ticket's claim has changed. */
  change(identifier: string, text: string): void;
  /** Something about the whole demo. */
  note(text: string): void;
  /** All tickets as they are now. */
  paint(tickets: readonly TicketView[], now: number): void;
  /** Whether it wants to be painted as time goes by. */
  readonly ticks: boolean;
  /** Leaves the terminal as it was found. */
  close(): void;
}

/** A title's share of the line, and what is left of a narrow terminal's. */
const TITLE_WIDTH = { most: 48, least: 16 } as const;
/** What the other columns take, with some room for what is going on. */
const OTHERS_WIDTH = 84;

/** Columns of ticket tables, without what is going on. */
function columnsFor(width: number): readonly Column[] {
  const titleWidth = Math.min(Math.max(width - OTHERS_WIDTH, TITLE_WIDTH.least), TITLE_WIDTH.most);
  return [
    { title: "TICKET", maxWidth: 16 },
    { title: "TITLE", maxWidth: titleWidth },
    { title: "PRIO", align: "right" },
    { title: "STATE", maxWidth: 16 },
    { title: "RUNS", align: "right" },
    { title: "TURNS", align: "right" },
    { title: "TOKENS", align: "right" },
  ];
}

function cells(ticket: TicketView): readonly string[] {
  return [
    ticket.identifier,
    ticket.title,
    ticket.priority === null ? "-" : String(ticket.priority),
    ticket.state,
    showCount(ticket.runs),
    showCount(ticket.turns),
    showCount(ticket.tokens),
  ];
}

/** The table at the end. */
export function ticketLines(tickets: readonly TicketView[]): readonly string[] {
  return tableLines(columnsFor(Infinity), tickets.map(cells));
}

/** Fewer rows than this can't hold the table without scrolling. */
const MIN_ROWS = 12;

/** Chooses by what the stream is. */
export function createDemoView(
  stream: NodeJS.WriteStream,
  env: Readonly<Record<string, string | undefined>>,
): DemoView {
  const paintable = stream.isTTY && env["TERM"] !== "dumb" && stream.rows >= MIN_ROWS;
  return paintable ? new PaintedView(stream) : plainView(stream);
}

function plainView(stream: NodeJS.WritableStream): DemoView {
  return {
    change: (identifier, text) => void stream.write(`${identifier}  ${plainLine(text)}\n`),
    note: (text) => void stream.write(`${plainLine(text)}\n`),
    paint: () => undefined,
    ticks: false,
    close: () => undefined,
  };
}

const HIDE_CURSOR = "\u001b[?25l";
const SHOW_CURSOR = "\u001b[?25h";
const CLEAR_BELOW = "\u001b[J";

function upBy(lines: number): string {
  return lines === 0 ? "" : `\u001b[${lines}A`;
}

/** Notes scroll away above; below them stands the table. */
class PaintedView implements DemoView {
  readonly ticks = true;
  readonly #stream: WriteStream;
  #painted: readonly string[] = [];

  constructor(stream: WriteStream) {
    this.#stream = stream;
    stream.write(HIDE_CURSOR);
  }

  change(): void {
    // The table says it.
  }

  note(text: string): void {
    this.#repaint([plainLine(text)], this.#painted);
  }

  paint(tickets: readonly TicketView[], now: number): void {
    const columns: readonly Column[] = [...columnsFor(this.#stream.columns), { title: "NOW" }];
    const rows = tickets.map((ticket) => [...cells(ticket), describeTicket(ticket, now)]);
    // A line that wraps would be two lines, and the way back up one short.
    const lines = tableLines(columns, rows).map((line) => cutText(line, this.#stream.columns - 1));
    this.#repaint([], lines);
  }

  close(): void {
    this.#repaint([], []);
    this.#stream.write(SHOW_CURSOR);
  }

  #repaint(above: readonly string[], lines: readonly string[]): void {
    const text = [...above, ...lines].map((line) => `${line}\n`).join("");
    this.#stream.write(`${upBy(this.#painted.length)}\r${CLEAR_BELOW}${text}`);
    this.#painted = lines;
  }
}
