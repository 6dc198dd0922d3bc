import { describe, expect, it } from "vitest";
import { begin, codexBench, whileTimePasses } from "../../../test/fakes/codex-bench.ts";
import { until } from "../../../test/support/until.ts";
import type { ScriptResult } from "../../host/port.ts";

describe("an interrupt", () => {
  it("ends a turn whose server doesn't", async () => {
    const my = codexBench();
    my.server.on("turn/interrupt", () => ({ result: {} }));
    const session = await my.open();
    const { end } = await begin(my, session);
    const done = session.interrupt();
    expect(await whileTimePasses(my, end)).toEqual({ kind: "interrupted" });
    await done;
  });

  it("ends a turn that was not sent yet without sending it", async () => {
    const my = codexBench();
    const session = await my.open();
    const git = Promise.withResolvers<ScriptResult>();
    my.server.host.runScript = () => git.promise;
    const end = session.runTurn({ prompt: "go", intentId: "i" });
    // At once: the run may have been stopped in the same breath.
    await session.interrupt();
    git.resolve({ exitCode: 0, timedOut: false, aborted: false, output: "" });
    expect(await end).toEqual({ kind: "interrupted" });
    expect(my.server.calls("turn/start")).toEqual([]);
  });

  it("ends the commands that it left before the next turn starts", async () => {
    const my = codexBench();
    const session = await my.open();
    const { end } = await begin(my, session);
    my.server.on("thread/backgroundTerminals/clean", () => "silence");
    const done = session.interrupt();
    await end;
    await my.server.untilCalled("thread/backgroundTerminals/clean");
    const next = session.runTurn({ prompt: "next", intentId: "n" });
    for (let moment = 0; moment < 10; moment += 1) await my.clock.advance(1);
    expect(my.server.calls("turn/start")).toHaveLength(1);
    await whileTimePasses(my, done);
    await my.server.untilCalled("turn/start", 2);
    my.server.endTurn("turn-2", "completed");
    expect(await next).toEqual({ kind: "completed" });
  });

  it("without a turn, or without a process, is no failure", async () => {
    const my = codexBench();
    const session = await my.open();
    await session.interrupt();
    my.server.exit({ code: 1, signal: null });
    await until(
      "the session is over",
      async () => (await session.runTurn({ prompt: "go", intentId: "i" })).kind === "failed",
    );
    await session.interrupt();
    await expect(session.steer("hello")).rejects.toMatchObject({ code: "response_error" });
  });

  it("waits for the start of the turn: before it the server knows none", async () => {
    const my = codexBench();
    my.server.on("turn/start", () => ({ result: { turn: { id: "slow" } } }));
    const session = await my.open();
    const end = session.runTurn({ prompt: "go", intentId: "i" });
    await my.server.untilCalled("turn/start");
    const done = session.interrupt();
    for (let moment = 0; moment < 10; moment += 1) await my.clock.advance(50);
    expect(my.server.calls("turn/interrupt")).toEqual([]);
    my.server.notify("turn/started", { turn: { id: "slow" } });
    expect(await end).toEqual({ kind: "interrupted" });
    await whileTimePasses(my, done);
    expect(my.server.calls("turn/interrupt")).toEqual([{ threadId: "thread-1", turnId: "slow" }]);
  });

  it("that the server ignored leaves a turn that the next start joins", async () => {
    const my = codexBench();
    my.server.on("turn/interrupt", () => ({ result: {} }));
    const session = await my.open();
    const first = await begin(my, session);
    await whileTimePasses(my, session.interrupt());
    my.server.on("turn/start", () => ({ result: { turn: { id: first.id } } }));
    const joined = session.runTurn({ prompt: "go on", intentId: "i" });
    await my.server.untilCalled("turn/start", 2);
    await my.clock.advance(1000);
    const before = my.recorder.open.length;
    my.server.notify("item/agentMessage/delta", { turnId: first.id, itemId: "m", delta: "alive" });
    await until("it is no late item of an old turn", () => my.recorder.open.length > before);
    my.server.endTurn(first.id, "completed");
    expect(await joined).toEqual({ kind: "completed" });
  });
});
