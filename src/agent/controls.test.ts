import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { issue, makeRunBench, type RunBench } from "../../test/support/run-bench.ts";
import { until } from "../../test/support/until.ts";
import type { InboxItem, OperatorAnswer, OperatorMessage } from "../domain/inbox.ts";

const MESSAGE: OperatorMessage = { kind: "message", id: "m-1", text: "go left", at: 1 };
const ANSWER: OperatorAnswer = {
  kind: "answer",
  id: "q-1",
  question: "command",
  subject: "make",
  summary: "May I run make?",
  answer: { accept: true, text: null },
  at: 1,
};

let my: RunBench;

beforeEach(async () => {
  my = await makeRunBench();
});

afterEach(() => my[Symbol.asyncDispose]());

function took(): readonly string[] {
  return my.heard.filter((line) => line.startsWith("took"));
}

function startWith(...inbox: readonly InboxItem[]) {
  return my.start({ request: { inbox, threadId: "thread-0" } });
}

describe("a message", () => {
  it("goes into the running turn, and is told to be there only then", async () => {
    const next = my.backend.nextTurn();
    const run = my.start({ maxTurns: 1 });
    const turn = await next;
    run.deliver(MESSAGE);
    await until("the agent has it", () => took().length === 1);
    expect(my.backend.steered).toEqual(["go left"]);
    turn.end({ kind: "completed" });
    await run.done;
    expect(took()).toEqual(["took m-1"]);
  });

  it("that finds no running turn is in the prompt of the next one, once", async () => {
    const first = my.backend.nextTurn();
    const run = my.start({ maxTurns: 3 });
    const turn = await first;
    my.backend.refuseSteer = true;
    run.deliver(MESSAGE);
    const second = my.backend.nextTurn();
    turn.end({ kind: "completed" });
    const { request } = await second;
    expect(request.prompt).toContain("go left");
    await my.completeTurns(run);
    expect(my.backend.turns.map((each) => each.request.prompt.includes("go left"))).toEqual([false, true, false]);
    expect(took()).toEqual(["took m-1"]);
  });

  it("from before the run is in its first prompt, after the guidance", async () => {
    await my.completeTurns(startWith(MESSAGE, { ...MESSAGE, id: "m-2", text: "and mind the step", at: 2 }));
    const prompt = my.backend.turns[0]?.request.prompt ?? "";
    expect(prompt.indexOf("go left")).toBeGreaterThan(prompt.indexOf("Resume ENG-7"));
    expect(prompt.indexOf("mind the step")).toBeGreaterThan(prompt.indexOf("go left"));
    expect(took()).toEqual(["took m-1", "took m-2"]);
  });

  it("is still kept when its run ends before a turn has begun", async () => {
    my.backend.refuse = new Error("no codex here");
    await startWith(MESSAGE).done;
    expect(took()).toEqual([]);
  });
});

describe("an answer of before", () => {
  it("is a grant of the session and told in the first prompt; it counts until the agent has used it", async () => {
    await my.completeTurns(startWith(ANSWER));
    expect(my.backend.sessions[0]?.grants).toEqual([
      { id: "q-1", kind: "command", subject: "make", answer: { accept: true, text: null } },
    ]);
    expect(my.backend.turns[0]?.request.prompt).toContain('("May I run make?"): yes');
    expect(took()).toEqual([]);
    my.backend.sessions[0]?.listener.answered("q-1");
    expect(took()).toEqual(["took q-1"]);
  });

  it("to a question in words is there with the prompt that says it", async () => {
    const words = { accept: true, text: "the blue one" };
    await my.completeTurns(startWith({ ...ANSWER, question: "question", subject: "Which?", answer: words }));
    expect(my.backend.turns[0]?.request.prompt).toContain("the blue one");
    expect(took()).toEqual(["took q-1"]);
  });

  it("that says no asks for another way", async () => {
    await my.completeTurns(startWith({ ...ANSWER, answer: { accept: false, text: null } }));
    expect(my.backend.turns[0]?.request.prompt).toMatch(/: no\nFind another way/);
  });
});

describe("an interrupt", () => {
  it("ends the turn, and the run goes on with the next, which is told so", async () => {
    const first = my.backend.nextTurn();
    const run = my.start({ maxTurns: 2 });
    await first;
    const second = my.backend.nextTurn();
    run.interrupt();
    const turn = await second;
    expect(turn.request.prompt).toContain("A person interrupted the last turn");
    turn.end({ kind: "completed" });
    expect((await run.done).outcome).toEqual({ kind: "succeeded" });
  });

  it("that finds no turn doesn't excuse a later one", async () => {
    const first = my.backend.nextTurn();
    const run = my.start({ hooks: { beforeRun: "true" } });
    run.interrupt();
    (await first).end({ kind: "interrupted" });
    expect((await run.done).outcome).toMatchObject({ kind: "failed", class: "agent" });
  });

  it("of a run that is to end ends it", async () => {
    const first = my.backend.nextTurn();
    const run = my.start();
    await first;
    my.board = async () => issue;
    run.finish("shutdown");
    run.interrupt();
    expect((await run.done).outcome).toMatchObject({ kind: "cancelled", by: "shutdown" });
  });
});

it("a compaction is asked of the agent, and the run goes on however it ends", async () => {
  const first = my.backend.nextTurn();
  const run = my.start({ maxTurns: 1 });
  const turn = await first;
  run.compact();
  turn.end({ kind: "completed" });
  expect((await run.done).outcome).toEqual({ kind: "succeeded" });
  expect(my.backend.compactions).toBe(1);
});
