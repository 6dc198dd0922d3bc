/** The real binary as the daemon meets it: behind a noisy profile, looked at before the first run, asked for approval, and compacted. */
import { mkdir, readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { afterEach, beforeEach, expect, test } from "vitest";
import { createCodexBackend } from "../../src/agent/codex/backend.ts";
import type { AgentBackend, AgentSession, SessionRequest } from "../../src/agent/port.ts";
import type { ApprovalPolicy, CodexSettings, Settings } from "../../src/domain/settings.ts";
import { createLocalHost } from "../../src/host/local.ts";
import { systemClock } from "../../src/lib/clock.ts";
import {
  callTool,
  type ModelReply,
  type ResponsesServer,
  say,
  startResponsesServer,
} from "../fakes/responses-server.ts";
import { SessionRecorder, sessionRequest } from "../fakes/session-recorder.ts";
import { captureLog } from "../support/captured-log.ts";
import { makeSettings } from "../support/issues.ts";
import { makeTempDir, type TempDir } from "../support/temp-dir.ts";
import { installCodex, makeCodexHome } from "./codex-binary.ts";

let dir: TempDir;
let work: string;
let codexHome: string;
let model: ResponsesServer;
let replies: readonly ModelReply[];
let backend: AgentBackend;
let recorder: SessionRecorder;

beforeEach(async () => {
  dir = await makeTempDir();
  work = join(dir.path, "work");
  replies = [say("done")];
  model = await startResponsesServer(({ index }) => replies[Math.min(index, replies.length - 1)] ?? say("done"));
  codexHome = await makeCodexHome(dir.path, model.baseUrl);
  for (const folder of [work, join(dir.path, "tmp")]) await mkdir(folder);
  const { log } = captureLog();
  const daemonEnv = {
    PATH: process.env["PATH"] ?? "",
    HOME: dir.path,
    CODEX_HOME: codexHome,
    TMPDIR: join(dir.path, "tmp"),
  };
  const host = createLocalHost({ log });
  backend = createCodexBackend({ host, clock: systemClock, log, clientVersion: "0.1.0", daemonEnv });
  recorder = new SessionRecorder();
});

afterEach(async () => {
  await backend.close();
  await model.close();
  await dir.dispose();
});

async function settingsWith(codex: Partial<CodexSettings> = {}, rest: Partial<Settings> = {}): Promise<Settings> {
  return makeSettings({ codex: { command: `'${await installCodex()}' app-server`, ...codex }, rest });
}

function open(settings: Settings, overrides: Partial<SessionRequest> = {}): Promise<AgentSession> {
  return backend.open(sessionRequest(recorder, { settings, workspacePath: work, ...overrides }));
}

test("a login profile that prints, reads stdin and exports a secret reaches neither the protocol nor the process", async () => {
  const profile = 'echo \'{"id":1,"result":{}}\'; echo noise; cat >/dev/null; export PROFILE_SECRET=leaked\n';
  await writeFile(join(dir.path, ".bash_profile"), profile);
  const session = await open(await settingsWith());
  const environment = await readFile(`/proc/${recorder.identities[0]?.pid}/environ`, "utf8");
  expect(environment).toContain(`CODEX_HOME=${codexHome}`);
  expect(environment).not.toContain("leaked");
  expect(session.agentVersion).toBe("0.171.0");
  expect(await session.runTurn({ prompt: "work", intentId: "1" })).toEqual({ kind: "completed" });
  expect(recorder.of("malformed")).toEqual([]);
});

test("a look before the first run tells version, login, sandbox, and MCP tools that would be refused silently", async () => {
  const server = `\n[mcp_servers.board]\ncommand = "true"\n`;
  await writeFile(join(codexHome, "config.toml"), server, { flag: "a" });
  const settings = await settingsWith();
  const spawned: unknown[] = [];
  const found = await backend.check({
    settings,
    cwd: work,
    runMarker: "look",
    spawned: (identity) => spawned.push(identity),
    signal: new AbortController().signal,
  });
  expect(found).toMatchObject({ version: "0.171.0", login: { state: "ok" } });
  // Whether it runs is the machine's affair; that it is known is ours.
  expect(["ok", "broken"]).toContain(found.sandbox.state);
  expect(found.warnings).toEqual([expect.stringContaining("(board)")]);
  expect(spawned).toHaveLength(1);
});

test.each<readonly [ApprovalPolicy, string, boolean]>([
  ["accept", "approval_auto_approved", true],
  ["decline", "approval_declined", false],
])("a command outside of the sandbox is answered by approvals.commands: %s", async (policy, kind, runs) => {
  const escalated = { cmd: "sleep 0.2; echo it ran", sandbox_permissions: "require_escalated", justification: "must" };
  replies = [callTool("exec_command", escalated), say("done")];
  const all = { commands: policy, fileChanges: policy, permissions: policy, elicitations: policy, questions: policy };
  const approvals = { ...all, timeoutMs: 60_000 };
  const session = await open(await settingsWith({ approvalPolicy: "on-request" }, { approvals }));
  expect(await session.runTurn({ prompt: "work", intentId: "1" })).toEqual({ kind: "completed" });
  expect(recorder.of("approval_auto_approved", "approval_declined").map((event) => event.kind)).toEqual([kind]);
  expect(model.requests[1]?.outputs.at(-1)?.includes("it ran")).toBe(runs);
});

test("a thread is compacted by a turn of its own, and goes on", async () => {
  const session = await open(await settingsWith());
  expect(await session.runTurn({ prompt: "work", intentId: "1" })).toEqual({ kind: "completed" });
  expect(await session.compact()).toEqual({ kind: "completed" });
  expect(recorder.of("compaction")).toHaveLength(1);
  expect(await session.runTurn({ prompt: "go on", intentId: "2" })).toEqual({ kind: "completed" });
  expect(recorder.of("tokens").at(-1)?.total.input).toBe(model.reported.input);
  expect(recorder.of("turn_completed")).toHaveLength(2);
});
