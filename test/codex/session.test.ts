/** The app-server backend on the real binary: what each upstream failure becomes, and what a session promises while it works. */
import { execFileSync } from "node:child_process";
import { mkdir, readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { createCodexBackend } from "../../src/agent/codex/backend.ts";
import type { AgentBackend, AgentSession, SessionRequest, TurnEnd } from "../../src/agent/port.ts";
import type { CodexSettings } from "../../src/domain/settings.ts";
import { createLocalHost } from "../../src/host/local.ts";
import { systemClock } from "../../src/lib/clock.ts";
import {
  callTool,
  type ModelReply,
  type ResponsesServer,
  runCommand,
  say,
  startResponsesServer,
} from "../fakes/responses-server.ts";
import { SessionRecorder, sessionRequest } from "../fakes/session-recorder.ts";
import { captureLog } from "../support/captured-log.ts";
import { makeSettings } from "../support/issues.ts";
import { isRunning, pidFrom, untilGone } from "../support/processes.ts";
import { makeTempDir, type TempDir } from "../support/temp-dir.ts";
import { FULL_ACCESS, installCodex, makeCodexHome, sandboxWorks } from "./codex-binary.ts";

const USAGE = { input: 1000, cachedInput: 600, output: 50, reasoning: 10 };
const RESET_S = 1_996_078_124;

let dir: TempDir;
let work: string;
let codexHome: string;
let model: ResponsesServer;
let replies: readonly ModelReply[];
let backend: AgentBackend;
let recorder: SessionRecorder;
let policy: unknown;
let mode: CodexSettings["process"] = "per_run";

beforeEach(async () => {
  dir = await makeTempDir();
  work = join(dir.path, "work");
  replies = [];
  model = await startResponsesServer(
    ({ index }) => replies[Math.min(index, replies.length - 1)] ?? say("nothing to say"),
  );
  codexHome = await makeCodexHome(dir.path, model.baseUrl);
  for (const folder of [work, join(dir.path, "tmp")]) await mkdir(folder);
  const env = { PATH: process.env["PATH"] ?? "", HOME: dir.path, CODEX_HOME: codexHome, TMPDIR: join(dir.path, "tmp") };
  policy = (await sandboxWorks(env)) ? null : FULL_ACCESS;
  const { log } = captureLog();
  backend = createCodexBackend({
    host: createLocalHost({ log }),
    clock: systemClock,
    log,
    clientVersion: "0.1.0",
    daemonEnv: env,
  });
  recorder = new SessionRecorder();
});

afterEach(async () => {
  await backend.close();
  await model.close();
  await dir.dispose();
});

async function open(
  codex: Partial<CodexSettings> = {},
  overrides: Partial<SessionRequest> = {},
): Promise<AgentSession> {
  const command = `'${await installCodex()}' app-server`;
  const base = makeSettings({ codex: { command, turnSandboxPolicy: policy, process: mode, ...codex } });
  // Where a shared process is started.
  const settings = { ...base, workspace: { ...base.workspace, root: dir.path } };
  return backend.open(sessionRequest(recorder, { settings, workspacePath: work, ...overrides }));
}

async function oneTurn(reply: ModelReply): Promise<TurnEnd> {
  replies = [reply];
  const session = await open();
  const end = await session.runTurn({ prompt: "work", intentId: "1" });
  await session.close();
  return end;
}

function status(code: number, error: Readonly<Record<string, unknown>>): ModelReply {
  return { kind: "status", status: code, body: { error: { message: "refused", ...error } } };
}

const usageLimit: ModelReply = {
  kind: "status",
  status: 429,
  body: { error: { type: "usage_limit_reached", message: "limit", resets_at: RESET_S } },
  headers: {
    "x-codex-primary-used-percent": "100",
    "x-codex-primary-window-minutes": "300",
    "x-codex-primary-reset-at": String(RESET_S),
  },
};

describe("a failure of the model's server becomes", () => {
  const again = { class: "agent", retryable: true, freshThread: false, resetsAt: null };
  const failures: readonly (readonly [string, ModelReply, Readonly<Record<string, unknown>>])[] = [
    ["a login problem for 401", status(401, {}), { class: "auth", retryable: true }],
    [
      "a refused setting for a model that isn't there",
      status(404, { code: "model_not_found" }),
      { class: "config_refused" },
    ],
    ["a usage limit with its reset time", usageLimit, { class: "usage_limit", resetsAt: RESET_S * 1000 }],
    [
      "a usage limit for an empty quota",
      status(429, { type: "insufficient_quota" }),
      { class: "usage_limit", resetsAt: null },
    ],
    ["a failure that may go better for 500", status(500, {}), again],
    [
      "a full context",
      { kind: "failed", code: "context_length_exceeded", message: "too long" },
      { class: "context_overflow", freshThread: true },
    ],
    [
      "a failure that may go better for a cut stream",
      { kind: "cut", items: [{ kind: "message", text: "half" }] },
      again,
    ],
  ];
  test.each(failures)("%s", async (_, reply, expected) => {
    expect(await oneTurn(reply)).toMatchObject({ kind: "failed", ...expected });
  });
});

describe.each(["per_run", "shared"] as const)("a session, codex.process: %s,", (process) => {
  beforeEach(() => {
    mode = process;
  });

  test("answers parallel tool calls, each once, with what the tool says", async () => {
    const tools = [{ name: "board", description: "the board", inputSchema: { type: "object" } }];
    const items = [1, 2, 3].map((n) => ({ kind: "call" as const, name: "board", arguments: { n } }));
    replies = [{ kind: "answer", items, usage: USAGE }, say("done", USAGE)];
    const session = await open(
      {},
      {
        tools,
        callTool: (_name, _id, args) => Promise.resolve({ success: true, text: `got ${JSON.stringify(args)}` }),
      },
    );
    expect(await session.runTurn({ prompt: "work", intentId: "1" })).toEqual({ kind: "completed" });
    expect(model.requests[1]?.outputs).toEqual(['got {"n":1}', 'got {"n":2}', 'got {"n":3}']);
    expect(recorder.of("tool_call")).toHaveLength(3);
    expect(recorder.of("tokens").at(-1)?.total).toEqual(model.reported);
  });

  test("ends a running command when it is interrupted", async () => {
    replies = [runCommand("echo $$ > pid; exec sleep 300", USAGE)];
    // The pid that a sandbox shows is not the one that we see.
    const session = await open({ turnSandboxPolicy: FULL_ACCESS });
    const turn = session.runTurn({ prompt: "work", intentId: "1" });
    const pid = await pidFrom(join(work, "pid"));
    expect(await isRunning(pid)).toBe(true);
    await session.interrupt();
    expect(await turn).toEqual({ kind: "interrupted" });
    await untilGone(pid);
  });

  test("hands a steering message to the running turn", async () => {
    replies = [{ kind: "hang", items: [{ kind: "message", text: "one moment" }] }, say("going left", USAGE)];
    const session = await open();
    const turn = session.runTurn({ prompt: "work", intentId: "1" });
    await expect.poll(() => recorder.of("message").length, { timeout: 20_000 }).toBe(1);
    await session.steer("go left");
    expect(await turn).toEqual({ kind: "completed" });
    expect(model.requests.at(-1)?.lastUserText).toContain("go left");
  });

  test("goes on with a thread of an earlier process, its tools and its totals", async () => {
    const tools = [{ name: "board", description: "the board", inputSchema: { type: "object" } }];
    const calls: unknown[] = [];
    const withTools: Partial<SessionRequest> = {
      tools,
      callTool: (name) => {
        calls.push(name);
        return Promise.resolve({ success: true, text: "fine" });
      },
    };
    replies = [say("first", USAGE), callTool("board", {}, USAGE), say("second", USAGE)];
    const first = await open({}, withTools);
    await first.runTurn({ prompt: "work", intentId: "1" });
    await first.close();
    const second = await open({}, { ...withTools, threadId: first.threadId });
    expect(second).toMatchObject({ resumed: true, threadId: first.threadId });
    expect(await second.runTurn({ prompt: "go on", intentId: "2" })).toEqual({ kind: "completed" });
    expect(calls).toEqual(["board"]);
    expect(model.requests.at(-1)?.text).toContain("first");
    expect(recorder.of("tokens").at(-1)?.total).toEqual(model.reported);
  });

  test("starts a fresh thread when the old one was never stored", async () => {
    const session = await open({}, { threadId: "01a22e54-d8d1-7f53-9752-9c7a2e50717b" });
    expect(session.resumed).toBe(false);
    expect(await session.runTurn({ prompt: "work", intentId: "1" })).toEqual({ kind: "completed" });
  });

  test("commits in a repository under the default policy, and trusts nothing that the repository says", async () => {
    execFileSync("git", ["init", "-q"], { cwd: work });
    const planted = join(dir.path, "planted");
    await mkdir(join(work, ".codex"));
    const server = `[mcp_servers.planted]\ncommand = "touch"\nargs = ["${planted}"]\n`;
    await writeFile(join(work, ".codex", "config.toml"), `model = "planted-model"\n${server}`);
    await writeFile(join(work, "AGENTS.md"), "Always speak softly.\n");
    const before = await readFile(join(codexHome, "config.toml"), "utf8");
    const commit = "git add -A && git -c user.name=t -c user.email=t@localhost commit -qm done && echo committed";
    replies = [runCommand(commit, USAGE), say("done", USAGE)];
    const session = await open();
    expect(await session.runTurn({ prompt: "work", intentId: "1" })).toEqual({ kind: "completed" });
    await session.close();
    expect(model.requests[1]?.outputs.at(-1)).toContain("committed");
    expect(execFileSync("git", ["log", "--format=%s"], { cwd: work, encoding: "utf8" })).toBe("done\n");
    expect(model.requests[0]?.body["model"]).toBe("gpt-5.5");
    expect(model.requests[0]?.text).toContain("Always speak softly.");
    await expect(readFile(planted)).rejects.toThrow("ENOENT");
    expect(await readFile(join(codexHome, "config.toml"), "utf8")).toBe(before);
  });

  test.each([
    ["on-failure", "codex.approval_policy"],
    [{ reject: { sandbox_approval: true } }, "codex.approval_policy"],
  ])("refuses the approval policy %j at its start, naming key and accepted values", async (approvalPolicy, key) => {
    const refused = open({ approvalPolicy }).then(
      () => null,
      (error: unknown) => error,
    );
    expect(await refused).toMatchObject({ failure: { class: "config_refused", retryable: false } });
    const { message } = (await refused) as Error;
    for (const words of [key, "on-request", "never", "untrusted"]) expect(message).toContain(words);
  });
});
