/** Logging set-up: pino, JSON lines on stderr, known secret values redacted, a broken sink never stops the daemon. */
import type { Logger } from "pino";

/** The slice of pino's logger that the project uses. */
export type Log = Pick<Logger, "trace" | "debug" | "info" | "warn" | "error" | "child">;
