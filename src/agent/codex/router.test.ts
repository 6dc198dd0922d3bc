import { describe, expect, it } from "vitest";
import { begin, codexBench } from "../../../test/fakes/codex-bench.ts";
import { until } from "../../../test/support/until.ts";

function item(
  id: string,
  type: string,
  more: Readonly<Record<string, unknown>> = {},
): Readonly<Record<string, unknown>> {
  return { turnId: "turn-1", item: { id, type, ...more } };
}

describe("life", () => {
  it("counts what may be silent, and closes what a turn leaves open", async () => {
    const my = codexBench();
    const { end, id } = await begin(my, await my.open());
    my.server.notify("item/started", item("msg", "agentMessage"));
    my.server.notify("item/started", item("call", "commandExecution"));
    my.server.notify("item/started", item("mcp", "mcpToolCall"));
    my.server.notify("item/started", { ...item("kid", "commandExecution"), threadId: "child" });
    await until("they are open", () => my.recorder.open.at(-1) === 3);
    my.server.notify("item/completed", item("call", "commandExecution"));
    my.server.notify("turn/completed", { threadId: "child", turn: { id: "x", status: "completed" } });
    await until("two are closed", () => my.recorder.open.at(-1) === 1);
    my.server.endTurn(id, "interrupted");
    await end;
    expect(my.recorder.open.at(-1)).toBe(0);
  });

  it.each([
    ["a reconnect notice", "error", { turnId: "turn-1", willRetry: true, error: { message: "Reconnecting... 1/5" } }],
    ["a rate limit", "account/rateLimits/updated", { rateLimits: {} }],
    ["a warning", "warning", { message: "careful" }],
    ["talk about MCP servers", "mcpServer/startupStatus/updated", { name: "slow" }],
  ])("isn't %s", async (_name, method, params) => {
    const my = codexBench();
    await begin(my, await my.open());
    const before = my.recorder.open.length;
    await my.clock.advance(1000);
    my.server.notify(method, params);
    await my.clock.advance(1000);
    my.server.notify("item/agentMessage/delta", { turnId: "turn-1", itemId: "m", delta: "x" });
    await until("the delta is told", () => my.recorder.open.length > before);
    expect(my.recorder.open).toHaveLength(before + 1);
  });

  it("isn't what a background command of an old turn says", async () => {
    const my = codexBench();
    const session = await my.open();
    const old = await begin(my, session);
    my.server.endTurn(old.id, "completed");
    await old.end;
    const { id } = await begin(my, session);
    const before = my.recorder.open.length;
    await my.clock.advance(1000);
    my.server.notify("item/commandExecution/outputDelta", { turnId: old.id, itemId: "c", delta: "log" });
    my.server.notify("item/started", { turnId: old.id, item: { id: "late", type: "commandExecution" } });
    await my.clock.advance(1000);
    my.server.notify("item/agentMessage/delta", { turnId: id, itemId: "m", delta: "x" });
    await until("the delta is told", () => my.recorder.open.length > before);
    expect(my.recorder.open.slice(before)).toEqual([0]);
  });

  it("is told at most every 50 ms in a flood", async () => {
    const my = codexBench();
    await begin(my, await my.open());
    await my.clock.advance(1000);
    const before = my.recorder.open.length;
    for (let index = 0; index < 500; index += 1) {
      my.server.notify("item/agentMessage/delta", { turnId: "turn-1", delta: "x" });
    }
    my.server.notify("item/completed", item("m", "agentMessage", { text: "done" }));
    await until("all of it is read", () => my.recorder.of("message").length === 1);
    expect(my.recorder.open.length - before).toBe(1);
  });
});
