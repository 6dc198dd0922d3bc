/** Our messages against the JSON Schema that the real binary generates of its own protocol. */
import { execFile } from "node:child_process";
import { mkdir, readFile } from "node:fs/promises";
import { join } from "node:path";
import { promisify } from "node:util";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { z } from "zod";
import { createCodexBackend } from "../../src/agent/codex/backend.ts";
import type { AgentSession } from "../../src/agent/port.ts";
import { isRecord } from "../../src/agent/simulated/wire.ts";
import type { ApprovalPolicy } from "../../src/domain/settings.ts";
import { createLocalHost } from "../../src/host/local.ts";
import { systemClock } from "../../src/lib/clock.ts";
import { AppServerClient } from "../fakes/app-server-client.ts";
import { type ClientMessage, type FakeAppServer, writeFakeAppServer } from "../fakes/fake-plan.ts";
import { SessionRecorder, sessionRequest } from "../fakes/session-recorder.ts";
import { captureLog } from "../support/captured-log.ts";
import { makeSettings } from "../support/issues.ts";
import { makeTempDir, type TempDir } from "../support/temp-dir.ts";
import { installCodex } from "./codex-binary.ts";

/** The requests of one turn, in this order, with the schema of their answers. Ids count from 0. */
const ANSWERS = [
  ["command", "CommandExecutionRequestApprovalResponse"],
  ["file_change", "FileChangeRequestApprovalResponse"],
  ["permissions", "PermissionsRequestApprovalResponse"],
  ["question", "ToolRequestUserInputResponse"],
  ["elicitation", "McpServerElicitationRequestResponse"],
] as const;

const TOOL_ID = ANSWERS.length;

const TICKETS = {
  "*": {
    runs: [
      {
        turns: [
          {
            steps: [
              ...ANSWERS.map(([about]) => ({ do: "ask", about })),
              { do: "tool", tool: "board", arguments: { action: "get" } },
              { do: "think", text: "hm" },
              { do: "shell", command: "echo hello; sleep 0.1" },
              { do: "write_file", path: "a.txt", content: "a\n" },
              { do: "say", text: "done" },
            ],
          },
          { steps: [{ do: "say", text: "waiting" }, { do: "hang" }] },
          {
            steps: [
              { do: "reconnecting", http_status: 500 },
              { do: "usage_limit", resets_in_ms: 1000 },
            ],
          },
        ],
      },
    ],
  },
};

let schemas: TempDir;

beforeAll(async () => {
  schemas = await makeTempDir();
  const args = ["app-server", "generate-json-schema", "--experimental", "--out", schemas.path];
  const home = join(schemas.path, "home");
  await mkdir(home);
  const env = { PATH: process.env["PATH"] ?? "", HOME: home, CODEX_HOME: home };
  await promisify(execFile)(await installCodex(), args, { env });
});

afterAll(() => schemas.dispose());

/** Refuses fields that the schema doesn't name, so that a misspelt one is found. */
function strict(schema: unknown): unknown {
  if (Array.isArray(schema)) return schema.map(strict);
  if (!isRecord(schema)) return schema;
  const inner = Object.fromEntries(Object.entries(schema).map(([key, value]) => [key, strict(value)]));
  const closed = isRecord(schema["properties"]) && schema["additionalProperties"] === undefined;
  return closed ? { ...inner, additionalProperties: false } : inner;
}

async function load(name: string, how: "strict" | "lenient"): Promise<z.ZodType> {
  const schema: unknown = JSON.parse(await readFile(join(schemas.path, `${name}.json`), "utf8"));
  const used = how === "strict" ? strict(schema) : schema;
  if (!isRecord(used)) throw new Error(`${name} is no schema`);
  return z.fromJSONSchema(used);
}

/** The messages that a schema refuses, with its reason. */
function misfits(schema: z.ZodType, messages: readonly unknown[]): string[] {
  return messages.flatMap((message) => {
    const { error } = schema.safeParse(message);
    return error === undefined ? [] : [`${JSON.stringify(message).slice(0, 500)}: ${z.prettifyError(error)}`];
  });
}

/** Works through the script: two sessions on one thread, with everything that a client can say. */
async function converse(dir: string, fake: FakeAppServer, policy: ApprovalPolicy): Promise<SessionRecorder> {
  const { log } = captureLog();
  const daemonEnv = { PATH: process.env["PATH"] ?? "", HOME: dir };
  const host = createLocalHost({ log });
  const backend = createCodexBackend({ host, clock: systemClock, log, clientVersion: "0.1.0", daemonEnv });
  const recorder = new SessionRecorder();
  const approvals = {
    commands: policy,
    fileChanges: policy,
    permissions: policy,
    elicitations: policy,
    questions: policy,
  };
  const base = makeSettings({ codex: { command: fake.command, approvalPolicy: "on-request" } });
  const settings = { ...base, approvals: { ...base.approvals, ...approvals } };
  const open = (threadId: string | null): Promise<AgentSession> =>
    backend.open(
      sessionRequest(recorder, {
        settings,
        workspacePath: join(dir, "work"),
        threadId,
        tools: [{ name: "board", description: "the board", inputSchema: { type: "object" } }],
        callTool: () => Promise.resolve({ success: true, text: "fine" }),
      }),
    );
  try {
    const first = await open(null);
    await first.runTurn({ prompt: "work", intentId: "1", model: "simulated", effort: "high" });
    await first.compact();
    await first.close();
    const second = await open(first.threadId);
    for (const intentId of ["2", "3"]) {
      const turn = second.runTurn({ prompt: "go on", intentId });
      await expect.poll(() => recorder.of("message").length, { timeout: 20_000 }).toBeGreaterThan(0);
      if (intentId === "3") await second.steer("quickly");
      await second.interrupt();
      await turn;
    }
    await second.close();
  } finally {
    await backend.close();
  }
  return recorder;
}

function isResponse(message: ClientMessage): boolean {
  return message["method"] === undefined;
}

describe.each<ApprovalPolicy>(["accept", "decline"])("what we send, with approvals set to %s,", (policy) => {
  test("fits the schema of 0.171.0, field by field", async () => {
    await using dir = await makeTempDir();
    await mkdir(join(dir.path, "work"));
    const fake = await writeFakeAppServer(dir.path, { tickets: TICKETS });
    await converse(dir.path, fake, policy);
    const sent = await fake.received();
    const requests = sent.filter((message) => !isResponse(message) && message["id"] !== undefined);
    const methods = new Set(requests.map((message) => String(message["method"])));
    for (const method of ["initialize", "thread/start", "thread/resume", "turn/start", "turn/interrupt"]) {
      expect(methods).toContain(method);
    }
    const schema = await load("ClientRequest", "strict");
    expect(misfits(schema, requests)).toEqual([]);
    const misspelt = { id: 1, method: "thread/start", params: { workingDirectory: "/" } };
    expect(misfits(schema, [misspelt])).toHaveLength(1);
    const notifications = sent.filter((message) => !isResponse(message) && message["id"] === undefined);
    expect(notifications.map((message) => message["method"])).toContain("initialized");
    expect(misfits(await load("ClientNotification", "strict"), notifications)).toEqual([]);
    for (const [id, name] of [...ANSWERS.map(([, answer]) => answer), "DynamicToolCallResponse"].entries()) {
      const [answer] = sent.filter((message) => isResponse(message) && message["id"] === id);
      expect(answer?.["error"], name).toBeUndefined();
      expect(misfits(await load(name, "strict"), [answer?.["result"]])).toEqual([]);
    }
  });
});

test("what the simulated agent sends fits the schema as well", async () => {
  await using dir = await makeTempDir();
  const work = join(dir.path, "work");
  await mkdir(work);
  const fake = await writeFakeAppServer(dir.path, { tickets: TICKETS });
  const decisions: Readonly<Record<string, unknown>> = {
    "item/permissions/requestApproval": { permissions: {}, scope: "turn" },
    "item/tool/requestUserInput": { answers: {} },
    "mcpServer/elicitation/request": { action: "decline" },
    "item/tool/call": { success: true, contentItems: [] },
  };
  await using client = new AppServerClient({
    command: fake.argv,
    cwd: work,
    env: { PATH: process.env["PATH"] ?? "", HOME: dir.path },
    answer: (method) => decisions[method] ?? { decision: "accept" },
  });
  await client.initialize();
  const dynamicTools = [{ type: "function", name: "board", description: "the board", inputSchema: { type: "object" } }];
  const threadId = await client.thread("thread/start", { cwd: work, sandbox: "workspace-write", dynamicTools });
  await client.runTurn(threadId, "one", { sandboxPolicy: { type: "readOnly" } });
  const turnId = await client.startTurn(threadId, "two");
  await client.seen("item/completed", (params) => JSON.stringify(params).includes('"waiting"'));
  await client.request("turn/interrupt", { threadId, turnId });
  await client.turnEnd(turnId);
  await client.runTurn(threadId, "three");
  await client.close();
  const of = (kind: "request" | "notification"): unknown[] =>
    client.received.filter((message) => message.kind === kind).map(({ kind: _, ...message }) => message);
  expect(of("request")).toHaveLength(TOOL_ID + 1);
  expect(misfits(await load("ServerRequest", "lenient"), of("request"))).toEqual([]);
  expect(of("notification").length).toBeGreaterThan(30);
  expect(misfits(await load("ServerNotification", "lenient"), of("notification"))).toEqual([]);
});
