/** Writing a command's answer: to stdout, which nothing else uses. A reader that goes away is no error (bin.ts). */
import { plainJson } from "./terminal-text.ts";

/** Each on a line of its own. */
export function printLines(lines: readonly string[]): void {
  if (lines.length > 0) process.stdout.write(`${lines.join("\n")}\n`);
}

/** One JSON value on one line, and nothing else. */
export function printJson(value: unknown): void {
  printLines([plainJson(value)]);
}
