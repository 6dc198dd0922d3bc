/** The whole terminal as a page that is painted anew: left as it was found. */
import type { ReadStream, WriteStream } from "node:tty";
import { cutText } from "./terminal-text.ts";

const ENTER = "\u001b[?1049h\u001b[?25l";
const LEAVE = "\u001b[?25h\u001b[?1049l";
const HOME = "\u001b[H";
const CLEAR_LINE = "\u001b[K";
const CLEAR_BELOW = "\u001b[J";
const UNKNOWN_ROWS = 24;
const UNKNOWN_COLUMNS = 80;
const CTRL_C = "\u0003";

/** Something that can be painted on. */
export type Paper = Pick<WriteStream, "write" | "columns" | "rows">;

export class Screen implements Disposable {
  readonly #paper: Paper;

  constructor(paper: Paper) {
    this.#paper = paper;
    paper.write(ENTER);
  }

  /** Lines that are safe for a terminal; the last one stays at the bottom, whatever else has to give way. */
  paint(lines: readonly string[], bottom: string): void {
    // A terminal that doesn't know its size says 0.
    const rows = this.#paper.rows || UNKNOWN_ROWS;
    const columns = this.#paper.columns || UNKNOWN_COLUMNS;
    const room = Math.max(0, rows - 1);
    const more = lines.length - room;
    const shown = more <= 0 ? lines : [...lines.slice(0, room - 1), `... and ${more + 1} lines more`];
    const page = [...shown, ...Array.from({ length: room - shown.length }, () => ""), bottom];
    const text = page.map((line) => `${cutText(line, columns - 1)}${CLEAR_LINE}`).join("\r\n");
    this.#paper.write(`${HOME}${text}${CLEAR_BELOW}`);
  }

  [Symbol.dispose](): void {
    this.#paper.write(LEAVE);
  }
}

/** Calls `quit` when q or Ctrl-C is pressed, until it is disposed. */
export function listenForQuit(keys: ReadStream, quit: () => void): Disposable {
  const onData = (chunk: Buffer): void => {
    const text = chunk.toString("utf8");
    if (text.includes("q") || text.includes(CTRL_C)) quit();
  };
  keys.setRawMode(true);
  keys.on("data", onData);
  keys.resume();
  return {
    [Symbol.dispose]: () => {
      keys.off("data", onData);
      keys.setRawMode(false);
      keys.pause();
    },
  };
}
