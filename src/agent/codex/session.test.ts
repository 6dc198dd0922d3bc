import { mkdir, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { begin, codexBench } from "../../../test/fakes/codex-bench.ts";
import { refusal, THREAD } from "../../../test/fakes/scripted-app-server.ts";
import { makeSettings } from "../../../test/support/issues.ts";
import { makeTempDir } from "../../../test/support/temp-dir.ts";
import { until } from "../../../test/support/until.ts";
import { SessionStartError } from "../port.ts";

describe("opening", () => {
  it("greets, starts the thread read-only, and gives the policy with the turn", async () => {
    const my = codexBench();
    const session = await my.open({ tools: [{ name: "board", description: "d", inputSchema: { type: "object" } }] });
    await begin(my, session);
    const [hello] = my.server.calls("initialize");
    expect(hello).toMatchObject({
      clientInfo: { name: "symphony", title: "Symphony", version: "0.1.0" },
      capabilities: { experimentalApi: true },
    });
    expect(my.server.calls("thread/start")).toEqual([
      {
        cwd: "/workspace",
        approvalPolicy: "never",
        sandbox: "read-only",
        config: {
          "features.unbounded_connection_retries": false,
          allow_login_shell: false,
          "features.shell_snapshot": false,
        },
        serviceName: "symphony",
        dynamicTools: [{ type: "function", name: "board", description: "d", inputSchema: { type: "object" } }],
      },
    ]);
    expect(my.server.calls("turn/start")).toEqual([
      {
        threadId: THREAD,
        cwd: "/workspace",
        approvalPolicy: "never",
        clientUserMessageId: expect.stringMatching(/^intent-\d+$/),
        input: [{ type: "text", text: "go", text_elements: [] }],
        sandboxPolicy: {
          type: "workspaceWrite",
          writableRoots: ["/workspace"],
          networkAccess: false,
          excludeTmpdirEnvVar: false,
          excludeSlashTmp: false,
        },
      },
    ]);
    expect(my.recorder.of("session_started")).toEqual([
      { kind: "session_started", threadId: THREAD, resumed: false, model: "gpt-5.5", agentVersion: "0.171.0" },
    ]);
  });

  it("tells the process before the first word is said to it", async () => {
    const my = codexBench();
    let saidBefore = -1;
    my.recorder.spawned = () => void (saidBefore = my.server.received.length);
    await my.open();
    expect(saidBefore).toBe(0);
    expect(my.server.spawned).toMatchObject([
      {
        command: "codex app-server",
        cwd: "/workspace",
        marker: "run-1",
        env: { HOME: "/home/a", SYMPHONY_RUN_MARKER: "run-1" },
      },
    ]);
  });

  it("asks for the experimental part of the protocol only when it is used, and for no tools when there are none", async () => {
    const my = codexBench();
    await my.open();
    expect(my.server.calls("initialize")[0]?.["capabilities"]).toMatchObject({ experimentalApi: false });
    expect(my.server.calls("thread/start")[0]).not.toHaveProperty("dynamicTools");
    await my.open({ settings: makeSettings({ codex: { approvalPolicy: { granular: { rules: true } } } }) });
    expect(my.server.calls("initialize")[1]?.["capabilities"]).toMatchObject({ experimentalApi: true });
  });

  it("keeps a writable start from trusting the repository, and hands its AGENTS.md over", async () => {
    const my = codexBench();
    const settings = makeSettings({ codex: { threadSandbox: "workspace-write" } });
    await using dir = await makeTempDir();
    const workspacePath = join(dir.path, "T-1");
    await mkdir(workspacePath);
    await writeFile(join(workspacePath, "AGENTS.md"), "Use tabs.\n");
    await my.open({ settings, workspacePath });
    expect(my.server.calls("thread/start")[0]).toMatchObject({
      sandbox: "workspace-write",
      config: { projects: { [workspacePath]: { trust_level: "untrusted" } } },
      developerInstructions: "The repository's own instructions (AGENTS.md):\n\nUse tabs.",
    });
  });

  it("trusts the repository when it is told to", async () => {
    const my = codexBench();
    await my.open({ settings: makeSettings({ codex: { threadSandbox: "workspace-write", trustProject: true } }) });
    expect(my.server.calls("thread/start")[0]?.["config"]).not.toHaveProperty("projects");
    expect(my.server.calls("thread/start")[0]).not.toHaveProperty("developerInstructions");
  });

  it("reads past a profile's noise, also when it is glued to the first answer", async () => {
    const my = codexBench();
    my.server.on("initialize", (_params, server) => {
      server.raw("Welcome!\n\u001b]0;title\u0007");
      return { result: { userAgent: "symphony/0.171.0 (test)" } };
    });
    const session = await my.open();
    expect(session.agentVersion).toBe("0.171.0");
    expect(my.recorder.of("malformed")).toEqual([{ kind: "malformed", sample: "Welcome!" }]);
  });

  it.each([
    ["symphony/0.58.0 (Debian)", "0.58.0"],
    ["symphony/0.99.9", "0.99.9"],
  ])("refuses a server that is too old: %s", async (userAgent, version) => {
    const my = codexBench();
    my.server.on("initialize", () => ({ result: { userAgent } }));
    await expect(my.open()).rejects.toThrow(`codex ${version} is too old; install codex 0.100.0 or newer`);
    expect(my.server.calls("thread/start")).toEqual([]);
  });

  it.each([
    ["symphony/0.100.0", "0.100.0"],
    ["symphony/1.2.3-alpha.1 (x)", "1.2.3-alpha.1"],
    ["symphony/0.0.0 (built from source)", "0.0.0"],
    ["another-program/0.1.0 (x)", "another-program/0.1.0"],
    ["no version here", null],
    [undefined, null],
  ])("works with %s", async (userAgent, version) => {
    const my = codexBench();
    my.server.on("initialize", () => ({ result: { userAgent } }));
    expect((await my.open()).agentVersion).toBe(version);
  });

  it("gives up a start that gets no answer although other traffic goes on, and leaves no process", async () => {
    const my = codexBench();
    my.server.on("thread/start", () => "silence");
    const opened = my
      .open({ settings: makeSettings({ codex: { startTimeoutMs: 3000 } }) })
      .catch((error: unknown) => error);
    await my.server.untilCalled("thread/start");
    for (let second = 0; second < 4; second += 1) {
      my.server.notify("mcpServer/startupStatus/updated", { name: "slow" });
      await my.clock.advance(1000);
    }
    const error = await opened;
    expect(error).toBeInstanceOf(SessionStartError);
    expect(error).toMatchObject({
      failure: { class: "agent", retryable: true, message: expect.stringContaining("thread/start") },
    });
    expect(my.recorder.of("startup_failed")).toHaveLength(1);
    expect(my.clock.armedCount()).toBe(0);
  });

  it("fails with the last words of a process that ends before it greets", async () => {
    const my = codexBench();
    my.server.on("initialize", (_params, server) =>
      server.after("silence", () => server.exit({ code: 3, signal: null }, "\u001b[31mno home\u001b[0m\n")),
    );
    await expect(my.open()).rejects.toMatchObject({
      failure: { class: "launch", message: expect.stringContaining("status 3; its last words: no home") },
    });
  });

  it("starts again when several starts lost a race for the agent's database", async () => {
    const my = codexBench();
    my.server.onEach("initialize", [
      (_params, server) =>
        server.after("silence", () => server.exit({ code: 1, signal: null }, "Error: database is locked")),
      () => ({ result: {} }),
    ]);
    const opened = my.open();
    await until("the first start has failed", () => my.clock.nextDueAt() !== null && my.server.spawned.length === 1);
    await my.clock.advance(1000);
    await opened;
    expect(my.server.spawned).toHaveLength(2);
    expect(my.recorder.identities.map(({ pid }) => pid)).toEqual([1001, 1002]);
  });

  it("ends when its signal aborts, at any point", async () => {
    for (const stuck of ["initialize", "thread/start"]) {
      const my = codexBench();
      my.server.on(stuck, () => "silence");
      const abort = new AbortController();
      const opened = my.open({ signal: abort.signal });
      await my.server.untilCalled(stuck);
      abort.abort();
      await expect(opened).rejects.toThrow("cancelled");
      await until("nothing is waited for", () => my.clock.armedCount() === 0);
    }
    const my = codexBench();
    await expect(my.open({ signal: AbortSignal.abort() })).rejects.toBeInstanceOf(SessionStartError);
    expect(my.server.spawned).toEqual([]);
  });

  it("doesn't end with its signal once it is open", async () => {
    const my = codexBench();
    const abort = new AbortController();
    const session = await my.open({ signal: abort.signal });
    abort.abort();
    const { end, id } = await begin(my, session);
    my.server.endTurn(id, "completed");
    expect(await end).toEqual({ kind: "completed" });
  });

  it("names the setting that the agent refuses, and doesn't call it transient", async () => {
    const my = codexBench();
    my.server.on("thread/start", () =>
      refusal("Invalid request: unknown variant `on-failure`, expected one of `untrusted`, `never`"),
    );
    await expect(
      my.open({ settings: makeSettings({ codex: { approvalPolicy: "on-failure" } }) }),
    ).rejects.toMatchObject({
      failure: {
        class: "config_refused",
        retryable: false,
        message: expect.stringContaining('codex.approval_policy: "on-failure"'),
      },
    });
  });
});
