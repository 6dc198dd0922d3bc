/** The one shape of an error answer: `{"error": {"code", "message"}}` (section 13.7). */
import type { Context } from "hono";
import type { ContentfulStatusCode } from "hono/utils/http-status";

export type ApiErrorCode =
  | "issue_not_found"
  | "not_found"
  | "method_not_allowed"
  | "unauthorized"
  | "forbidden"
  | "bad_request"
  | "unavailable"
  | "timeout"
  | "internal";

/** Answers with the envelope. */
export function apiError(
  context: Context,
  status: ContentfulStatusCode,
  code: ApiErrorCode,
  message: string,
): Response {
  return context.json({ error: { code, message } }, status);
}
