import { tmpdir } from "node:os";
import { describe, expect, it } from "vitest";
import { createLocalHost } from "../../src/host/local.ts";
import { begin, codexBench, policies, whileTimePasses, type CodexBench } from "../fakes/codex-bench.ts";
import { THREAD } from "../fakes/scripted-app-server.ts";
import { captureLog } from "../support/captured-log.ts";
import { makeSettings } from "../support/issues.ts";
import { makeTempDir } from "../support/temp-dir.ts";
import { until } from "../support/until.ts";

const ENV = { PATH: process.env["PATH"] ?? "", HOME: process.env["HOME"] ?? "" };
const TOOL = { name: "board", description: "d", inputSchema: { type: "object" } } as const;

/** The one answer that the client gives to a request of the server's. */
async function answered(my: CodexBench, id: number): Promise<unknown> {
  const answers = await my.server.answerTo(id);
  expect(answers).toHaveLength(1);
  return answers[0];
}

describe("17.5 App-server client", () => {
  it("the command is run by bash in the workspace", async () => {
    await using dir = await makeTempDir();
    const { output } = await createLocalHost({ log: captureLog().log }).runScript({
      script: 'echo "$BASH_VERSION in $PWD"',
      cwd: dir.path,
      env: ENV,
      timeoutMs: 20_000,
      marker: `conformance-${process.pid}`,
    });
    expect(output).toMatch(/^\d/);
    expect(output.trim().endsWith(` in ${dir.path}`)).toBe(true);
    const my = codexBench();
    await my.open({ settings: makeSettings({ codex: { command: "codex app-server --flag" } }) });
    expect(my.server.spawned).toMatchObject([{ command: "codex app-server --flag", cwd: "/workspace" }]);
  });

  it("the handshake is initialize, initialized, thread/start, turn/start", async () => {
    const my = codexBench();
    await begin(my, await my.open());
    const methods = my.server.received.map((message) => message.method);
    expect(methods).toEqual(["initialize", "initialized", "thread/start", "turn/start"]);
  });

  it("initialize says who the client is and what it can do", async () => {
    const my = codexBench();
    await my.open({ tools: [TOOL] });
    expect(my.server.calls("initialize")).toMatchObject([
      { clientInfo: { name: "symphony", version: "0.1.0" }, capabilities: { experimentalApi: true } },
    ]);
  });

  it("thread and turn carry the documented policies", async () => {
    const my = codexBench();
    await begin(my, await my.open());
    expect(my.server.calls("thread/start")).toMatchObject([
      { cwd: "/workspace", approvalPolicy: "never", sandbox: "read-only" },
    ]);
    expect(my.server.calls("turn/start")).toMatchObject([
      {
        cwd: "/workspace",
        approvalPolicy: "never",
        sandboxPolicy: { type: "workspaceWrite", writableRoots: ["/workspace"], networkAccess: false },
      },
    ]);
  });

  it("a session is announced with thread and turn", async () => {
    const my = codexBench();
    const { id } = await begin(my, await my.open());
    expect(my.recorder.of("session_started")).toMatchObject([{ threadId: THREAD, resumed: false }]);
    expect(my.recorder.of("turn_started")).toEqual([{ kind: "turn_started", turnId: id }]);
  });

  it("a request that gets no answer times out", async () => {
    const my = codexBench();
    my.server.on("turn/start", () => "silence");
    const session = await my.open();
    const end = await whileTimePasses(my, session.runTurn({ prompt: "go", intentId: "i" }));
    expect(end).toMatchObject({ kind: "failed", retryable: true });
    expect(end.kind === "failed" ? end.message : "").toContain("turn/start");
  });

  it("a line is handled when it is whole", async () => {
    const my = codexBench();
    const { end, id } = await begin(my, await my.open());
    const line = `${JSON.stringify({ method: "turn/completed", params: { threadId: THREAD, turn: { id, status: "completed" } } })}\n`;
    let isOver = false;
    void end.then(() => (isOver = true));
    my.server.raw(line.slice(0, 40));
    await my.clock.advance(1000);
    expect(isOver).toBe(false);
    my.server.raw(line.slice(40));
    expect(await end).toEqual({ kind: "completed" });
  });

  it("stderr never meets the protocol", async () => {
    const host = createLocalHost({ log: captureLog().log });
    const child = await host.spawn({
      command: `echo '{"id":1}' >&2; echo '{"id":2}'; cat >/dev/null`,
      cwd: tmpdir(),
      env: ENV,
      marker: `conformance-stderr-${process.pid}`,
    });
    let said = "";
    child.stdout.on("data", (chunk: Buffer) => (said += chunk.toString()));
    await until("both have spoken", () => said.includes("\n") && child.stderrTail().includes("\n"));
    await child.stop();
    expect([said, child.stderrTail()]).toEqual(['{"id":2}\n', '{"id":1}\n']);
  });

  it("approvals are settled by policy", async () => {
    for (const [policy, decision] of [
      ["decline", "decline"],
      ["accept", "accept"],
    ] as const) {
      const my = codexBench();
      const { id: turnId } = await begin(my, await my.open(policies(policy)));
      for (const method of ["item/commandExecution/requestApproval", "item/fileChange/requestApproval"]) {
        const id = my.server.ask(method, { turnId, itemId: "item-1", command: "ls", reason: null });
        expect(await answered(my, id)).toMatchObject({ result: { decision } });
      }
    }
  });

  it("a question to the user never hangs the run", async () => {
    const my = codexBench();
    const { end, id: turnId } = await begin(my, await my.open());
    const questions = [{ id: "q", header: "h", question: "Which?", isOther: false, isSecret: false, options: null }];
    const id = my.server.ask("item/tool/requestUserInput", { turnId, itemId: "i", questions });
    expect(await answered(my, id)).toMatchObject({ result: { answers: {} } });
    my.server.endTurn(turnId, "completed");
    expect(await end).toEqual({ kind: "completed" });
  });

  it("every unknown request of the agent is answered", async () => {
    const my = codexBench();
    await begin(my, await my.open());
    const id = my.server.ask("item/somethingNew/requestApproval", {});
    expect(await answered(my, id)).toMatchObject({ error: { code: expect.any(Number) } });
  });

  it("token and rate-limit payloads are read from their nested shapes", async () => {
    const my = codexBench();
    await begin(my, await my.open());
    const usage = { inputTokens: 10, cachedInputTokens: 4, outputTokens: 3, reasoningOutputTokens: 1, totalTokens: 13 };
    my.server.notify("thread/tokenUsage/updated", { turnId: "turn-1", tokenUsage: { total: usage, last: usage } });
    my.server.notify("account/rateLimits/updated", { rateLimits: { limitId: "codex", primary: { usedPercent: 7 } } });
    const tokens = await until("tokens are told", () => my.recorder.of("tokens")[0]);
    expect(tokens).toMatchObject({ total: { input: 10, cachedInput: 4, output: 3, reasoning: 1 }, subAgent: false });
    const limits = await until("limits are told", () => my.recorder.of("rate_limits")[0]);
    expect(JSON.stringify(limits)).toContain('"usedPercent":7');
  });

  it("the tools are advertised at thread start", async () => {
    const my = codexBench();
    await my.open({ tools: [TOOL] });
    expect(my.server.calls("thread/start")).toMatchObject([{ dynamicTools: [{ type: "function", ...TOOL }] }]);
  });

  it("an unknown tool call is refused and the session goes on", async () => {
    const my = codexBench();
    const { end, id: turnId } = await begin(my, await my.open({ tools: [TOOL] }));
    const call = { turnId, callId: "c", namespace: null, tool: "nonsense", arguments: {} };
    expect(await answered(my, my.server.ask("item/tool/call", call))).toMatchObject({ result: { success: false } });
    my.server.endTurn(turnId, "completed");
    expect(await end).toEqual({ kind: "completed" });
  });

  it("the tracker's key is nowhere in the agent's environment", async () => {
    const key = "lin_api_secret_of_the_tracker";
    const my = codexBench({ LINEAR_API_KEY: key, OPENAI_NOTE: `see ${key}`, CODEX_HOME: "/home/a/.codex" });
    await my.open({ settings: makeSettings({ rest: { secrets: [{ envNames: ["LINEAR_API_KEY"], value: key }] } }) });
    const env = my.server.spawned[0]?.env ?? {};
    expect(env["CODEX_HOME"]).toBe("/home/a/.codex");
    expect(Object.keys(env)).not.toContain("LINEAR_API_KEY");
    expect(JSON.stringify(env)).not.toContain(key);
  });
});
