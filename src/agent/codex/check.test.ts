import { describe, expect, it } from "vitest";
import { codexBench, whileTimePasses, type CodexBench } from "../../../test/fakes/codex-bench.ts";
import { refusal, type Answer } from "../../../test/fakes/scripted-app-server.ts";
import { makeSettings } from "../../../test/support/issues.ts";
import type { CodexSettings } from "../../domain/settings.ts";
import type { AgentCheck } from "../port.ts";

function check(my: CodexBench, codex: Partial<CodexSettings> = {}): Promise<AgentCheck> {
  const request = { settings: makeSettings({ codex }), cwd: "/anywhere", runMarker: "check", spawned: () => {} };
  return my.backend.check({ ...request, signal: new AbortController().signal });
}

const LOGINS: readonly (readonly [name: string, answer: Answer, state: string])[] = [
  ["an account", { result: { account: { type: "chatgpt" }, requiresOpenaiAuth: true } }, "ok"],
  ["a provider that needs none", { result: { account: null, requiresOpenaiAuth: false } }, "ok"],
  ["no account where one is needed", { result: { account: null, requiresOpenaiAuth: true } }, "missing"],
  ["an old server", refusal("unknown variant `account/read`"), "unknown"],
  ["an answer of another shape", { result: {} }, "unknown"],
];

const SANDBOXES: readonly (readonly [name: string, answer: Answer, state: string])[] = [
  ["a command that runs", { result: { exitCode: 0, stdout: "", stderr: "" } }, "ok"],
  ["no user namespaces", { result: { exitCode: 1, stderr: "bwrap: Creating new namespace failed" } }, "broken"],
  ["an old server", refusal("unknown variant `command/exec`"), "unknown"],
];

describe("a look at the agent", () => {
  it.each(LOGINS)("tells its login by %s", async (_name, answer, state) => {
    const my = codexBench();
    my.server.on("account/read", () => answer);
    expect((await check(my)).login.state).toBe(state);
  });

  it.each(SANDBOXES)("tells its sandbox by %s", async (_name, answer, state) => {
    const my = codexBench();
    my.server.on("command/exec", () => answer);
    expect((await check(my)).sandbox.state).toBe(state);
    expect(my.server.calls("command/exec")).toMatchObject([
      { command: ["true"], sandboxPolicy: { type: "workspaceWrite" } },
    ]);
  });

  it("says what broke the sandbox and how to mend it", async () => {
    const my = codexBench();
    my.server.on("command/exec", () => ({ result: { exitCode: 1, stderr: "bwrap: setting up uid map\n" } }));
    expect((await check(my)).sandbox.message).toMatch(
      /status 1: bwrap: setting up uid map.*user namespaces.*turn_sandbox_policy/,
    );
  });

  it("doesn't try a sandbox that isn't used", async () => {
    const my = codexBench();
    const { sandbox, version } = await check(my, { threadSandbox: "danger-full-access" });
    expect(sandbox.state).toBe("ok");
    expect(version).toBe("0.171.0");
    expect(my.server.calls("command/exec")).toEqual([]);
  });

  const servers = { board: { command: "board" }, old: { command: "old", enabled: false }, web: { url: "https://x" } };

  it("warns where MCP tools would be refused without a word", async () => {
    const my = codexBench();
    my.server.on("config/read", () => ({ result: { config: { mcp_servers: servers } } }));
    const { warnings } = await check(my);
    expect(warnings).toEqual([expect.stringContaining("(board, web)")]);
    expect(warnings[0]).toContain("mcp_elicitations: true");
  });

  it.each([
    ["somebody is asked", { config: { mcp_servers: servers } }, { approvalPolicy: "on-request" }],
    ["there is no sandbox", { config: { mcp_servers: servers } }, { turnSandboxPolicy: { type: "dangerFullAccess" } }],
    ["there are no servers", { config: { mcp_servers: {} } }, {}],
    ["all are off", { config: { mcp_servers: { old: servers.old } } }, {}],
    ["the agent says something else", { config: null }, {}],
  ])("doesn't warn of MCP tools where %s", async (_name, result, codex) => {
    const my = codexBench();
    my.server.on("config/read", () => ({ result }));
    expect((await check(my, codex)).warnings).toEqual([]);
  });

  it("doesn't hang on an agent that doesn't answer", async () => {
    const my = codexBench();
    my.server.on("account/read", () => "silence").on("command/exec", () => "silence");
    const { login, sandbox } = await whileTimePasses(my, check(my));
    expect([login.state, sandbox.state]).toEqual(["unknown", "unknown"]);
  });

  it("rejects when the agent can't be started", async () => {
    const my = codexBench();
    my.server.on("initialize", (_params, server) =>
      server.after("silence", () => server.exit({ code: 127, signal: null })),
    );
    await expect(check(my)).rejects.toMatchObject({
      failure: { class: "launch", message: expect.stringContaining("codex.command") },
    });
  });
});
