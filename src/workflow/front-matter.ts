/** Splits WORKFLOW.md into its YAML front matter and its prompt body; what the YAML says is front-matter-yaml.ts's matter. */
import { AppError } from "../domain/errors.ts";

/** The two parts of a WORKFLOW.md, as text. */
export interface SplitWorkflow {
  /** The lines between the fences, without them; null when the file has no front matter. */
  readonly yaml: string | null;
  /** Line of the file (from 1) on which `yaml` begins. */
  readonly yamlLine: number;
  /** What follows the front matter, trimmed. */
  readonly body: string;
  /** Line of the file (from 1) on which `body` begins. */
  readonly bodyLine: number;
}

/** A fence stands alone on its line, from the first column; blanks behind it don't show and don't count. */
const FENCE = /^---[ \t]*$/;

const BYTE_ORDER_MARK = "\uFEFF";

function parseError(path: string, line: number, problem: string): AppError {
  return new AppError("workflow_parse_error", `${path}:${line}: ${problem}`, { path, line });
}

/**
 * Front matter is there when line 1 is `---` (section 5.2), and lasts to the next such line; any later one belongs to the body.
 * Throws `workflow_parse_error` for a fence that is never closed, and for one that blank lines push off line 1.
 */
export function splitWorkflow(path: string, text: string): SplitWorkflow {
  const unmarked = text.startsWith(BYTE_ORDER_MARK) ? text.slice(BYTE_ORDER_MARK.length) : text;
  const lines = unmarked.split(/\r\n|\n|\r/);
  const opening = lines.findIndex((line) => line.trim() !== "");
  if (opening === -1 || !FENCE.test(lines[opening] ?? "")) return { yaml: null, yamlLine: 1, ...bodyFrom(lines, 0) };
  if (opening > 0) {
    throw parseError(path, opening + 1, "front matter must begin on line 1; remove the blank lines before its ---");
  }
  const closing = lines.findIndex((line, index) => index > 0 && FENCE.test(line));
  if (closing === -1) {
    throw parseError(path, 1, "the front matter is never closed; end it with a line that holds only ---");
  }
  return { yaml: lines.slice(1, closing).join("\n"), yamlLine: 2, ...bodyFrom(lines, closing + 1) };
}

function bodyFrom(lines: readonly string[], start: number): Pick<SplitWorkflow, "body" | "bodyLine"> {
  const rest = lines.slice(start);
  const blank = rest.findIndex((line) => line.trim() !== "");
  return { body: rest.join("\n").trim(), bodyLine: start + 1 + Math.max(blank, 0) };
}
