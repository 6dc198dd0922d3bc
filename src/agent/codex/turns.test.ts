import { describe, expect, it } from "vitest";
import { begin, codexBench, whileTimePasses } from "../../../test/fakes/codex-bench.ts";
import { refusal, THREAD } from "../../../test/fakes/scripted-app-server.ts";
import { makeSettings } from "../../../test/support/issues.ts";
import { until } from "../../../test/support/until.ts";

const USAGE = { tokenUsage: { total: { inputTokens: 10, outputTokens: 1 } } };

describe("a turn", () => {
  it.each([
    ["completed", null, { kind: "completed" }],
    ["interrupted", null, { kind: "interrupted" }],
    [
      "failed",
      { message: "boom", codexErrorInfo: "internalServerError" },
      { kind: "failed", class: "agent", message: "boom" },
    ],
    ["failed", null, { kind: "failed", class: "agent" }],
    ["somethingNew", null, { kind: "failed", class: "agent", message: 'unknown turn status "somethingNew"' }],
  ])("with status %s ends by it", async (status, error, expected) => {
    const my = codexBench();
    const { end, id } = await begin(my, await my.open());
    my.server.endTurn(id, status, error);
    expect(await end).toMatchObject(expected);
  });

  it("ends by its status alone, not by an error that came before, final or not", async () => {
    const my = codexBench();
    const { end, id } = await begin(my, await my.open());
    for (const willRetry of [true, false]) {
      my.server.notify("error", { turnId: id, willRetry, error: { message: "x" } });
    }
    my.server.endTurn(id, "completed");
    expect(await end).toEqual({ kind: "completed" });
  });

  it("that failed without saying why takes the last final error", async () => {
    const my = codexBench();
    const { end, id } = await begin(my, await my.open());
    const error = { message: "limit", codexErrorInfo: "usageLimitExceeded" };
    my.server.notify("error", { turnId: id, willRetry: false, error });
    my.server.endTurn(id, "failed");
    expect(await end).toMatchObject({ class: "usage_limit", message: "limit" });
  });

  it("knows when a usage limit resets", async () => {
    const my = codexBench();
    const { end, id } = await begin(my, await my.open());
    const resetsAt = Math.floor(my.clock.now() / 1000) + 600;
    my.server.notify("account/rateLimits/updated", {
      rateLimits: { limitId: "codex", primary: { usedPercent: 100, resetsAt } },
    });
    my.server.endTurn(id, "failed", { message: "limit", codexErrorInfo: "usageLimitExceeded" });
    expect(await end).toMatchObject({ class: "usage_limit", resetsAt: resetsAt * 1000 });
  });

  it("isn't ended by another thread's turn, by an old turn, or by junk", async () => {
    const my = codexBench();
    const session = await my.open();
    const first = await begin(my, session);
    my.server.endTurn(first.id, "completed");
    await first.end;
    const { end, id } = await begin(my, session);
    my.server.notify("turn/completed", { threadId: "child", turn: { id: "x", status: "failed" } });
    my.server.endTurn(first.id, "failed");
    my.server.endTurn("never-heard-of", "failed");
    my.server.raw(
      '{"method":"turn/completed"}\n{"method":"turn/completed","params":{"threadId":"thread-1","turn":{}}}\n',
    );
    my.server.endTurn(id, "completed");
    expect(await end).toEqual({ kind: "completed" });
  });

  it("is read whatever else is in the messages, and whatever is missing", async () => {
    const my = codexBench();
    const session = await my.open();
    const end = session.runTurn({ prompt: "go", intentId: "i" });
    await my.server.untilCalled("turn/start");
    my.server.raw(
      '{"method":"item/started","params":{"threadId":"thread-1","item":{"type":"newThing","id":"n","x":[{}]}},"zzz":1}\n',
    );
    my.server.notify("item/completed", { item: { type: "agentMessage", id: "m", text: "hi", newField: { a: 1 } } });
    my.server.notify("brand/new", { anything: [1] });
    my.server.notify("thread/tokenUsage/updated", USAGE);
    my.server.raw(
      '{"method":"turn/completed","params":{"threadId":"thread-1","turn":{"id":"turn-1","status":"completed"}}}\n',
    );
    expect(await end).toEqual({ kind: "completed" });
    expect(my.recorder.of("message")).toMatchObject([{ kind: "message", text: "hi" }]);
  });

  it("that starts and ends in one breath is told from start to end", async () => {
    const my = codexBench();
    my.server.on("turn/start", (_params, server) =>
      server.after({ result: { turn: { id: "fast" } } }, () => server.endTurn("fast", "completed")),
    );
    const session = await my.open();
    expect(await session.runTurn({ prompt: "go", intentId: "i" })).toEqual({ kind: "completed" });
    expect(my.recorder.of("turn_started", "turn_completed")).toEqual([
      { kind: "turn_started", turnId: "fast" },
      { kind: "turn_completed", turnId: "fast" },
    ]);
  });

  it("waits for the one before it", async () => {
    const my = codexBench();
    const session = await my.open();
    const first = session.runTurn({ prompt: "one", intentId: "1" });
    const second = session.runTurn({ prompt: "two", intentId: "2" });
    await until("the first has started", () => my.recorder.of("turn_started").length === 1);
    expect(my.server.calls("turn/start")).toHaveLength(1);
    my.server.endTurn("turn-1", "failed");
    expect((await first).kind).toBe("failed");
    await my.server.untilCalled("turn/start", 2);
    my.server.endTurn("turn-2", "completed");
    expect(await second).toEqual({ kind: "completed" });
  });

  it("fails with a refusal of its start, and the next one goes on", async () => {
    const my = codexBench();
    const policy = { type: "workspace-write" };
    my.server.onEach("turn/start", [
      () => refusal("Invalid request: unknown variant `workspace-write`, expected one of `readOnly`, `workspaceWrite`"),
      (_params, server) => server.startTurn(),
    ]);
    const session = await my.open({ settings: makeSettings({ codex: { turnSandboxPolicy: policy } }) });
    expect(await session.runTurn({ prompt: "go", intentId: "i" })).toMatchObject({
      class: "config_refused",
      retryable: false,
      message: expect.stringContaining("accepted are readOnly, workspaceWrite"),
    });
    expect(my.server.calls("turn/start")[0]?.["sandboxPolicy"]).toEqual(policy);
    const { end, id } = await begin(my, session);
    my.server.endTurn(id, "completed");
    expect(await end).toEqual({ kind: "completed" });
  });

  it("fails when its start is never answered, unless it has begun all the same", async () => {
    const my = codexBench();
    const session = await my.open();
    my.server.on("turn/start", () => "silence");
    const lost = session.runTurn({ prompt: "go", intentId: "i" });
    await my.server.untilCalled("turn/start");
    expect(await whileTimePasses(my, lost)).toMatchObject({ kind: "failed", class: "agent", retryable: true });
    my.server.on("turn/start", (_params, server) =>
      server.after("silence", () => server.notify("turn/started", { turn: { id: "t" } })),
    );
    const { end, id } = await begin(my, session);
    await my.clock.advance(10_000);
    my.server.endTurn(id, "completed");
    expect(await end).toEqual({ kind: "completed" });
  });

  it("fails with the last words of a process that dies in it; later ones fail at once", async () => {
    const my = codexBench();
    const session = await my.open();
    const { end } = await begin(my, session);
    my.server.exit({ code: null, signal: "SIGKILL" }, "thread 'main' panicked");
    expect(await end).toMatchObject({
      kind: "failed",
      class: "agent",
      retryable: true,
      message: expect.stringMatching(/by SIGKILL; its last words: thread 'main' panicked/),
    });
    expect((await session.runTurn({ prompt: "go", intentId: "i" })).kind).toBe("failed");
    await session.close();
  });

  it("is read to its end when the process dies right behind it", async () => {
    const my = codexBench();
    const { end, id } = await begin(my, await my.open());
    my.server.raw(
      JSON.stringify({ method: "turn/completed", params: { threadId: THREAD, turn: { id, status: "completed" } } }),
    );
    my.server.exit({ code: 0, signal: null });
    expect(await end).toEqual({ kind: "completed" });
  });

  it("ends as interrupted when its session is closed", async () => {
    const my = codexBench();
    const session = await my.open();
    const { end } = await begin(my, session);
    await Promise.all([session.close(), session.close()]);
    expect(await end).toEqual({ kind: "interrupted" });
    await until("nothing is waited for", () => my.clock.armedCount() === 0);
  });

  it("takes a prompt of any length, and says what it left out", async () => {
    const my = codexBench();
    const session = await my.open();
    void session.runTurn({ prompt: `${"x".repeat(1_048_000)}${"😀".repeat(1000)}`, intentId: "i" });
    await my.server.untilCalled("turn/start");
    const input = my.server.calls("turn/start")[0]?.["input"] as readonly { readonly text: string }[];
    const text = input[0]?.text ?? "";
    expect(text.length).toBeLessThanOrEqual(1_048_576);
    expect(text).toMatch(/\[The rest was left out: the text has 1050000 characters, and a turn takes 1048576.\]$/);
    expect(text.isWellFormed()).toBe(true);
  });

  it("carries pictures, model and effort", async () => {
    const my = codexBench();
    const session = await my.open();
    void session.runTurn({ prompt: "go", intentId: "i", images: ["/tmp/a.png"], model: "m", effort: "high" });
    await my.server.untilCalled("turn/start");
    expect(my.server.calls("turn/start")[0]).toMatchObject({
      model: "m",
      effort: "high",
      input: [{ type: "text" }, { type: "localImage", path: "/tmp/a.png" }],
    });
  });
});
