/** A real pino logger whose lines a test can read. */
import { Writable } from "node:stream";

import { pino } from "pino";

import type { Log } from "../../src/lib/log.ts";

/** The logger and what it has written so far, parsed and raw. */
export interface CapturedLog {
  readonly log: Log;
  /** Raw JSON lines of `warn` and above, oldest first. */
  warnings(): readonly string[];
  /** Every raw JSON line, oldest first. */
  lines(): readonly string[];
}

const WARN_LEVEL = 40;

/** Logs everything from `trace` up into memory. */
export function captureLog(): CapturedLog {
  const lines: string[] = [];
  const sink = new Writable({
    write(chunk: Buffer, _encoding, done) {
      lines.push(...chunk.toString("utf8").split("\n").filter(Boolean));
      done();
    },
  });
  return {
    log: pino({ level: "trace" }, sink),
    lines: () => lines,
    warnings: () => lines.filter((line) => (JSON.parse(line) as { level: number }).level >= WARN_LEVEL),
  };
}
