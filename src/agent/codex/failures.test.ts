import { describe, expect, it } from "vitest";
import { makeSettings } from "../../../test/support/issues.ts";
import { AppError } from "../../domain/errors.ts";
import type { FailureClass } from "../../domain/outcome.ts";
import type { CodexSettings } from "../../domain/settings.ts";
import {
  failureOfEnd,
  failureOfLaunch,
  failureOfRequest,
  failureOfTurn,
  isNoActiveTurn,
  isStartRace,
  resumeRefusal,
} from "./failures.ts";
import { RpcError } from "./wire.ts";

const settings = makeSettings();

function turnError(info: unknown, message = "words"): { message: string; details: null; info: unknown } {
  return { message, details: null, info };
}

type Row = readonly [info: unknown, failureClass: FailureClass, flags?: "fresh" | "final"];

const INFOS: readonly Row[] = [
  ["usageLimitExceeded", "usage_limit"],
  ["unauthorized", "auth"],
  [{ httpConnectionFailed: { httpStatusCode: 401 } }, "auth"],
  [{ httpConnectionFailed: { httpStatusCode: 403 } }, "auth"],
  [{ responseStreamConnectionFailed: { httpStatusCode: 401 } }, "auth"],
  [{ httpConnectionFailed: { httpStatusCode: 413 } }, "context_overflow", "fresh"],
  ["contextWindowExceeded", "context_overflow", "fresh"],
  ["sessionBudgetExceeded", "agent", "fresh"],
  ["modelNotFound", "config_refused", "final"],
  ["cyberPolicy", "agent", "final"],
  ["bioPolicy", "agent", "final"],
  ["misalignmentPolicyViolation", "agent", "final"],
  ["inferenceHookDenied", "agent", "final"],
  [{ httpConnectionFailed: { httpStatusCode: null } }, "agent"],
  [{ httpConnectionFailed: { httpStatusCode: 502 } }, "agent"],
  [{ responseTooManyFailedAttempts: { httpStatusCode: 429 } }, "agent"],
  [{ responseStreamDisconnected: { httpStatusCode: null } }, "agent"],
  ["rateLimitExceeded", "agent"],
  ["serverOverloaded", "agent"],
  ["internalServerError", "agent"],
  ["badRequest", "agent"],
  ["sandboxError", "agent"],
  ["other", "agent"],
  ["somethingNewerThanUs", "agent"],
  [{ somethingNewerThanUs: { a: 1 } }, "agent"],
  [{}, "agent"],
  [null, "agent"],
  [7, "agent"],
];

describe("a failed turn", () => {
  it.each(INFOS)("%j is %s", (info, failureClass, flags) => {
    expect(failureOfTurn(turnError(info), null)).toEqual({
      kind: "failed",
      class: failureClass,
      message: "words",
      retryable: flags !== "final",
      freshThread: flags === "fresh",
      resetsAt: null,
    });
  });

  it("of a usage limit carries the reset that was told before it; no other failure does", () => {
    expect(failureOfTurn(turnError("usageLimitExceeded"), 1_796_000_000_000).resetsAt).toBe(1_796_000_000_000);
    expect(failureOfTurn(turnError("internalServerError"), 1_796_000_000_000).resetsAt).toBeNull();
  });

  it("for want of the provider's key is a matter of login, although its code says nothing", () => {
    expect(failureOfTurn(turnError("other", "Missing environment variable: `LAB_KEY`."), null).class).toBe("auth");
  });

  it("without an error is still a failure", () => {
    expect(failureOfTurn(null, null)).toMatchObject({ class: "agent", retryable: true });
  });

  it("tells the details once, and not without end", () => {
    expect(failureOfTurn({ message: "a", details: "b", info: null }, null).message).toBe("a (b)");
    expect(failureOfTurn({ message: "a", details: "a", info: null }, null).message).toBe("a");
    expect(failureOfTurn(turnError("other", "x".repeat(9000)), null).message).toHaveLength(1000);
  });
});

type Refusal = readonly [name: string, method: string, text: string, codex: Partial<CodexSettings>, message: string];

const REFUSED: readonly Refusal[] = [
  [
    "an approval policy that is gone",
    "thread/start",
    "unknown variant `on-failure`, expected one of `untrusted`, `on-request`, `granular`, `never`",
    { approvalPolicy: "on-failure" },
    'codex.approval_policy: "on-failure" was refused by the agent: accepted are untrusted, on-request, granular, never',
  ],
  [
    "the old reject object, beside other values",
    "thread/start",
    "unknown variant `reject`, expected one of `untrusted`, `on-request`, `granular`, `never`",
    { approvalPolicy: { reject: { rules: true } }, threadSandbox: "read-only" },
    'codex.approval_policy: {"reject":{"rules":true}} was refused by the agent: accepted are untrusted, on-request, granular, never',
  ],
  [
    "a sandbox spelled the other way",
    "thread/start",
    "unknown variant `workspaceWrite`, expected one of `read-only`, `workspace-write`, `danger-full-access`",
    { threadSandbox: "workspaceWrite", approvalPolicy: "never" },
    'codex.thread_sandbox: "workspaceWrite" was refused by the agent: accepted are read-only, workspace-write, danger-full-access',
  ],
  [
    "a reviewer that isn't one",
    "thread/resume",
    "unknown variant `nobody`, expected one of `user`, `auto_review`, `guardian_subagent`",
    { approvalsReviewer: "nobody" },
    'codex.approvals_reviewer: "nobody" was refused by the agent: accepted are user, auto_review, guardian_subagent',
  ],
  [
    "a turn policy spelled the other way",
    "turn/start",
    "unknown variant `workspace-write`, expected one of `dangerFullAccess`, `readOnly`, `externalSandbox`, `workspaceWrite`",
    { turnSandboxPolicy: { type: "workspace-write" }, threadSandbox: "workspace-write" },
    'codex.turn_sandbox_policy: {"type":"workspace-write"} was refused by the agent: accepted are dangerFullAccess, readOnly, externalSandbox, workspaceWrite',
  ],
  [
    "a relative path in a turn policy",
    "turn/start",
    "AbsolutePathBuf deserialized without a base path",
    { turnSandboxPolicy: { type: "workspaceWrite", writableRoots: ["rel"] } },
    'codex.turn_sandbox_policy: {"type":"workspaceWrite","writableRoots":["rel"]} was refused by the agent: AbsolutePathBuf deserialized without a base path',
  ],
  [
    "a number for a policy",
    "thread/start",
    "invalid type: integer `5`, expected string or map",
    { approvalPolicy: 5, threadSandbox: "read-only" },
    "codex.approval_policy: 5 was refused by the agent: invalid type: integer `5`, expected string or map",
  ],
  [
    "a value of our own that an old agent doesn't know",
    "thread/start",
    "unknown variant `read-only`, expected `readOnly`",
    {},
    "thread/start was refused by this version of the agent: unknown variant `read-only`, expected `readOnly`",
  ],
];

describe("a refused request", () => {
  it.each(REFUSED)("names the key, the value and what is accepted: %s", (...[, method, text, codex, message]) => {
    const error = new RpcError(-32600, `Invalid request: ${text}`);
    expect(failureOfRequest(method, error, makeSettings({ codex }))).toEqual({
      kind: "failed",
      class: "config_refused",
      message,
      retryable: false,
      freshThread: false,
      resetsAt: null,
    });
  });

  it.each([
    ["failed to load configuration: Model provider `nope` not found", "config_refused", false],
    ["thread/start.dynamicTools requires experimentalApi capability", "config_refused", false],
    ["duplicate dynamic tool name: linear_graphql", "internal", false],
    ["codex account authentication required to read rate limits", "auth", true],
    ["thread not found: 01a22e54", "agent", true],
    ["a required MCP server did not start", "agent", true],
  ] as const)("%s is %s", (text, failureClass, retryable) => {
    const failure = failureOfRequest("thread/start", new RpcError(-32600, text), settings);
    expect(failure).toMatchObject({ class: failureClass, retryable });
    expect(failure.message).toContain(text);
  });

  it("that ran into its deadline may go better next time", () => {
    const error = new AppError("response_timeout", "no answer to turn/start within 5000 ms");
    expect(failureOfRequest("turn/start", error, settings)).toMatchObject({ class: "agent", retryable: true });
  });
});

function exit(code: number | null, stderr = "", signal: string | null = null): AppError {
  return new AppError("port_exit", `the agent's process ended; its last words: ${stderr}`, { code, signal, stderr });
}

describe("a start that fails", () => {
  it.each([
    ["a command that isn't there", exit(127, "codex: command not found"), "launch", true],
    ["a file that can't be executed", exit(126), "launch", true],
    ["a crash", exit(null, "", "SIGSEGV"), "launch", true],
    ["an early end", exit(0), "launch", true],
    [
      "an argument that the program doesn't know",
      exit(2, "error: unexpected argument '--nonsense' found"),
      "config_refused",
      false,
    ],
    [
      "a config value that is gone",
      exit(1, 'Error: approval_policy = "untrusted" is no longer supported'),
      "config_refused",
      false,
    ],
    [
      "a config value that never was",
      exit(1, "Error: | unknown variant `banana`, expected one of"),
      "config_refused",
      false,
    ],
    ["no answer to the handshake", new AppError("response_timeout", "no answer to initialize"), "launch", true],
    ["a version that is too old", new AppError("response_error", "codex 0.58.0 is too old"), "launch", true],
    ["a shell that can't be started", new AppError("codex_not_found", "bash can't be started"), "launch", true],
    ["a refused handshake", new RpcError(-32600, "Already initialized"), "agent", true],
  ] as const)("%s", (_name, error, failureClass, retryable) => {
    expect(failureOfLaunch(error, settings)).toMatchObject({ class: failureClass, retryable });
  });

  it("for want of the program names the setting and its value", () => {
    expect(failureOfLaunch(exit(127), settings).message).toBe(
      'codex.command: "codex app-server" was not found (status 127); install it, or set codex.command to its path',
    );
  });

  it.each([
    [
      new AppError("response_timeout", "no answer to initialize within 3000 ms"),
      'codex.command: "codex app-server": no answer to initialize within 3000 ms; see by hand whether it speaks the app-server protocol, or raise codex.start_timeout_ms',
    ],
    [
      exit(0, "bye"),
      'codex.command: "codex app-server": the agent\'s process ended; its last words: bye; start it by hand to see why: it must stay, as codex app-server does',
    ],
  ])("names the setting, its value and the mend for a program that isn't an app-server", (error, message) => {
    expect(failureOfLaunch(error, settings).message).toBe(message);
  });

  it("is tried again at once only for a lost race", () => {
    expect(isStartRace(exit(1, "Error: database is locked"))).toBe(true);
    expect(isStartRace(exit(1, "anything else"))).toBe(false);
    expect(isStartRace(new Error("database is locked"))).toBe(false);
  });
});

describe("the end of a session that had begun", () => {
  it.each([
    [exit(1, "panicked"), "agent"],
    [exit(null, "", "SIGKILL"), "agent"],
    [exit(127), "launch"],
  ] as const)("%s", (error, failureClass) => {
    expect(failureOfEnd(error, settings)).toMatchObject({ class: failureClass, retryable: true, freshThread: false });
  });
});

describe("refusals with a meaning of their own", () => {
  it.each([
    ["no rollout found for thread id 01a2", "no_rollout"],
    ["thread 01a2 already has an active writer", "active_writer"],
    ["session 01a2 is archived. Run `codex unarchive 01a2` to unarchive it first.", "archived"],
    ["thread 01a2 is of another kind", "other"],
  ] as const)("resuming: %s", (text, refusal) => {
    expect(resumeRefusal(new RpcError(-32600, text))).toBe(refusal);
  });

  it.each([
    ["no active turn to interrupt", true],
    ["no active turn to steer", true],
    ["expected active turn id `a` but found `b`", true],
    ["input must not be empty", false],
  ])("turns: %s", (text, expected) => {
    expect(isNoActiveTurn(new RpcError(-32600, text))).toBe(expected);
    expect(isNoActiveTurn(new Error(text))).toBe(false);
  });
});
