/** Errors that we expect and name: a literal code, a message that says what was being done, and data. */

/** Codes of the public specification (sections 5, 10, 11) and our own, all literal. */
export type ErrorCode =
  | "missing_workflow_file"
  | "workflow_parse_error"
  | "workflow_front_matter_not_a_map"
  | "invalid_workflow_config"
  | "template_parse_error"
  | "template_render_error"
  | "unsupported_tracker_kind"
  | "invalid_tracker_config"
  | "missing_tracker_secret"
  | "tracker_request"
  | "tracker_status"
  | "tracker_response"
  | "tracker_pagination"
  | "tracker_rate_limited"
  | "invalid_workspace_cwd"
  | "workspace_not_a_directory"
  | "workspace_key_taken"
  | "workspace_key_invalid"
  | "workspace_root_invalid"
  | "workspace_foreign"
  | "workspace_salvage_failed"
  | "hook_failed"
  | "hook_timeout"
  | "codex_not_found"
  | "response_timeout"
  | "turn_timeout"
  | "port_exit"
  | "response_error"
  | "turn_failed"
  | "turn_cancelled"
  | "turn_input_required"
  | "ledger_unusable"
  | "ledger_newer"
  | "state_dir_unusable"
  | "already_running"
  | "daemon_unreachable"
  | "request_refused"
  | "usage";

/** An expected failure. `message` stands alone for a person; `data` is for fields and tests, never secrets. */
export class AppError extends Error {
  override readonly name = "AppError";
  readonly code: ErrorCode;
  readonly data: Readonly<Record<string, unknown>>;

  constructor(
    code: ErrorCode,
    message: string,
    data: Readonly<Record<string, unknown>> = {},
    options?: { readonly cause?: unknown },
  ) {
    super(message, options);
    this.code = code;
    this.data = data;
  }
}

/** True for an {@link AppError}, of one code when it is given. */
export function isAppError(error: unknown, code?: ErrorCode): error is AppError {
  return error instanceof AppError && (code === undefined || error.code === code);
}

/** A caught value's message, whatever was thrown. */
export function errorMessage(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}

/** Ends an exhaustive switch: the compiler refuses a missed case, and a foreign value fails loudly. */
export function assertNever(value: never): never {
  throw new Error(`unexpected value: ${JSON.stringify(value)}`);
}
