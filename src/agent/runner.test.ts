import { existsSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { captureLog } from "../../test/support/captured-log.ts";
import { makeIssue } from "../../test/support/issues.ts";
import { makeLedgerPlace, type LedgerPlace } from "../../test/support/ledger.ts";
import { ScriptedBackend } from "../../test/support/scripted-backend.ts";
import { until } from "../../test/support/until.ts";
import { makeWorkspaceFixture, type WorkspaceFixture } from "../../test/support/workspaces.ts";
import type { WorkspaceRecord } from "../domain/claim.ts";
import { AppError } from "../domain/errors.ts";
import { runId } from "../domain/ids.ts";
import type { Issue } from "../domain/issue.ts";
import { failed, type RunResult } from "../domain/outcome.ts";
import type { HookSettings } from "../domain/settings.ts";
import type { TokenCounts } from "../domain/tokens.ts";
import type { Ledger } from "../ledger/port.ts";
import { systemClock } from "../lib/clock.ts";
import { parseTemplate } from "../workflow/template.ts";
import { SessionStartError } from "./port.ts";
import { startRun } from "./runner.ts";
import type { Run, RunRequest } from "./run-port.ts";

const issue = makeIssue("ENG-7", { state: "In Progress" });
const ID = runId("run-1");
const LIMIT = { class: "usage_limit", message: "limit", retryable: true, freshThread: false, resetsAt: 5 } as const;

function counts(input: number): TokenCounts {
  return { input, cachedInput: 0, output: 0, reasoning: 0 };
}

let place: LedgerPlace;
let ledger: Ledger;
let fixture: WorkspaceFixture;
let backend: ScriptedBackend;
/** What the listener heard, in order. */
let heard: string[];
let record: WorkspaceRecord | null;
/** What the tracker answers between turns. */
let board: () => Promise<Issue | null>;

interface Options {
  readonly hooks?: Partial<HookSettings>;
  readonly maxTurns?: number;
  readonly request?: Partial<RunRequest>;
}

function start({ hooks = {}, maxTurns = 20, request = {} }: Options = {}): Run {
  const base = fixture.settingsWith(hooks);
  const settings = { ...base, agent: { ...base.agent, maxTurns } };
  ledger.commit({
    claims: new Map(),
    workspaces: new Map(),
    pauses: new Map(),
    facts: [{ kind: "run_started", runId: ID, issue, attempt: null, threadId: null, at: 1 }],
  });
  return startRun(
    { workspaces: fixture.workspaces, backend, journal: ledger, clock: systemClock, log: captureLog().log },
    {
      runId: ID,
      issue,
      attempt: null,
      why: "dispatch",
      error: null,
      threadId: null,
      workspace: null,
      settings,
      prompt: parseTemplate("Work on {{ issue.identifier }}."),
      tools: [],
      callsInDoubt: [],
      inbox: [],
      currentSettings: () => settings,
      mayContinue: (seen) => seen.state === "In Progress",
      isTaken: () => false,
      budgetSpent: () => null,
      readIssue: () => board(),
      ...request,
    },
    {
      prepared: (made) => {
        record = made;
        heard.push("prepared");
      },
      phase: (phase, turn) => heard.push(`${phase} ${turn}`),
      threadStarted: (threadId) => heard.push(`thread ${threadId}`),
      issueSeen: (seen) => heard.push(`seen ${seen.state}`),
      alive: () => heard.push("alive"),
      turnCompleted: () => heard.push("completed"),
      question: () => heard.push("question"),
      took: (itemId) => heard.push(`took ${itemId}`),
      agentEvent: () => undefined,
      tokens: () => undefined,
    },
  );
}

/** Ends turn after turn as completed until the run is over. */
async function completeTurns(run: Run): Promise<RunResult> {
  let over = false;
  void run.done.then(() => (over = true));
  let seen = 0;
  await until("the run is over", () => {
    const turn = backend.turns[seen];
    if (turn !== undefined) {
      seen += 1;
      turn.end({ kind: "completed" });
    }
    return over;
  });
  return run.done;
}

beforeEach(async () => {
  place = await makeLedgerPlace();
  ledger = place.open();
  fixture = await makeWorkspaceFixture();
  backend = new ScriptedBackend();
  heard = [];
  record = null;
  board = async () => issue;
});

afterEach(async () => {
  await fixture.dispose();
  await place[Symbol.asyncDispose]();
});

describe("turns", () => {
  it("the first gets the rendered ticket, later ones only guidance, all on one thread, up to agent.max_turns", async () => {
    const result = await completeTurns(start({ maxTurns: 3 }));
    expect(result).toMatchObject({ outcome: { kind: "succeeded" }, turns: 3, threadId: "thread-1", issue });
    expect(backend.sessions).toHaveLength(1);
    const prompts = backend.turns.map((turn) => turn.request.prompt);
    expect(prompts[0]).toBe("Work on ENG-7.");
    expect(prompts[1]).toContain("turn 2 of 3");
    expect(prompts[2]).toContain('"In Progress"');
    expect(prompts[2]).not.toContain("Work on ENG-7.");
    expect(heard.filter((line) => line.startsWith("thread"))).toEqual(["thread thread-1"]);
  });

  it("end when the ticket has left its active states", async () => {
    board = async () => ({ ...issue, state: "Human Review" });
    const result = await completeTurns(start());
    expect(result).toMatchObject({ outcome: { kind: "succeeded" }, turns: 1, issue: { state: "Human Review" } });
  });

  it("end well when a complete answer lacks the ticket", async () => {
    board = async () => null;
    expect(await completeTurns(start())).toMatchObject({ outcome: { kind: "succeeded" }, issue: null });
  });

  it("wait for the tracker: a failed read is tried again, and never read as gone", async () => {
    let reads = 0;
    board = async () => {
      reads += 1;
      if (reads < 2) throw new AppError("tracker_status", "HTTP 500");
      return { ...issue, state: "Done" };
    };
    const result = await completeTurns(start());
    expect(reads).toBe(2);
    expect(result).toMatchObject({ outcome: { kind: "succeeded" }, issue: { state: "Done" }, turns: 1 });
  });

  it.each([
    ["failed", { kind: "failed", ...LIMIT } as const, { kind: "failed", ...LIMIT } as const],
    ["interrupted by somebody else", { kind: "interrupted" } as const, failed("agent", "the turn was interrupted")],
  ])("%s ends the run as that", async (_name, end, outcome) => {
    const next = backend.nextTurn();
    const run = start();
    (await next).end(end);
    expect((await run.done).outcome).toEqual(outcome);
    expect(place.reader().runs()[0]?.turns).toBe(1);
  });
});

describe("a budget that is spent", () => {
  const SPENT = failed("budget", "120 of 100 tokens", { retryable: false });

  it("before the run ends it before anything is made or started", async () => {
    const run = start({ hooks: { afterCreate: "touch $D/made" }, request: { budgetSpent: () => "120 of 100 tokens" } });
    expect(await run.done).toMatchObject({ outcome: SPENT, turns: 0, threadId: null });
    expect([backend.sessions.length, record, existsSync(join(fixture.dir, "made"))]).toEqual([0, null, false]);
  });

  it("between two turns starts no other", async () => {
    const next = backend.nextTurn();
    const run = start({ request: { budgetSpent: () => (heard.includes("completed") ? "120 of 100 tokens" : null) } });
    (await next).end({ kind: "completed" });
    expect(await run.done).toMatchObject({ outcome: SPENT, turns: 1, threadId: "thread-1" });
    expect([backend.turns.length, backend.closed]).toEqual([1, 1]);
  });

  it("that can't be read fails the run", async () => {
    const budgetSpent = (): never => {
      throw new AppError("ledger_unusable", "disk full");
    };
    expect((await start({ request: { budgetSpent } }).done).outcome).toMatchObject({ kind: "failed", retryable: true });
  });
});

describe("a thread that is resumed", () => {
  it("gets guidance that says what happened and which calls are in doubt, not the ticket again", async () => {
    const next = backend.nextTurn();
    const run = start({
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
    const next = backend.nextTurn();
    const run = start({ request: { threadId: "thread-7" } });
    const turn = await next;
    const usage = { turn: 1, threadId: "thread-7", issueId: issue.id, subAgent: false, model: null, at: 1 };
    ledger.recordTokens({ ...usage, runId: ID, total: counts(100) });
    // The crash has cost the source its newest figures: 100 is what was counted, 80 is what it knows.
    for (const [input, replayed] of [
      [80, true],
      [95, false],
    ] as const) {
      backend.sessions[0]?.listener.event({
        kind: "tokens",
        threadId: "thread-7",
        total: counts(input),
        subAgent: false,
        replayed,
      });
    }
    expect(ledger.totals().tokens.input).toBe(115);
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
    const run = start({ maxTurns: 2 });
    (await backend.turn(1)).end(FULL);
    const second = await backend.turn(2);
    expect(second.request.prompt).toContain("turn 1 of 2");
    expect(second.request.prompt).toContain("filled the context");
    second.end({ kind: "completed" });
    (await backend.turn(3)).end({ kind: "completed" });
    expect(await run.done).toMatchObject({ outcome: { kind: "succeeded" }, turns: 3, threadId: "thread-1" });
    expect([backend.compactions, backend.sessions.length]).toEqual([1, 1]);
  });

  it("that fills again ends the run, whose ticket goes on with a fresh thread", async () => {
    const run = start();
    (await backend.turn(1)).end(FULL);
    (await backend.turn(2)).end(FULL);
    expect((await run.done).outcome).toEqual(FULL);
    expect(backend.compactions).toBe(1);
  });

  it("that can't be compacted ends the run the same way", async () => {
    backend.compaction = { ...FULL, class: "agent", message: "no answer", freshThread: false };
    const run = start();
    (await backend.turn(1)).end(FULL);
    expect((await run.done).outcome).toEqual(FULL);
    expect(backend.turns).toHaveLength(1);
  });

  it("whose compaction meets a usage limit keeps its thread for later", async () => {
    backend.compaction = { kind: "failed", ...LIMIT };
    const run = start();
    (await backend.turn(1)).end(FULL);
    expect((await run.done).outcome).toEqual({ kind: "failed", ...LIMIT });
  });

  it("isn't compacted for a run that is to end with its turn", async () => {
    const run = start();
    const turn = await backend.turn(1);
    run.finish("shutdown");
    turn.end(FULL);
    await run.done;
    expect(backend.compactions).toBe(0);
  });
});

describe("hooks", () => {
  it("run around the session; after_run always, once the workspace exists", async () => {
    const hooks = {
      afterCreate: "echo created >> $D/log",
      beforeRun: "echo before >> $D/log",
      afterRun: "echo after >> $D/log",
    };
    board = async () => ({ ...issue, state: "Done" });
    await completeTurns(start({ hooks }));
    expect(readFileSync(join(fixture.dir, "log"), "utf8")).toBe("created\nbefore\nafter\n");
  });

  it("before_run that fails fails the run, without an agent, and after_run still runs", async () => {
    const run = start({ hooks: { beforeRun: "exit 3", afterRun: "touch $D/after" } });
    expect((await run.done).outcome).toMatchObject({ kind: "failed", class: "hook", retryable: true });
    expect(backend.sessions).toHaveLength(0);
    expect(existsSync(join(fixture.dir, "after"))).toBe(true);
  });

  it("after_create that fails leaves no directory, and no after_run", async () => {
    const run = start({ hooks: { afterCreate: "exit 1", afterRun: "touch $D/after" } });
    expect(await run.done).toMatchObject({ outcome: { kind: "failed", class: "hook" }, turns: 0, changed: null });
    expect(existsSync(join(fixture.root, "ENG-7"))).toBe(false);
    expect(existsSync(join(fixture.dir, "after"))).toBe(false);
  });

  it("after_run that fails changes nothing", async () => {
    board = async () => ({ ...issue, state: "Done" });
    expect((await completeTurns(start({ hooks: { afterRun: "exit 9" } }))).outcome).toEqual({ kind: "succeeded" });
  });
});

describe("a stop", () => {
  it("interrupts the turn, closes the session, and the first reason wins", async () => {
    const next = backend.nextTurn();
    const run = start();
    await next;
    run.stop("stalled");
    run.stop("operator_stop");
    expect(await run.done).toMatchObject({ outcome: { kind: "stalled" }, turns: 1 });
    expect([backend.interrupts, backend.closed]).toEqual([1, 1]);
  });

  it("during after_create ends the hook and drops the half-made directory", async () => {
    const run = start({ hooks: { afterCreate: "touch $D/started; sleep 300" } });
    await until("after_create runs", () => existsSync(join(fixture.dir, "started")));
    run.stop("unroutable");
    expect((await run.done).outcome).toMatchObject({ kind: "cancelled", by: "tracker" });
    expect(existsSync(join(fixture.root, "ENG-7"))).toBe(false);
  });

  it("while the tracker is being waited for ends the wait", async () => {
    board = async () => {
      throw new AppError("tracker_rate_limited", "throttled", { resetAt: systemClock.now() + 3_600_000 });
    };
    const next = backend.nextTurn();
    const run = start();
    (await next).end({ kind: "completed" });
    await until("the turn is over", () => heard.includes("between 1"));
    run.stop("shutdown");
    expect(await run.done).toMatchObject({ outcome: { kind: "cancelled", by: "shutdown" }, issue });
  });
});

describe("finish", () => {
  it("lets the turn that moved the ticket end by itself: the run is succeeded", async () => {
    const next = backend.nextTurn();
    const run = start();
    const turn = await next;
    run.finish("terminal");
    turn.end({ kind: "completed" });
    expect(await run.done).toMatchObject({ outcome: { kind: "succeeded" }, turns: 1 });
    expect(backend.interrupts).toBe(0);
  });

  it("for a shutdown ends the run after the turn, as cancelled", async () => {
    const next = backend.nextTurn();
    const run = start();
    const turn = await next;
    run.finish("shutdown");
    turn.end({ kind: "completed" });
    expect((await run.done).outcome).toMatchObject({ kind: "cancelled", by: "shutdown" });
  });

  it("for a shutdown calls the turn that ended the ticket a success", async () => {
    board = async () => ({ ...issue, state: "Done" });
    const next = backend.nextTurn();
    const run = start();
    const turn = await next;
    run.finish("shutdown");
    turn.end({ kind: "completed" });
    expect(await run.done).toMatchObject({ outcome: { kind: "succeeded" }, issue: { state: "Done" } });
  });

  it("before the first turn ends the run at once", async () => {
    const run = start({ hooks: { beforeRun: "touch $D/started; sleep 300" } });
    await until("before_run runs", () => existsSync(join(fixture.dir, "started")));
    run.finish("terminal");
    expect((await run.done).outcome).toMatchObject({ kind: "cancelled", by: "tracker" });
  });
});

describe("what can't start", () => {
  it("a session that is refused ends the run with its class", async () => {
    const failure = failed("config_refused", "approvalPolicy: use never", { retryable: false });
    if (failure.kind !== "failed") throw new Error("a failure is expected");
    backend.refuse = new SessionStartError(failure);
    expect((await start().done).outcome).toEqual(failure);
  });

  it("a template that can't be rendered fails that run only", async () => {
    const prompt = parseTemplate("{% for i in (1..issue.priority) %}x{% endfor %}");
    const run = start({ request: { prompt, issue: { ...issue, priority: 1_000_000_000 } } });
    expect((await run.done).outcome).toMatchObject({ kind: "failed", class: "template", retryable: true });
    expect([backend.turns.length, backend.closed]).toEqual([0, 1]);
  });

  it("a path that is a file fails with workspace_not_a_directory and is left alone", async () => {
    await fixture.workspaces.checkRoot(fixture.root);
    writeFileSync(join(fixture.root, "ENG-7"), "mine");
    expect((await start().done).outcome).toMatchObject({ kind: "failed", class: "workspace" });
    expect(readFileSync(join(fixture.root, "ENG-7"), "utf8")).toBe("mine");
  });
});

describe("progress", () => {
  it.each([
    ["nothing", () => undefined, false],
    ["a new file", (path: string) => writeFileSync(join(path, "new.txt"), "x"), true],
  ])("%s in the workspace", async (_name, work, changed) => {
    const next = backend.nextTurn();
    board = async () => ({ ...issue, state: "Done" });
    const run = start();
    const turn = await next;
    work(record?.path ?? "");
    turn.end({ kind: "completed" });
    expect((await run.done).changed).toBe(changed);
  });
});

describe("the workspace right before the agent starts", () => {
  it("is checked: a before_run that swaps it for a link out of the root fails the run, and no agent starts", async () => {
    const hooks = { beforeRun: 'mv "$PWD" "$D/elsewhere" && ln -s "$D/elsewhere" "$PWD"' };
    const result = await completeTurns(start({ hooks }));
    expect(result.outcome).toMatchObject({ kind: "failed", message: expect.stringContaining("ENG-7") });
    expect(backend.sessions).toEqual([]);
  });
});
