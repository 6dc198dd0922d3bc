/** A log record as one line for a person at a terminal. */
import { styleText } from "node:util";

/** A parsed log line: `level`, `time` and `msg`, then the fields. */
export type LogRecord = Readonly<Record<string, unknown>>;

const COLOURS: Readonly<Record<string, Parameters<typeof styleText>[0]>> = {
  trace: "gray",
  debug: "gray",
  info: "green",
  warn: "yellow",
  error: "red",
};

/** Values that need no quotes. */
const PLAIN = /^[\p{L}\p{N}._:/@+-]+$/u;

/** Control and format characters: text of tickets and agents must not steer a terminal. */
const UNPRINTABLE = /[\p{Cc}\p{Cf}\p{Zl}\p{Zp}]/gu;

function printable(text: string): string {
  return text.replaceAll(UNPRINTABLE, (char) => `\\u{${char.codePointAt(0)?.toString(16) ?? ""}}`);
}

/** An error's type and message; its stack is in the JSON form. */
function describeError(error: object): string | null {
  if (!("message" in error) || !("stack" in error)) return null;
  const type = "type" in error && typeof error.type === "string" ? `${error.type}: ` : "";
  return `${type}${String(error.message)}`;
}

function describe(value: unknown): string {
  if (typeof value === "string") return PLAIN.test(value) ? value : JSON.stringify(value);
  if (typeof value === "object" && value !== null) return JSON.stringify(describeError(value) ?? value);
  return String(value);
}

/** `09:30:00 WARN run stalled issue_identifier=ENG-7`, in local time, without a newline. */
export function prettyLine(record: LogRecord, colour: boolean): string {
  const { level, time, msg, ...fields } = record;
  const name = String(level);
  const at = new Date(String(time)).toTimeString().slice(0, 8);
  const label = name.toUpperCase().padEnd(5);
  const rest = Object.entries(fields).map(([key, value]) => ` ${key}=${describe(value)}`);
  // validateStream: whether colours are wanted was decided by the caller, for its own stream.
  const paint = (text: string): string =>
    colour ? styleText(COLOURS[name] ?? "white", text, { validateStream: false }) : text;
  return `${at} ${paint(label)} ${printable((typeof msg === "string" ? msg : "") + rest.join(""))}`;
}
