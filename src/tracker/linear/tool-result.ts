/** What the agent reads back: JSON text, whole or cut with advice, and never the credential. */
import type { AppError } from "../../domain/errors.ts";
import type { ToolResult } from "../../domain/tool.ts";
import type { Exchange } from "./failures.ts";
import type { FixedId } from "./fixed-ids.ts";

/** About what an agent's context keeps of a tool's answer; more would be cut there, in the middle and without advice. */
const MAX_RESULT_BYTES = 12_000;
const PREVIEW_CHARS = 4_000;

const ADVICE =
  "The result is too long to show. Ask for fewer fields, a smaller page (first: 10, then after: endCursor), or one record by id.";

export interface ResultError {
  readonly code: string;
  readonly message: string;
  readonly allowed?: readonly string[];
  /** RFC 3339 instant from which requests may go on. */
  readonly reset_at?: string;
  /** What the call would have made, or has made, and under which ids. */
  readonly in_doubt?: readonly FixedId[];
}

const MADE_BEFORE = "An earlier call like this one has made it; its answer was lost. Nothing was made twice.";

/** Builds results with every one of `secrets` blotted out, should Linear ever echo one. */
export class ResultWriter {
  readonly #secrets: () => readonly string[];

  constructor(secrets: () => readonly string[]) {
    this.#secrets = secrets;
  }

  /** A failure that has no GraphQL body. */
  error(error: ResultError): ToolResult {
    return this.#write(false, { error });
  }

  /** Linear's own answer, kept as it is; `error` says more about a failure where our side knows more. */
  answer({ body }: Exchange, failure: AppError | null, error: ResultError | null): ToolResult {
    if (body.kind === "text") return this.#write(false, { error });
    const { data, errors } = body;
    return this.#write(failure === null, {
      ...(error === null ? {} : { error }),
      ...(data === null || data === undefined ? {} : { data }),
      ...(errors.length === 0 ? {} : { errors }),
    });
  }

  /** A repeated call that Linear refused, because the first had gone through. */
  madeBefore(made: readonly FixedId[]): ToolResult {
    return this.#write(true, { made_before: made, message: MADE_BEFORE });
  }

  #write(success: boolean, body: Readonly<Record<string, unknown>>): ToolResult {
    const text = this.#blot(JSON.stringify(body));
    const bytes = Buffer.byteLength(text);
    if (bytes <= MAX_RESULT_BYTES) return { success, text };
    const cut = {
      truncated: { bytes, limit: MAX_RESULT_BYTES, advice: ADVICE },
      preview: text.slice(0, PREVIEW_CHARS),
    };
    return { success, text: JSON.stringify(cut) };
  }

  #blot(text: string): string {
    return this.#secrets().reduce((shown, secret) => shown.replaceAll(secret, "[redacted]"), text);
  }
}
