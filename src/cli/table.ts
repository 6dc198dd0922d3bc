/** Plain aligned tables for people: no frames, no colours, one line a row. */
import { cutText, plainLine, textWidth } from "./terminal-text.ts";

/** One column; numbers stand to the right. */
export interface Column {
  readonly title: string;
  readonly align?: "left" | "right";
  /** Columns at most; longer values are cut. */
  readonly maxWidth?: number;
}

/** Between two columns. */
const GAP = "  ";

/** Lines of the table, titles first. A cell may hold any text; what a terminal would obey is shown as its code. */
export function tableLines(columns: readonly Column[], rows: readonly (readonly string[])[]): readonly string[] {
  const cells = rows.map((row) => columns.map((column, index) => fit(row[index] ?? "", column)));
  const titles = columns.map((column) => column.title);
  const widths = columns.map((column, index) =>
    Math.max(textWidth(column.title), ...cells.map((row) => textWidth(row[index] ?? ""))),
  );
  return [titles, ...cells].map((row) =>
    row
      .map((cell, index) => pad(cell, widths[index] ?? 0, columns[index]?.align ?? "left"))
      .join(GAP)
      .trimEnd(),
  );
}

function fit(text: string, column: Column): string {
  const line = plainLine(text);
  return column.maxWidth === undefined ? line : cutText(line, column.maxWidth);
}

function pad(text: string, width: number, align: "left" | "right"): string {
  const blanks = " ".repeat(Math.max(0, width - textWidth(text)));
  return align === "left" ? text + blanks : blanks + text;
}
