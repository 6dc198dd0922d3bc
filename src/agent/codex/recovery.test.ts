import { describe, expect, it } from "vitest";
import { begin, codexBench } from "../../../test/fakes/codex-bench.ts";
import { refusal } from "../../../test/fakes/scripted-app-server.ts";
import { makeSettings } from "../../../test/support/issues.ts";
import { until } from "../../../test/support/until.ts";

function item(
  id: string,
  type: string,
  more: Readonly<Record<string, unknown>> = {},
): Readonly<Record<string, unknown>> {
  return { turnId: "turn-1", item: { id, type, ...more } };
}

describe("a terminal event that never comes", () => {
  const settings = makeSettings({ codex: { stallTimeoutMs: 60_000 } });

  it("is asked for after silence with nothing open, and the turn ends by what the server says", async () => {
    const my = codexBench();
    my.server.on("thread/read", () => ({ result: { thread: { status: { type: "idle" } } } }));
    const turns = [
      { id: "turn-1", status: "failed", error: { message: "lost", codexErrorInfo: "internalServerError" } },
    ];
    my.server.on("thread/turns/list", () => ({ result: { data: turns } }));
    const { end } = await begin(my, await my.open({ settings }));
    await my.clock.advance(20_000);
    expect(await end).toMatchObject({ kind: "failed", message: "lost" });
    expect(my.recorder.of("warning")).toEqual([
      { kind: "warning", text: "the turn had ended (failed) without the agent telling so" },
    ]);
  });

  it.each([
    ["idle", "completed"],
    ["systemError", "failed"],
  ])("is taken from the thread's status where turns can't be listed: %s", async (type, kind) => {
    const my = codexBench();
    my.server.on("thread/read", () => ({ result: { thread: { status: { type } } } }));
    const { end } = await begin(my, await my.open({ settings }));
    await my.clock.advance(20_000);
    expect((await end).kind).toBe(kind);
  });

  it("isn't taken from an idle thread whose turn was never told as started", async () => {
    const my = codexBench();
    my.server.on("turn/start", () => ({ result: { turn: { id: "slow" } } }));
    my.server.on("thread/read", () => ({ result: { thread: { status: { type: "idle" } } } }));
    const session = await my.open({ settings });
    const end = session.runTurn({ prompt: "go", intentId: "i" });
    await my.server.untilCalled("turn/start");
    await my.clock.advance(20_000);
    await my.server.untilCalled("thread/turns/list");
    await my.clock.advance(1);
    my.server.endTurn("slow", "failed");
    expect((await end).kind).toBe("failed");
  });

  it("isn't made up: not while the thread works, something is open, output comes, or the server can't tell", async () => {
    const my = codexBench();
    my.server.on("thread/read", () => ({ result: { thread: { status: { type: "active" } } } }));
    const { end, id } = await begin(my, await my.open({ settings }));
    await my.clock.advance(20_000);
    await my.server.untilCalled("thread/read");
    my.server.notify("item/started", item("c", "commandExecution"));
    await until("it is open", () => my.recorder.open.at(-1) === 1);
    await my.clock.advance(600_000);
    expect(my.server.calls("thread/read")).toHaveLength(1);
    my.server.notify("item/completed", item("c", "commandExecution"));
    await until("it is closed", () => my.recorder.open.at(-1) === 0);
    my.server.on("thread/read", () => refusal("unknown variant `thread/read`"));
    await my.clock.advance(20_000);
    await my.server.untilCalled("thread/read", 2);
    my.server.endTurn(id, "completed");
    expect(await end).toEqual({ kind: "completed" });
  });
});
