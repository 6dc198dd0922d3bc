import { describe, expect, it } from "vitest";
import { begin, policies, whileTimePasses } from "../../../test/fakes/codex-bench.ts";
import { BOARD, join, message, SHARED, sharedBench, texts } from "../../../test/fakes/shared-bench.ts";
import type { SessionRequest } from "../port.ts";

function saying(text: string): Partial<SessionRequest> {
  return { tools: [BOARD], callTool: () => Promise.resolve({ success: true, text }) };
}

describe("a shared process", () => {
  it("tells each session what concerns its own thread, and everybody what concerns all", async () => {
    const my = sharedBench();
    const one = await join(my);
    const two = await join(my);
    my.server.notify("item/completed", { threadId: one.session.threadId, ...message("a", "for one") });
    my.server.notify("item/completed", { threadId: two.session.threadId, ...message("b", "for two") });
    const rateLimits = { limitId: "codex", primary: { usedPercent: 40, windowDurationMins: 300, resetsAt: 1 } };
    my.server.raw(`${JSON.stringify({ method: "account/rateLimits/updated", params: { rateLimits } })}\n`);
    my.server.raw(`${JSON.stringify({ method: "configWarning", params: { summary: "mind the gap" } })}\n`);
    await expect.poll(() => two.recorder.of("warning").length).toBe(1);
    expect([texts(one), texts(two)]).toEqual([["for one"], ["for two"]]);
    for (const { recorder } of [one, two]) {
      expect(recorder.of("warning")).toMatchObject([{ text: "mind the gap" }]);
      expect(recorder.of("rate_limits")).toHaveLength(1);
    }
  });

  it("counts tokens to the session whose thread used them", async () => {
    const my = sharedBench();
    const [one, two] = [await join(my), await join(my)];
    const total = { inputTokens: 5, cachedInputTokens: 0, outputTokens: 2, reasoningOutputTokens: 0, totalTokens: 7 };
    const { threadId } = two.session;
    my.server.notify("thread/tokenUsage/updated", { threadId, turnId: "t", tokenUsage: { total } });
    await expect.poll(() => two.recorder.of("tokens")).toMatchObject([{ threadId, subAgent: false }]);
    expect(one.recorder.of("tokens")).toEqual([]);
  });

  it("answers tool calls by the session whose thread asks", async () => {
    const my = sharedBench();
    const one = await join(my, saying("one"));
    const two = await join(my, saying("two"));
    const asks = [two, one].map(({ session: { threadId } }) =>
      my.server.ask("item/tool/call", { threadId, tool: "board", callId: "c", arguments: {} }),
    );
    const [second, first] = await Promise.all(asks.map((id) => my.server.answerTo(id)));
    expect(second).toMatchObject([{ result: { contentItems: [{ text: "two" }] } }]);
    expect(first).toMatchObject([{ result: { contentItems: [{ text: "one" }] } }]);
  });

  it("asks the person of the session whose thread wants to know", async () => {
    const my = sharedBench();
    const settings = { ...SHARED, approvals: policies("ask").settings?.approvals ?? SHARED.approvals };
    const [one, two] = [await join(my, { settings }), await join(my, { settings })];
    const { threadId } = two.session;
    await begin({ ...my, recorder: two.recorder }, two.session);
    const id = my.server.ask("item/commandExecution/requestApproval", { threadId, itemId: "i", command: "make" });
    await expect.poll(() => two.recorder.questions.length).toBe(1);
    expect(one.recorder.questions).toEqual([]);
    expect(one.session.answer(two.recorder.questions[0]?.id ?? "", { accept: true, text: null })).toBe(false);
    expect(two.session.answer(two.recorder.questions[0]?.id ?? "", { accept: true, text: null })).toBe(true);
    expect(await my.server.answerTo(id)).toMatchObject([{ result: { decision: "accept" } }]);
  });

  it("counts a sub-agent's thread to the session whose thread began it, and lets it ask", async () => {
    const my = sharedBench();
    await join(my);
    const parent = await join(my, saying("yes"));
    my.server.on("thread/read", ({ threadId }) => {
      const parentThreadId = { grandchild: "child", child: parent.session.threadId }[String(threadId)] ?? null;
      return { result: { thread: { parentThreadId } } };
    });
    const total = { inputTokens: 5, cachedInputTokens: 0, outputTokens: 2, reasoningOutputTokens: 0, totalTokens: 7 };
    my.server.notify("thread/tokenUsage/updated", { threadId: "grandchild", turnId: "t", tokenUsage: { total } });
    const call = { threadId: "grandchild", tool: "board", callId: "c", arguments: {} };
    expect(await my.server.answerTo(my.server.ask("item/tool/call", call))).toMatchObject([
      { result: { success: true } },
    ]);
    expect(parent.recorder.of("tokens")).toMatchObject([{ threadId: "grandchild", subAgent: true }]);
  });

  it("refuses what a thread of nobody asks, and looks for its owner once", async () => {
    const my = sharedBench();
    await join(my);
    const call = { threadId: "stranger", tool: "board", callId: "c", arguments: {} };
    for (const id of [my.server.ask("item/tool/call", call), my.server.ask("item/tool/call", call)]) {
      const [answer] = await my.server.answerTo(id);
      expect(answer).toMatchObject({ error: { message: "nobody works with thread stranger" } });
    }
    my.server.notify("item/completed", { threadId: "stranger", ...message("a", "hello?") });
    expect(my.server.calls("thread/read")).toHaveLength(1);
  });

  it("keeps what is told of a thread before the answer that names it, and asks nobody for it", async () => {
    const my = sharedBench();
    my.server.on("thread/start", (_params, server) => {
      server.notify("item/completed", { threadId: "thread-early", ...message("a", "too early") });
      const answer = { result: { thread: { id: "thread-early" } } };
      return server.after(answer, () =>
        server.notify("item/completed", { threadId: "thread-early", ...message("b", "at once") }),
      );
    });
    const one = await join(my);
    await expect.poll(() => texts(one)).toEqual(["too early", "at once"]);
    expect(my.server.calls("thread/read")).toEqual([]);
  });

  it("gives no thread to two sessions", async () => {
    const my = sharedBench();
    const one = await join(my, { threadId: "thread-old" });
    const two = await whileTimePasses(my, join(my, { threadId: "thread-old" }));
    expect(one.session).toMatchObject({ threadId: "thread-old", resumed: true });
    expect(two.session).toMatchObject({ threadId: "thread-1", resumed: false });
    expect(two.session.replaced).toContain("already has an active writer");
    expect(my.server.calls("thread/resume")).toHaveLength(1);
  });
});
