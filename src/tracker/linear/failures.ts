/** What an answer that carries no complete data means: one of the tracker's error categories, decided by Linear's codes before the status. */
import { z } from "zod";

import { AppError, isAppError } from "../../domain/errors.ts";
import type { HeaderReader } from "./budget.ts";

/** Whatever came back over HTTP: the parsed body where it was JSON, else its text. */
export interface Exchange {
  readonly status: number;
  readonly headers: HeaderReader;
  readonly body: ExchangeBody;
}

export type ExchangeBody =
  | { readonly kind: "json"; readonly data: unknown; readonly errors: readonly unknown[] }
  | { readonly kind: "text"; readonly text: string };

const wireError = z.object({
  message: z.string().catch("no message"),
  extensions: z
    .object({
      code: z.string().optional().catch(undefined),
      type: z.string().optional().catch(undefined),
      userPresentableMessage: z.string().optional().catch(undefined),
    })
    .catch({}),
});

type WireError = z.infer<typeof wireError>;

function readErrors(body: ExchangeBody): readonly WireError[] {
  if (body.kind === "text") return [];
  return body.errors.map((error) => {
    const parsed = wireError.safeParse(error);
    return parsed.success ? parsed.data : { message: String(error), extensions: {} };
  });
}

function carries(errors: readonly WireError[], code: string, type: string): boolean {
  return errors.some(({ extensions }) => extensions.code === code || extensions.type?.toLowerCase() === type);
}

/** Long enough for any message of Linear's own, short enough for a log line when it is a page of HTML. */
const MAX_QUOTE = 300;

function quote(text: string): string {
  const line = text.replaceAll(/\s+/g, " ").trim();
  return line.length > MAX_QUOTE ? `${line.slice(0, MAX_QUOTE)}...` : line;
}

function messageOf(error: WireError | undefined): string | null {
  if (error === undefined) return null;
  return quote(error.extensions.userPresentableMessage ?? error.message);
}

/** Linear says this in words alone; the code INPUT_ERROR covers many other things. */
function isTooComplex(errors: readonly WireError[]): boolean {
  return errors.some(({ message, extensions }) =>
    /too complex/i.test(`${message} ${extensions.userPresentableMessage ?? ""}`),
  );
}

/** A refusal of the request's own values, such as an unusable id or cursor. */
function isInvalidInput(errors: readonly WireError[]): boolean {
  return carries(errors, "INPUT_ERROR", "invalid input") || carries(errors, "BAD_USER_INPUT", "invalid input");
}

/** What lies behind a category. */
export type FailureReason =
  | "throttled"
  | "too_complex"
  | "authentication"
  | "forbidden"
  | "invalid_input"
  | "server"
  | "refused"
  | "unreadable"
  | "field_errors"
  | "shape"
  | "network"
  | "timeout";

interface Verdict {
  readonly code: "tracker_status" | "tracker_response";
  readonly reason: FailureReason;
  /** False where only a person can mend it. */
  readonly retryable: boolean;
  readonly text: string;
}

function isThrottled(status: number, errors: readonly WireError[]): boolean {
  return status === 429 || carries(errors, "RATELIMITED", "ratelimited");
}

function judgeStatus(status: number, errors: readonly WireError[], said: string): Verdict {
  const code = "tracker_status";
  if (status === 401 || carries(errors, "AUTHENTICATION_ERROR", "authentication error")) {
    const text = "Linear refused the credential; check tracker.provider.api_key";
    return { code, reason: "authentication", retryable: false, text };
  }
  if (status === 403 || carries(errors, "FORBIDDEN", "forbidden")) {
    return { code, reason: "forbidden", retryable: false, text: `Linear forbids this to the credential: ${said}` };
  }
  const text = `Linear answered HTTP ${status}: ${said}`;
  if (isInvalidInput(errors)) return { code, reason: "invalid_input", retryable: false, text };
  const isPassing = status >= 500 || status === 408;
  return { code, reason: isPassing ? "server" : "refused", retryable: isPassing, text };
}

function judgeBody(body: ExchangeBody, errors: readonly WireError[], said: string): Verdict | null {
  const code = "tracker_response";
  if (body.kind === "text") {
    return { code, reason: "unreadable", retryable: true, text: `Linear answered no JSON: ${said}` };
  }
  if (errors.length > 0) {
    const hasData = typeof body.data === "object" && body.data !== null;
    const reason = isInvalidInput(errors) ? "invalid_input" : "field_errors";
    const part = hasData ? "incomplete data and errors" : "errors";
    return { code, reason, retryable: true, text: `Linear answered with ${part}: ${said}` };
  }
  if (typeof body.data === "object" && body.data !== null) return null;
  return { code, reason: "shape", retryable: true, text: "Linear answered without data" };
}

function judge({ status, body }: Exchange, errors: readonly WireError[]): Verdict | null {
  const said =
    messageOf(errors[0]) ?? (body.kind === "text" && body.text.trim() !== "" ? quote(body.text) : "no message");
  if (isTooComplex(errors)) {
    return {
      code: "tracker_response",
      reason: "too_complex",
      retryable: true,
      text: `Linear refused the query: ${said}`,
    };
  }
  const isStatus = status < 200 || status > 299 || carries(errors, "AUTHENTICATION_ERROR", "authentication error");
  return isStatus ? judgeStatus(status, errors, said) : judgeBody(body, errors, said);
}

/**
 * Null for complete data. Data of the error: `reason` tells apart what a category lumps together, `retryable` is false where only a
 * person can mend it. A throttled answer is known by its body at any status (Linear uses 400), and by 429 alone; `throttle` notes it
 * and answers the epoch ms at which requests may go on.
 */
export function failureOf(exchange: Exchange, throttle: () => number): AppError | null {
  const { status } = exchange;
  const errors = readErrors(exchange.body);
  if (isThrottled(status, errors)) {
    const resetAt = throttle();
    const text = `Linear throttled the request until ${new Date(resetAt).toISOString()}`;
    return new AppError("tracker_rate_limited", text, { status, reason: "throttled", retryable: true, resetAt });
  }
  const verdict = judge(exchange, errors);
  if (verdict === null) return null;
  const { code, reason, retryable, text } = verdict;
  return new AppError(code, text, { status, reason, retryable, linearCode: errors[0]?.extensions.code ?? null });
}

/** An AppError's `data.reason`, for the few failures that the adapter mends itself. */
export function reasonOf(error: unknown): FailureReason | null {
  const reason = isAppError(error) ? error.data["reason"] : null;
  return typeof reason === "string" ? (reason as FailureReason) : null;
}
