/** What a failure means: codes first, and the texts that the protocol leaves us with, all in this file (measured on 0.171.0). */
import { isAppError, errorMessage } from "../../domain/errors.ts";
import type { FailureClass } from "../../domain/outcome.ts";
import type { Settings } from "../../domain/settings.ts";
import type { TurnFailure } from "../port.ts";
import type { TurnErrorView } from "./notices.ts";
import { asObject, bounded, numberAt, stringAt } from "./reading.ts";
import { refusedValue } from "./refused-value.ts";
import { RpcError } from "./wire.ts";

const MESSAGE_CHARS = 1000;

interface Verdict {
  readonly class: FailureClass;
  readonly retryable: boolean;
  readonly freshThread: boolean;
}

const AGAIN: Verdict = { class: "agent", retryable: true, freshThread: false };
/** The same request would be refused again: a person has to look. */
const REFUSED: Verdict = { class: "agent", retryable: false, freshThread: false };
const AUTH: Verdict = { class: "auth", retryable: true, freshThread: false };
const USAGE_LIMIT: Verdict = { class: "usage_limit", retryable: true, freshThread: false };
/** Nothing that is added to this thread can help it. */
const TOO_LONG: Verdict = { class: "context_overflow", retryable: true, freshThread: true };
const CONFIG: Verdict = { class: "config_refused", retryable: false, freshThread: false };
const LAUNCH: Verdict = { class: "launch", retryable: true, freshThread: false };

/** `codexErrorInfo` by name. A name that isn't here is like `other`: it failed, and may go better next time. */
const BY_NAME: Readonly<Record<string, Verdict>> = {
  usageLimitExceeded: USAGE_LIMIT,
  unauthorized: AUTH,
  contextWindowExceeded: TOO_LONG,
  sessionBudgetExceeded: { ...AGAIN, freshThread: true },
  modelNotFound: CONFIG,
  cyberPolicy: REFUSED,
  bioPolicy: REFUSED,
  misalignmentPolicyViolation: REFUSED,
  inferenceHookDenied: REFUSED,
};

/** HTTP statuses inside an object-valued info such as `{httpConnectionFailed: {httpStatusCode: 401}}`. */
const BY_STATUS: ReadonlyMap<number, Verdict> = new Map([
  [401, AUTH],
  [403, AUTH],
  [413, TOO_LONG],
]);

/** Turn errors whose info is only `other`. */
const BY_TURN_TEXT: readonly (readonly [RegExp, Verdict])[] = [
  // The provider's env_key is unset: nothing was even sent.
  [/^Missing environment variable/i, AUTH],
];

/** What a turn's `error` means. `resetsAt` (epoch ms) is what the rate limits said before it, and holds for a usage limit only. */
export function failureOfTurn(error: TurnErrorView | null, resetsAt: number | null): TurnFailure {
  if (error === null) return failure(AGAIN, "the turn failed and the agent gave no reason");
  const verdict = verdictOfInfo(error.info) ?? match(BY_TURN_TEXT, error.message) ?? AGAIN;
  const details = error.details === null || error.details === error.message ? "" : ` (${error.details})`;
  return { ...failure(verdict, error.message + details), resetsAt: verdict.class === "usage_limit" ? resetsAt : null };
}

function verdictOfInfo(info: unknown): Verdict | null {
  if (typeof info === "string") return BY_NAME[info] ?? null;
  const [entry] = Object.entries(asObject(info) ?? {});
  if (entry === undefined) return null;
  const status = numberAt(entry[1], "httpStatusCode");
  return (status === null ? undefined : BY_STATUS.get(status)) ?? BY_NAME[entry[0]] ?? null;
}

/** Refusals of a request by text: every one of them has the code -32600. */
const BY_RPC_TEXT: readonly (readonly [RegExp, Verdict])[] = [
  [/authentication required/i, AUTH],
  [/^failed to load configuration/i, CONFIG],
  [/requires experimentalApi capability/, CONFIG],
  [/^dynamic tool|^duplicate dynamic tool/, { class: "internal", retryable: false, freshThread: false }],
  [/^thread not found/, { ...AGAIN, freshThread: true }],
];

/** What the failure of a request means: a refusal, a deadline, or the end of the process. */
export function failureOfRequest(method: string, error: unknown, settings: Settings): TurnFailure {
  if (!(error instanceof RpcError)) return failureOfEnd(error, settings);
  if (error.message.startsWith("Invalid request:")) {
    return failure(CONFIG, refusedValue(method, error.message, settings));
  }
  const verdict = match(BY_RPC_TEXT, error.message) ?? AGAIN;
  const mend = verdict === CONFIG ? "; mend the agent's config.toml or the codex settings of the workflow file" : "";
  return failure(verdict, `${method} was refused: ${error.message}${mend}`);
}

/** What bash says when it can't find a command, or can't run what it found. */
const NOT_FOUND_STATUS = 127;
const NOT_EXECUTABLE_STATUS = 126;
/** What a command line parser exits with. */
const USAGE_STATUS = 2;

/** Last words of a process that didn't accept its own configuration or arguments (its status is 1 or 2). */
const CONFIG_WORDS =
  /is no longer supported|unknown variant `|unexpected argument|invalid value '|error loading config/i;

/** What the end of the process, or of the protocol, means in a session that had begun. */
export function failureOfEnd(error: unknown, settings: Settings): TurnFailure {
  const status = isAppError(error, "port_exit") ? numberAt(error.data, "code") : null;
  const { command } = settings.codex;
  if (status === NOT_FOUND_STATUS) {
    return failure(
      LAUNCH,
      `codex.command: "${command}" was not found (status 127); install it, or set codex.command to its path`,
    );
  }
  if (status === NOT_EXECUTABLE_STATUS) {
    return failure(
      LAUNCH,
      `codex.command: "${command}" can't be executed (status 126); set codex.command to a program`,
    );
  }
  return failure(AGAIN, errorMessage(error));
}

/** What a failure before the end of the handshake means: no program, the wrong one, or one that didn't answer. */
export function failureOfLaunch(error: unknown, settings: Settings): TurnFailure {
  if (error instanceof RpcError) return failureOfRequest("initialize", error, settings);
  const key = `codex.command: "${settings.codex.command}"`;
  if (isAppError(error, "response_timeout")) {
    const mend = "see by hand whether it speaks the app-server protocol, or raise codex.start_timeout_ms";
    return failure(LAUNCH, `${key}: ${error.message}; ${mend}`);
  }
  if (!isAppError(error, "port_exit")) return failure(LAUNCH, errorMessage(error));
  const status = numberAt(error.data, "code");
  const words = stringAt(error.data, "stderr") ?? "";
  const refused = status === USAGE_STATUS || (status === 1 && CONFIG_WORDS.test(words));
  if (refused) {
    return failure(CONFIG, `${key} refused its configuration: ${error.message}`);
  }
  const end = failureOfEnd(error, settings);
  if (end.class !== "agent") return end;
  const mend = "start it by hand to see why: it must stay, as codex app-server does";
  return failure(LAUNCH, `${key}: ${end.message}; ${mend}`);
}

/** Several processes that start at once on one home may lose a race for its database (openai/codex#35555). */
export function isStartRace(error: unknown): boolean {
  return isAppError(error, "port_exit") && /database is locked|SQLITE_BUSY/i.test(stringAt(error.data, "stderr") ?? "");
}

/** Why a thread can't be resumed: nothing stored, in the archive, somebody else has it, or any other reason. */
export function resumeRefusal(error: RpcError): "no_rollout" | "archived" | "active_writer" | "other" {
  if (/no rollout found/i.test(error.message)) return "no_rollout";
  if (/is archived/i.test(error.message)) return "archived";
  return /already has an active writer/i.test(error.message) ? "active_writer" : "other";
}

/** An interrupt or a steer came when no turn was running (any more, or yet). */
export function isNoActiveTurn(error: unknown): boolean {
  return error instanceof RpcError && /no active turn|expected active turn id/i.test(error.message);
}

function match(table: readonly (readonly [RegExp, Verdict])[], text: string): Verdict | null {
  return table.find(([pattern]) => pattern.test(text))?.[1] ?? null;
}

function failure(verdict: Verdict, message: string): TurnFailure {
  return { kind: "failed", ...verdict, message: bounded(message, MESSAGE_CHARS), resetsAt: null };
}
