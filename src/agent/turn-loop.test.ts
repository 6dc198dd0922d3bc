import { existsSync } from "node:fs";
import { rm, symlink } from "node:fs/promises";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { issue, makeRunBench, RUN_ID as ID, type RunBench } from "../../test/support/run-bench.ts";
import { AppError } from "../domain/errors.ts";
import { failed } from "../domain/outcome.ts";
import type { TokenCounts } from "../domain/tokens.ts";

const LIMIT = { class: "usage_limit", message: "limit", retryable: true, freshThread: false, resetsAt: 5 } as const;

function counts(input: number): TokenCounts {
  return { input, cachedInput: 0, output: 0, reasoning: 0 };
}

let my: RunBench;

beforeEach(async () => {
  my = await makeRunBench();
});

afterEach(() => my[Symbol.asyncDispose]());

describe("turns", () => {
  it("the first gets the rendered ticket, later ones only guidance, all on one thread, up to agent.max_turns", async () => {
    const result = await my.completeTurns(my.start({ maxTurns: 3 }));
    expect(result).toMatchObject({ outcome: { kind: "succeeded" }, turns: 3, threadId: "thread-1", issue });
    expect(my.backend.sessions).toHaveLength(1);
    const prompts = my.backend.turns.map((turn) => turn.request.prompt);
    expect(prompts[0]).toBe("Work on ENG-7.");
    expect(prompts[1]).toContain("turn 2 of 3");
    expect(prompts[2]).toContain('"In Progress"');
    expect(prompts[2]).not.toContain("Work on ENG-7.");
    expect(my.heard.filter((line) => line.startsWith("thread"))).toEqual(["thread thread-1"]);
  });

  it("end when the ticket has left its active states", async () => {
    my.board = async () => ({ ...issue, state: "Human Review" });
    const result = await my.completeTurns(my.start());
    expect(result).toMatchObject({ outcome: { kind: "succeeded" }, turns: 1, issue: { state: "Human Review" } });
  });

  it("end well when a complete answer lacks the ticket", async () => {
    my.board = async () => null;
    expect(await my.completeTurns(my.start())).toMatchObject({ outcome: { kind: "succeeded" }, issue: null });
  });

  it("wait for the tracker: a failed read is tried again, and never read as gone", async () => {
    let reads = 0;
    my.board = async () => {
      reads += 1;
      if (reads < 2) throw new AppError("tracker_status", "HTTP 500");
      return { ...issue, state: "Done" };
    };
    const result = await my.completeTurns(my.start());
    expect(reads).toBe(2);
    expect(result).toMatchObject({ outcome: { kind: "succeeded" }, issue: { state: "Done" }, turns: 1 });
  });

  it.each([
    ["failed", { kind: "failed", ...LIMIT } as const, { kind: "failed", ...LIMIT } as const],
    ["interrupted by somebody else", { kind: "interrupted" } as const, failed("agent", "the turn was interrupted")],
  ])("%s ends the run as that", async (_name, end, outcome) => {
    const next = my.backend.nextTurn();
    const run = my.start();
    (await next).end(end);
    expect((await run.done).outcome).toEqual(outcome);
    expect(my.place.reader().runs()[0]?.turns).toBe(1);
  });
});

describe("a workspace that changes during a turn", () => {
  it.each([
    ["removed", async () => undefined],
    ["swapped for a link", async (path: string) => symlink(my.fixture.dir, path)],
  ])("%s gets no other turn", async (_name, replace) => {
    const next = my.backend.nextTurn();
    const run = my.start();
    const turn = await next;
    const { path } = my.record ?? { path: "" };
    await rm(path, { recursive: true });
    await replace(path);
    turn.end({ kind: "completed" });
    expect(await run.done).toMatchObject({
      outcome: { kind: "failed", class: "workspace", retryable: true },
      turns: 1,
    });
    expect([my.backend.turns.length, my.backend.closed]).toEqual([1, 1]);
  });
});

describe("a budget that is spent", () => {
  const SPENT = failed("budget", "120 of 100 tokens", { retryable: false });

  it("before the run ends it before anything is made or started", async () => {
    const run = my.start({
      hooks: { afterCreate: "touch $D/made" },
      request: { budgetSpent: () => "120 of 100 tokens" },
    });
    expect(await run.done).toMatchObject({ outcome: SPENT, turns: 0, threadId: null });
    expect([my.backend.sessions.length, my.record, existsSync(join(my.fixture.dir, "made"))]).toEqual([0, null, false]);
  });

  it("between two turns starts no other", async () => {
    const next = my.backend.nextTurn();
    const run = my.start({
      request: { budgetSpent: () => (my.heard.includes("completed") ? "120 of 100 tokens" : null) },
    });
    (await next).end({ kind: "completed" });
    expect(await run.done).toMatchObject({ outcome: SPENT, turns: 1, threadId: "thread-1" });
    expect([my.backend.turns.length, my.backend.closed]).toEqual([1, 1]);
  });

  it("that can't be read ends the run, as the ledger's fault", async () => {
    const budgetSpent = (): never => {
      throw new AppError("ledger_unusable", "disk full");
    };
    expect((await my.start({ request: { budgetSpent } }).done).outcome).toMatchObject({
      kind: "failed",
      class: "ledger",
      retryable: true,
    });
  });
});

describe("a thread that is resumed", () => {
  it("gets guidance that says what happened and which calls are in doubt, not the ticket again", async () => {
    const next = my.backend.nextTurn();
    const run = my.start({
      request: { threadId: "thread-7", why: "failure", error: "boom", callsInDoubt: ["linear_graphql (call 3)"] },
    });
    const turn = await next;
    expect(turn.request.prompt).not.toContain("Work on ENG-7.");
    expect(turn.request.prompt).toContain("boom");
    expect(turn.request.prompt).toContain("linear_graphql (call 3)");
    run.stop("shutdown");
    expect((await run.done).threadId).toBe("thread-7");
  });
});

describe("token totals of a resumed thread", () => {
  it("that an earlier turn reached are never counted twice, and what follows is counted whole", async () => {
    const next = my.backend.nextTurn();
    const run = my.start({ request: { threadId: "thread-7" } });
    const turn = await next;
    const usage = { turn: 1, threadId: "thread-7", issueId: issue.id, subAgent: false, model: null, at: 1 };
    my.ledger.recordTokens({ ...usage, runId: ID, total: counts(100) });
    // The crash has cost the source its newest figures: 100 is what was counted, 80 is what it knows.
    for (const [input, replayed] of [
      [80, true],
      [95, false],
    ] as const) {
      my.backend.sessions[0]?.listener.event({
        kind: "tokens",
        threadId: "thread-7",
        total: counts(input),
        subAgent: false,
        replayed,
      });
    }
    expect(my.ledger.totals().tokens.input).toBe(115);
    turn.end({ kind: "interrupted" });
    await run.done;
  });
});

describe("a full context", () => {
  const FULL = {
    kind: "failed",
    class: "context_overflow",
    message: "too long",
    retryable: true,
    freshThread: true,
    resetsAt: null,
  } as const;

  it("is compacted once, and the work goes on on the same thread, without losing a turn", async () => {
    const run = my.start({ maxTurns: 2 });
    (await my.backend.turn(1)).end(FULL);
    const second = await my.backend.turn(2);
    expect(second.request.prompt).toContain("turn 1 of 2");
    expect(second.request.prompt).toContain("filled the context");
    second.end({ kind: "completed" });
    (await my.backend.turn(3)).end({ kind: "completed" });
    expect(await run.done).toMatchObject({ outcome: { kind: "succeeded" }, turns: 3, threadId: "thread-1" });
    expect([my.backend.compactions, my.backend.sessions.length]).toEqual([1, 1]);
  });

  it("that fills again ends the run, whose ticket goes on with a fresh thread", async () => {
    const run = my.start();
    (await my.backend.turn(1)).end(FULL);
    (await my.backend.turn(2)).end(FULL);
    expect((await run.done).outcome).toEqual(FULL);
    expect(my.backend.compactions).toBe(1);
  });

  it("that can't be compacted ends the run the same way", async () => {
    my.backend.compaction = { ...FULL, class: "agent", message: "no answer", freshThread: false };
    const run = my.start();
    (await my.backend.turn(1)).end(FULL);
    expect((await run.done).outcome).toEqual(FULL);
    expect(my.backend.turns).toHaveLength(1);
  });

  it("whose compaction meets a usage limit keeps its thread for later", async () => {
    my.backend.compaction = { kind: "failed", ...LIMIT };
    const run = my.start();
    (await my.backend.turn(1)).end(FULL);
    expect((await run.done).outcome).toEqual({ kind: "failed", ...LIMIT });
  });

  it("isn't compacted for a run that is to end with its turn", async () => {
    const run = my.start();
    const turn = await my.backend.turn(1);
    run.finish("shutdown");
    turn.end(FULL);
    await run.done;
    expect(my.backend.compactions).toBe(0);
  });
});
