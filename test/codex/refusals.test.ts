/** What the real app-server refuses, and in which words: the simulated agent refuses the same. */
import { mkdir } from "node:fs/promises";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { expect, test } from "vitest";
import { AppServerClient, type Params, RefusedError } from "../fakes/app-server-client.ts";
import { say, startResponsesServer } from "../fakes/responses-server.ts";
import { makeTempDir } from "../support/temp-dir.ts";
import { installCodex, makeCodexHome } from "./codex-binary.ts";

const SIMULATED = fileURLToPath(new URL("../../src/agent/simulated/main.ts", import.meta.url));
const NOBODY = "01a22e54-d8d1-7f53-9752-9c7a2e50717b";

function tool(name: string): Params {
  return { type: "function", name, description: "a tool", inputSchema: { type: "object" } };
}

function text(value: string): readonly Params[] {
  return [{ type: "text", text: value }];
}

/** Requests that are refused before any thread exists, then with one, by what they show. */
function badRequests(cwd: string, threadId: string): readonly (readonly [string, Params])[] {
  return [
    ["initialize", { clientInfo: { name: "again", version: "1" } }],
    ["thread/start", { cwd: 5 }],
    ["thread/start", { cwd, approvalPolicy: "on-failure" }],
    ["thread/start", { cwd, approvalPolicy: { reject: { sandbox_approval: true } } }],
    ["thread/start", { cwd, sandbox: "workspaceWrite" }],
    ["thread/start", { cwd, dynamicTools: [tool("same"), tool("same")] }],
    ["thread/start", { cwd, dynamicTools: [tool("two words")] }],
    ["turn/start", { threadId: NOBODY, input: text("x") }],
    ["turn/start", { input: text("x") }],
    ["turn/start", { threadId }],
    ["turn/start", { threadId, input: [{ type: "txt", text: "x" }] }],
    ["turn/start", { threadId, input: text("x"), sandboxPolicy: { type: "workspace-write" } }],
    ["turn/start", { threadId, input: text("x".repeat(1_048_577)) }],
    ["turn/interrupt", { threadId }],
    ["turn/interrupt", { threadId, turnId: NOBODY }],
    ["turn/steer", { threadId, input: text("x") }],
    ["turn/steer", { threadId, expectedTurnId: NOBODY, input: text("x") }],
    ["thread/resume", { threadId: NOBODY }],
    ["thread/resume", { threadId }],
    ["thread/read", { threadId: NOBODY }],
    ["thread/turns/list", { threadId, limit: 1 }],
    ["thread/compact/start", { threadId: NOBODY }],
    ["thread/archive", { threadId: NOBODY }],
    ["thread/unarchive", { threadId: NOBODY }],
    ["thread/unarchive", { threadId }],
    ["command/exec", { command: [] }],
    ["account/rateLimits/read", {}],
  ];
}

async function refusal(client: AppServerClient, method: string, params: Params): Promise<string> {
  try {
    await client.request(method, params);
    return `${method} was accepted`;
  } catch (error) {
    if (!(error instanceof RefusedError)) throw error;
    return `${error.code} ${error.message}`;
  }
}

async function refusals(command: readonly [string, ...string[]], cwd: string, home: string): Promise<string[]> {
  const env = { PATH: process.env["PATH"] ?? "", HOME: home, CODEX_HOME: home };
  await using plain = new AppServerClient({ command, cwd, env });
  const early = await refusal(plain, "thread/start", { cwd });
  await plain.initialize(false);
  const gated = await refusal(plain, "thread/start", { cwd, dynamicTools: [] });
  await plain.close();
  await using client = new AppServerClient({ command, cwd, env });
  await client.initialize();
  const threadId = await client.thread("thread/start", { cwd, approvalPolicy: "never", sandbox: "read-only" });
  const answers: string[] = [];
  for (const [method, params] of badRequests(cwd, threadId)) answers.push(await refusal(client, method, params));
  const unknown = await refusal(client, "no/such/method", {});
  await client.close();
  const all = [early, gated, ...answers, unknown.replace(/expected one of .*/, "expected one of ...")];
  return all.map((line) => line.replaceAll(threadId, "THREAD"));
}

test("bad requests are refused with the real server's codes and words", async () => {
  await using dir = await makeTempDir();
  const cwd = join(dir.path, "work");
  await mkdir(cwd);
  const server = await startResponsesServer(() => say("never asked"));
  try {
    const home = await makeCodexHome(dir.path, server.baseUrl);
    const real = await refusals([await installCodex(), "app-server"], cwd, home);
    const simulated = await refusals([process.execPath, SIMULATED], cwd, home);
    expect(simulated).toEqual(real);
    expect(real.filter((line) => line.includes("was accepted"))).toEqual([]);
    expect(server.requests).toHaveLength(0);
  } finally {
    await server.close();
  }
});
