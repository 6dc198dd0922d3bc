import { mkdir, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { begin, codexBench, whileTimePasses, type CodexBench } from "../../../test/fakes/codex-bench.ts";
import { refusal, THREAD } from "../../../test/fakes/scripted-app-server.ts";
import { makeSettings } from "../../../test/support/issues.ts";
import { makeTempDir } from "../../../test/support/temp-dir.ts";
import { until } from "../../../test/support/until.ts";
import type { SessionRequest } from "../port.ts";
import { toolsKey, type ThreadBinding } from "../thread-binding.ts";

describe("resuming", () => {
  it("passes what a start would, without tools and without the history", async () => {
    const my = codexBench();
    const session = await my.open({ threadId: "old", tools: [{ name: "board", description: "", inputSchema: {} }] });
    expect(session).toMatchObject({ threadId: "old", resumed: true });
    expect(my.server.calls("thread/resume")).toEqual([
      {
        threadId: "old",
        cwd: "/workspace",
        approvalPolicy: "never",
        sandbox: "read-only",
        config: {
          "features.unbounded_connection_retries": false,
          allow_login_shell: false,
          "features.shell_snapshot": false,
        },
        excludeTurns: true,
      },
    ]);
    expect(my.server.calls("thread/start")).toEqual([]);
  });

  it.each(["no rollout found for thread id old", "session is archived"])(
    "starts fresh, once, when the answer is: %s",
    async (text) => {
      const my = codexBench();
      my.server.on("thread/resume", () => refusal(text));
      expect(await my.open({ threadId: "old" })).toMatchObject({ threadId: THREAD, resumed: false });
      expect(my.server.calls("thread/resume")).toHaveLength(1);
      expect(my.server.calls("thread/start")).toHaveLength(1);
    },
  );

  it("ends what earlier runs have left when the thread is in use, and waits a little for it", async () => {
    const my = codexBench();
    const inUse = refusal("thread old already has an active writer");
    my.server.onEach("thread/resume", [
      () => inUse,
      () => inUse,
      ({ threadId }) => ({ result: { thread: { id: threadId } } }),
    ]);
    let asked = 0;
    const endEarlier = async (): Promise<void> => void (asked += 1);
    const opened = my.open({ threadId: "old", endEarlier });
    expect(await whileTimePasses(my, opened)).toMatchObject({ threadId: "old", resumed: true, replaced: null });
    expect(asked).toBe(1);
  });

  it("leaves a thread that somebody else keeps, and says so", async () => {
    const my = codexBench();
    my.server.on("thread/resume", () => refusal("thread old already has an active writer"));
    const session = await whileTimePasses(my, my.open({ threadId: "old" }));
    const replaced = "thread old already has an active writer";
    expect(session).toMatchObject({ threadId: THREAD, resumed: false, replaced });
    expect(my.recorder.of("session_started", "warning")).toMatchObject([
      { kind: "session_started", threadId: THREAD, resumed: false },
      { kind: "warning", text: `thread old was left for a fresh one: ${replaced}` },
    ]);
    const warned = my.log.warnings().map((line) => JSON.parse(line) as unknown);
    expect(warned).toContainEqual(expect.objectContaining({ thread_id: "old", reason: replaced }));
  });

  it("takes a thread back that a killed process left in the archive", async () => {
    const my = codexBench();
    my.server
      .onEach("thread/resume", [
        () => refusal("session old is archived."),
        () => ({ result: { thread: { id: "old" } } }),
      ])
      .on("thread/unarchive", () => ({ result: {} }));
    expect(await my.open({ threadId: "old" })).toMatchObject({ threadId: "old", resumed: true });
    expect(my.server.calls("thread/unarchive")).toEqual([{ threadId: "old" }]);
  });

  it("leaves a thread that can't be taken back from the archive", async () => {
    const my = codexBench();
    my.server.on("thread/resume", () => refusal("session old is archived."));
    my.server.on("thread/unarchive", () => refusal("no archived rollout found for thread id old"));
    expect(await my.open({ threadId: "old" })).toMatchObject({ resumed: false, replaced: "session old is archived." });
  });

  it("takes the old total that comes with the answer for the thread's own", async () => {
    const my = codexBench();
    const usage = { tokenUsage: { total: { inputTokens: 70, outputTokens: 7 } } };
    my.server.on("thread/resume", (_params, server) =>
      server.after({ result: { thread: { id: THREAD }, model: "gpt-5.5-mini" } }, () =>
        server.notify("thread/tokenUsage/updated", usage),
      ),
    );
    await my.open({ threadId: THREAD });
    await until("it is told", () => my.recorder.of("tokens").length > 0);
    // Whoever counts needs the model first.
    expect(my.recorder.events.map((event) => event.kind)).toEqual(["session_started", "tokens"]);
    expect(my.recorder.of("session_started")).toMatchObject([{ resumed: true, model: "gpt-5.5-mini" }]);
    expect(my.recorder.of("tokens")).toMatchObject([
      { threadId: THREAD, total: { input: 70, output: 7 }, subAgent: false },
    ]);
  });

  it("calls a total of an earlier process's turn a repetition, however late it comes, and those of its own turns not", async () => {
    const my = codexBench();
    const usage = (turnId: string, inputTokens: number, threadId = THREAD): Readonly<Record<string, unknown>> => ({
      threadId,
      turnId,
      tokenUsage: { total: { inputTokens, outputTokens: 1 } },
    });
    const session = await my.open({ threadId: THREAD });
    const { end, id } = await begin(my, session);
    my.server.notify("thread/tokenUsage/updated", usage("of-before", 70));
    my.server.notify("thread/tokenUsage/updated", usage(id, 90));
    my.server.notify("turn/started", { threadId: "child", turn: { id: "child-turn" } });
    my.server.notify("thread/tokenUsage/updated", usage("child-turn", 5, "child"));
    my.server.notify("thread/tokenUsage/updated", usage("child-of-before", 4, "other"));
    my.server.endTurn(id, "completed");
    await end;
    my.server.notify("thread/tokenUsage/updated", usage(id, 95));
    await until("all are told", () => my.recorder.of("tokens").length === 5);
    expect(my.recorder.of("tokens").map(({ total, replayed }) => [total.input, replayed])).toEqual([
      [70, true],
      [90, false],
      [5, false],
      [4, true],
      [95, false],
    ]);
  });

  it("never calls a fresh thread's total a repetition", async () => {
    const my = codexBench();
    await my.open();
    const params = { turnId: "unheard-of", tokenUsage: { total: { inputTokens: 3, outputTokens: 1 } } };
    my.server.notify("thread/tokenUsage/updated", params);
    await until("it is told", () => my.recorder.of("tokens").length === 1);
    expect(my.recorder.of("tokens")).toMatchObject([{ replayed: false }]);
  });
});

describe("a thread's binding", () => {
  const tools = [{ name: "board", description: "d", inputSchema: { type: "object" } }] as const;
  const KEPT: ThreadBinding = {
    cwd: "/workspace",
    home: "/home/a/.codex",
    modelProvider: "openai",
    model: "gpt-5.5",
    effort: "medium",
    agentVersion: "0.139.0",
    tools: toolsKey(tools),
  };

  /** A server at home in KEPT's place, whose configuration names this provider. */
  function homeBench(provider: string | null): CodexBench {
    const my = codexBench();
    my.server.on("initialize", () => ({ result: { userAgent: "symphony/0.171.0", codexHome: "/home/a/.codex" } }));
    my.server.on("config/read", () => ({ result: { config: { model_provider: provider } } }));
    const reply = { model: "gpt-5.5", modelProvider: "openai", reasoningEffort: "medium" };
    my.server.on("thread/start", () => ({ result: { thread: { id: THREAD }, ...reply } }));
    my.server.on("thread/resume", ({ threadId }) => ({ result: { thread: { id: threadId }, ...reply } }));
    return my;
  }

  it("is told by the answers to a fresh thread's start", async () => {
    const session = await homeBench(null).open({ tools });
    expect(session.binding).toEqual({ ...KEPT, agentVersion: "0.171.0" });
  });

  it("that fits is resumed, and has the version of the agent that goes on", async () => {
    const my = homeBench(null);
    const session = await my.open({ threadId: "old", binding: KEPT, tools });
    expect(session).toMatchObject({ resumed: true, replaced: null, binding: { ...KEPT, agentVersion: "0.171.0" } });
  });

  it.each([
    ["another provider", "azure", {}, "the model provider was openai and is azure now"],
    ["another home", null, { home: "/old" }, "the agent's home was /old and is /home/a/.codex now"],
    ["another workspace", null, { cwd: "/moved" }, "its workspace was /moved and is /workspace now"],
    ["other tools", null, { tools: "x" }, "the tools that it was made with are others now"],
  ])("with %s starts a fresh thread, and says why", async (_name, provider, change, why) => {
    const my = homeBench(provider);
    const session = await my.open({ threadId: "old", binding: { ...KEPT, ...change }, tools });
    expect(session).toMatchObject({ threadId: THREAD, resumed: false, replaced: why });
    expect(my.server.calls("thread/resume")).toEqual([]);
    expect(my.recorder.of("warning")).toMatchObject([{ text: `thread old was left for a fresh one: ${why}` }]);
  });

  it.each([
    ["refuses to", () => refusal("unknown variant `config/read`")],
    ["doesn't answer when asked to", () => "silence" as const],
  ])("fits where an older server %s tell its provider", async (_name, answer) => {
    const my = codexBench();
    my.server.on("config/read", answer);
    const opened = my.open({ threadId: "old", binding: KEPT, tools });
    expect(await whileTimePasses(my, opened)).toMatchObject({ resumed: true });
  });
});

describe("a session's own model, effort and instructions", () => {
  const reply = { model: "gpt-5.5", reasoningEffort: "medium" };

  async function turnOf(my: CodexBench, overrides: Partial<SessionRequest>): Promise<unknown> {
    const session = await my.open(overrides);
    const { end } = await begin(my, session);
    await session.close();
    await end;
    return my.server.calls("turn/start").at(-1);
  }

  it("go with its turns and with a fresh thread's start, and leave the thread its own", async () => {
    const my = codexBench();
    my.server.on("thread/start", () => ({ result: { thread: { id: THREAD }, ...reply } }));
    const own = { model: "gpt-5.4", effort: "high", developerInstructions: "Speak softly." };
    const session = await my.open(own);
    await begin(my, session);
    expect(my.server.calls("turn/start")).toMatchObject([{ model: "gpt-5.4", effort: "high" }]);
    expect(my.server.calls("thread/start")).toMatchObject([{ developerInstructions: "Speak softly." }]);
    expect(my.server.calls("thread/start")[0]).not.toHaveProperty("model");
    expect(session.binding).toMatchObject({ model: "gpt-5.5", effort: "medium" });
    expect(my.recorder.of("session_started")).toMatchObject([{ model: "gpt-5.4" }]);
  });

  it("end with it: the next session asks for the thread's own again", async () => {
    const my = codexBench();
    const binding = (await my.open()).binding;
    const sticking = { model: "gpt-5.4", reasoningEffort: "high" };
    my.server.on("thread/resume", ({ threadId }) => ({ result: { thread: { id: threadId }, ...sticking } }));
    const kept = { ...binding, model: "gpt-5.5", effort: "medium" };
    expect(await turnOf(my, { threadId: THREAD, binding: kept })).toMatchObject({ model: "gpt-5.5", effort: "medium" });
    my.server.on("thread/resume", ({ threadId }) => ({ result: { thread: { id: threadId }, ...reply } }));
    const plain = await turnOf(my, { threadId: THREAD, binding: kept });
    expect(plain).not.toHaveProperty("model");
    expect(plain).not.toHaveProperty("effort");
  });

  it("give way to a turn's own", async () => {
    const my = codexBench();
    const session = await my.open({ model: "gpt-5.4", effort: "high" });
    void session.runTurn({ prompt: "go", intentId: "i", model: "gpt-5.3", effort: "low" });
    await my.server.untilCalled("turn/start");
    expect(my.server.calls("turn/start")).toMatchObject([{ model: "gpt-5.3", effort: "low" }]);
  });

  it("follow what an untrusted repository says", async () => {
    const my = codexBench();
    await using dir = await makeTempDir();
    const workspacePath = join(dir.path, "T-1");
    await mkdir(workspacePath);
    await writeFile(join(workspacePath, "AGENTS.md"), "Use tabs.\n");
    const settings = makeSettings({ codex: { threadSandbox: "workspace-write" } });
    await my.open({ settings, workspacePath, developerInstructions: "Speak softly." });
    expect(my.server.calls("thread/start")[0]?.["developerInstructions"]).toBe(
      "The repository's own instructions (AGENTS.md):\n\nUse tabs.\n\nSpeak softly.",
    );
  });
});
