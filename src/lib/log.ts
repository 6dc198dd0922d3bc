/** Logging set-up: pino, JSON lines on stderr, secrets redacted, and a broken sink never stops the daemon. */
import { pino, stdTimeFunctions, type Logger } from "pino";
import { LineWriter, stderrTarget } from "./line-writer.ts";
import { prettyLine, type LogRecord } from "./pretty-line.ts";
import { Redactor } from "./redact.ts";
import { openRotatingFile, type LogFile } from "./rotating-file.ts";

/** The slice of pino's logger that the project uses. */
export type Log = Pick<Logger, "trace" | "debug" | "info" | "warn" | "error" | "child">;

/** A log that can still learn what must never be in it. */
export interface SecretLog extends Log {
  /** From now on these values are redacted, wherever they stand and whichever child logs them. */
  addSecrets(values: readonly string[]): void;
}

/** A process's one log. */
export interface RootLog extends SecretLog {
  /** Also writes JSON lines to a file. Throws the file system's error when it can't be opened. */
  addFile(file: LogFile): void;
  /** Resolves when all is written, or a second has passed. A process that ends without it writes what it can. */
  close(): Promise<void>;
}

/** From the chattiest to none. */
export type LogLevel = "trace" | "debug" | "info" | "warn" | "error" | "silent";

export interface LogOptions {
  readonly level: LogLevel;
  /** JSON lines for machines, `key=value` one-liners for a terminal, nothing where a command paints the terminal itself. */
  readonly stderr: "json" | "pretty" | "off";
  /** Colours in the pretty form. */
  readonly colour?: boolean;
}

/** A form of the log and where it goes. */
interface Sink {
  readonly format: (record: LogRecord) => string;
  readonly writer: LineWriter;
}

function createSink(format: (record: LogRecord) => string, target: ConstructorParameters<typeof LineWriter>[0]): Sink {
  const loss = (lines: number): string =>
    format({ level: "warn", time: new Date().toISOString(), lines, msg: "log lines were lost" });
  return { format, writer: new LineWriter(target, loss) };
}

function jsonLine(record: LogRecord): string {
  return `${JSON.stringify(record)}\n`;
}

/** Opens the process's log. */
export function createLog(options: LogOptions): RootLog {
  const redactor = new Redactor();
  const sinks: Sink[] = [];
  const { stderr, level, colour = false } = options;
  if (stderr === "json") sinks.push(createSink(jsonLine, stderrTarget()));
  if (stderr === "pretty") sinks.push(createSink((record) => `${prettyLine(record, colour)}\n`, stderrTarget()));

  /** Redaction works on the values of the finished record: whatever an error or a child brought along is in it by now. */
  function write(line: string): void {
    const record = redactor.value(JSON.parse(line)) as LogRecord;
    for (const sink of sinks) sink.writer.write(sink.format(record));
  }

  const logger = pino(
    { level, base: null, timestamp: stdTimeFunctions.isoTime, formatters: { level: (label) => ({ level: label }) } },
    { write },
  );
  return Object.assign(logger, {
    addSecrets: (values: readonly string[]) => redactor.add(values),
    addFile: (file: LogFile) => void sinks.push(createSink(jsonLine, openRotatingFile(file))),
    close: async () => {
      await Promise.all(sinks.map((sink) => sink.writer.close()));
    },
  });
}
