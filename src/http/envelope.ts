/** The one shape of an error answer: `{"error": {"code", "message"}}` (section 13.7). */
import type { Context } from "hono";
import type { ContentfulStatusCode } from "hono/utils/http-status";
import { z } from "zod";

const ERROR_CODES = [
  "issue_not_found",
  "run_not_found",
  "not_found",
  "method_not_allowed",
  "unauthorized",
  "forbidden",
  "bad_request",
  "unsupported_media_type",
  "too_large",
  "too_many_streams",
  "unavailable",
  "timeout",
  // What the scheduler says to a command that it refuses.
  "issue_not_claimed",
  "question_gone",
  "already_answered",
  "not_running",
  "is_running",
  "is_blocked",
  "is_cleaning",
  "is_stopping",
  "bad_text",
  "daemon_starting",
  "daemon_stopping",
  "ledger_unavailable",
] as const;

export type ApiErrorCode = (typeof ERROR_CODES)[number];

/** Every answer with a status from 400. */
export const errorSchema = z.strictObject({
  error: z.strictObject({ code: z.enum(ERROR_CODES), message: z.string() }),
});

/** Thrown by a handler, and answered as it says. */
export class ApiError extends Error {
  override readonly name = "ApiError";
  readonly status: ContentfulStatusCode;
  readonly code: ApiErrorCode;

  constructor(status: ContentfulStatusCode, code: ApiErrorCode, message: string, options?: ErrorOptions) {
    super(message, options);
    this.status = status;
    this.code = code;
  }
}

/** Answers with the envelope. */
export function apiError(
  context: Context,
  status: ContentfulStatusCode,
  code: ApiErrorCode,
  message: string,
): Response {
  return context.json({ error: { code, message } }, status);
}
