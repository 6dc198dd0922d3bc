import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { changeOf, ended } from "../../test/support/ledger.ts";
import { issue, makeRunBench, type RunBench } from "../../test/support/run-bench.ts";
import { runId } from "../domain/ids.ts";
import type { JsonValue } from "../domain/issue.ts";
import type { RunRequest } from "./run-port.ts";
import { parseBinding } from "./thread-binding.ts";

const SECOND = runId("run-2");

let my: RunBench;

beforeEach(async () => {
  my = await makeRunBench();
});

afterEach(() => my[Symbol.asyncDispose]());

/** A run whose second turn is cut off: it said something, and called a tool twice. */
async function firstRun(): Promise<void> {
  const run = my.start();
  (await my.backend.turn(1)).end({ kind: "completed" });
  await my.backend.turn(2);
  // What is older than a few months is let go.
  const at = my.place.clock.now();
  const call = { runId: runId("run-1"), turn: 2, name: "local_board", at };
  for (const callId of ["a", "b"]) my.ledger.toolIntended({ ...call, callId });
  my.ledger.toolEnded({ runId: call.runId, callId: "a", ok: false, durationMs: 1, bytes: 1, at });
  const item = {
    threadId: "thread-1",
    turnId: "turn-1",
    itemId: "m1",
    kind: "message",
    data: { text: "I did X." },
  } as const;
  my.ledger.appendEvent({ runId: call.runId, issueId: issue.id, at, event: "message", message: "I did X.", item });
  run.stop("shutdown");
  await run.done;
  my.ledger.commit(changeOf({ facts: [ended("run-1", at)] }));
}

/** The first prompt of a second run. */
async function secondPrompt(request: Partial<RunRequest>): Promise<string> {
  const run = my.start({ request: { runId: SECOND, ...request } });
  const { prompt } = (await my.backend.turn(3)).request;
  run.stop("shutdown");
  await run.done;
  return prompt;
}

describe("a run after one that was cut off", () => {
  it("is told on the same thread which turn was cut off, without the ticket", async () => {
    await firstRun();
    const prompt = await secondPrompt({
      threadId: "thread-1",
      why: "recovered",
      callsInDoubt: ["local_board (call b)"],
    });
    expect(prompt).toContain("cut off by a crash or a restart");
    expect(prompt).toContain("Its turn 2 was cut off in the middle");
    expect(prompt).toContain("- local_board (call b)");
    expect(prompt).not.toContain("Work on ENG-7.");
    expect(prompt).not.toContain("I did X.");
  });

  it.each([
    ["given none, as with agent.resume: false", null, null],
    ["the bound one can't be gone on with", "thread-1", "thread thread-1 already has an active writer"],
  ])("has the whole ticket on a fresh thread and what was done: %s", async (_name, threadId, replaced) => {
    await firstRun();
    my.backend.replaced = replaced;
    const prompt = await secondPrompt({ threadId, why: "recovered" });
    expect(prompt).toMatch(/^Work on ENG-7\.\n\nEarlier work on this issue:/);
    expect(prompt).toContain("There were 2 turns in 1 runs before this thread");
    expect(prompt).toContain("Its turn 2 was cut off in the middle");
    expect(prompt).toContain("local_board was called 2 times, 1 of them failed");
    expect(prompt).toContain("I did X.");
    if (replaced === null) expect(prompt).not.toContain("can't be gone on with");
    else expect(prompt).toContain(`Its thread can't be gone on with: ${replaced}.`);
  });

  it("has a clean slate when the ticket comes back after a release", async () => {
    await firstRun();
    expect(await secondPrompt({ why: "dispatch" })).toBe("Work on ENG-7.");
  });

  it("has the ticket alone when nothing was begun", async () => {
    const run = my.start({ request: { why: "failure" } });
    expect((await my.backend.turn(1)).request.prompt).toBe("Work on ENG-7.");
    run.stop("shutdown");
    await run.done;
  });
});

describe("a run's own instructions", () => {
  it("go to the start of a thread, and into the first prompt where the thread is resumed", async () => {
    const own = { developerInstructions: "Speak softly.", model: "m-2", effort: "high" };
    const run = my.start({ request: own });
    expect((await my.backend.turn(1)).request.prompt).toBe("Work on ENG-7.");
    expect(my.backend.sessions[0]).toMatchObject(own);
    run.stop("shutdown");
    await run.done;
    const next = my.start({ request: { ...own, runId: SECOND, threadId: "thread-1", why: "shutdown" } });
    expect((await my.backend.turn(2)).request.prompt).toMatch(/Instructions for this run:\nSpeak softly\.$/);
    next.stop("shutdown");
    await next.done;
  });
});

describe("a thread's binding", () => {
  it("is kept when its first turn has started, and handed to the session that resumes it", async () => {
    await firstRun();
    const kept = my.ledger.threadBinding(issue.id);
    expect(kept).toMatchObject({ threadId: "thread-1", binding: { cwd: my.record?.path, model: "m-1" } });
    await secondPrompt({ threadId: "thread-1", why: "failure" });
    expect(my.backend.sessions.at(-1)?.binding).toEqual(parseBinding(kept?.binding as JsonValue));
  });

  it("says nothing about another thread", async () => {
    await firstRun();
    await secondPrompt({ threadId: "thread-9", why: "failure" });
    expect(my.backend.sessions.at(-1)?.binding).toBeNull();
  });
});

describe("a bound thread that is in use", () => {
  it("lets the session end what earlier runs have left, and the log say how much", async () => {
    await firstRun();
    await secondPrompt({ threadId: "thread-1", why: "failure" });
    await my.backend.sessions.at(-1)?.endEarlier?.();
    expect(my.heard).toContain("reaped");
    expect(my.log.warnings().join("\n")).toContain('"processes":1');
  });
});
