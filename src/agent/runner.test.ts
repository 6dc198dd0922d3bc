import { existsSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { issue, makeRunBench, type RunBench } from "../../test/support/run-bench.ts";
import { until } from "../../test/support/until.ts";
import { AppError } from "../domain/errors.ts";
import { failed } from "../domain/outcome.ts";
import { systemClock } from "../lib/clock.ts";
import { parseTemplate } from "../workflow/template.ts";
import { SessionStartError } from "./port.ts";

let my: RunBench;

beforeEach(async () => {
  my = await makeRunBench();
});

afterEach(() => my[Symbol.asyncDispose]());

describe("hooks", () => {
  it("run around the session; after_run always, once the workspace exists", async () => {
    const hooks = {
      afterCreate: "echo created >> $D/log",
      beforeRun: "echo before >> $D/log",
      afterRun: "echo after >> $D/log",
    };
    my.board = async () => ({ ...issue, state: "Done" });
    await my.completeTurns(my.start({ hooks }));
    expect(readFileSync(join(my.fixture.dir, "log"), "utf8")).toBe("created\nbefore\nafter\n");
  });

  it("before_run that fails fails the run, without an agent, and after_run still runs", async () => {
    const run = my.start({ hooks: { beforeRun: "exit 3", afterRun: "touch $D/after" } });
    expect((await run.done).outcome).toMatchObject({ kind: "failed", class: "hook", retryable: true });
    expect(my.backend.sessions).toHaveLength(0);
    expect(existsSync(join(my.fixture.dir, "after"))).toBe(true);
  });

  it("after_create that fails leaves no directory, and no after_run", async () => {
    const run = my.start({ hooks: { afterCreate: "exit 1", afterRun: "touch $D/after" } });
    expect(await run.done).toMatchObject({ outcome: { kind: "failed", class: "hook" }, turns: 0, changed: null });
    expect(existsSync(join(my.fixture.root, "ENG-7"))).toBe(false);
    expect(existsSync(join(my.fixture.dir, "after"))).toBe(false);
  });

  it("after_run that fails changes nothing", async () => {
    my.board = async () => ({ ...issue, state: "Done" });
    expect((await my.completeTurns(my.start({ hooks: { afterRun: "exit 9" } }))).outcome).toEqual({
      kind: "succeeded",
    });
  });
});

describe("a stop", () => {
  it("interrupts the turn, closes the session, and the first reason wins", async () => {
    const next = my.backend.nextTurn();
    const run = my.start();
    await next;
    run.stop("stalled");
    run.stop("operator_stop");
    expect(await run.done).toMatchObject({ outcome: { kind: "stalled" }, turns: 1 });
    expect([my.backend.interrupts, my.backend.closed]).toEqual([1, 1]);
  });

  it("during after_create ends the hook and drops the half-made directory", async () => {
    const run = my.start({ hooks: { afterCreate: "touch $D/started; sleep 300" } });
    await until("after_create runs", () => existsSync(join(my.fixture.dir, "started")));
    run.stop("unroutable");
    expect((await run.done).outcome).toMatchObject({ kind: "cancelled", by: "tracker" });
    expect(existsSync(join(my.fixture.root, "ENG-7"))).toBe(false);
  });

  it("while the tracker is being waited for ends the wait", async () => {
    my.board = async () => {
      throw new AppError("tracker_rate_limited", "throttled", { resetAt: systemClock.now() + 3_600_000 });
    };
    const next = my.backend.nextTurn();
    const run = my.start();
    (await next).end({ kind: "completed" });
    await until("the turn is over", () => my.heard.includes("between 1"));
    run.stop("shutdown");
    expect(await run.done).toMatchObject({ outcome: { kind: "cancelled", by: "shutdown" }, issue });
  });
});

describe("finish", () => {
  it("lets the turn that moved the ticket end by itself: the run is succeeded", async () => {
    const next = my.backend.nextTurn();
    const run = my.start();
    const turn = await next;
    run.finish("terminal");
    turn.end({ kind: "completed" });
    expect(await run.done).toMatchObject({ outcome: { kind: "succeeded" }, turns: 1 });
    expect(my.backend.interrupts).toBe(0);
  });

  it("for a shutdown ends the run after the turn, as cancelled", async () => {
    const next = my.backend.nextTurn();
    const run = my.start();
    const turn = await next;
    run.finish("shutdown");
    turn.end({ kind: "completed" });
    expect((await run.done).outcome).toMatchObject({ kind: "cancelled", by: "shutdown" });
  });

  it("for a shutdown calls the turn that ended the ticket a success", async () => {
    my.board = async () => ({ ...issue, state: "Done" });
    const next = my.backend.nextTurn();
    const run = my.start();
    const turn = await next;
    run.finish("shutdown");
    turn.end({ kind: "completed" });
    expect(await run.done).toMatchObject({ outcome: { kind: "succeeded" }, issue: { state: "Done" } });
  });

  it("before the first turn ends the run at once", async () => {
    const run = my.start({ hooks: { beforeRun: "touch $D/started; sleep 300" } });
    await until("before_run runs", () => existsSync(join(my.fixture.dir, "started")));
    run.finish("terminal");
    expect((await run.done).outcome).toMatchObject({ kind: "cancelled", by: "tracker" });
  });
});

describe("what can't start", () => {
  it("a session that is refused ends the run with its class", async () => {
    const failure = failed("config_refused", "approvalPolicy: use never", { retryable: false });
    if (failure.kind !== "failed") throw new Error("a failure is expected");
    my.backend.refuse = new SessionStartError(failure);
    expect((await my.start().done).outcome).toEqual(failure);
  });

  it("a template that can't be rendered fails that run only", async () => {
    const prompt = parseTemplate("{% for i in (1..issue.priority) %}x{% endfor %}");
    const run = my.start({ request: { prompt, issue: { ...issue, priority: 1_000_000_000 } } });
    expect((await run.done).outcome).toMatchObject({ kind: "failed", class: "template", retryable: true });
    expect([my.backend.turns.length, my.backend.closed]).toEqual([0, 1]);
  });

  it("a path that is a file fails with workspace_not_a_directory and is left alone", async () => {
    await my.fixture.workspaces.checkRoot(my.fixture.root);
    writeFileSync(join(my.fixture.root, "ENG-7"), "mine");
    expect((await my.start().done).outcome).toMatchObject({ kind: "failed", class: "workspace" });
    expect(readFileSync(join(my.fixture.root, "ENG-7"), "utf8")).toBe("mine");
  });

  it("a workspace key that another issue owns is for a person to settle, and says how", async () => {
    const { outcome } = await my.start({ request: { isTaken: () => true } }).done;
    expect(outcome).toMatchObject({ kind: "failed", class: "workspace", retryable: false });
    expect(outcome).toHaveProperty("message", expect.stringMatching(/taken by another issue; rename ENG-7 or end the/));
  });
});

describe("progress", () => {
  it.each([
    ["nothing", () => undefined, false],
    ["a new file", (path: string) => writeFileSync(join(path, "new.txt"), "x"), true],
  ])("%s in the workspace", async (_name, work, changed) => {
    const next = my.backend.nextTurn();
    my.board = async () => ({ ...issue, state: "Done" });
    const run = my.start();
    const turn = await next;
    work(my.record?.path ?? "");
    turn.end({ kind: "completed" });
    expect((await run.done).changed).toBe(changed);
  });
});

describe("the workspace right before the agent starts", () => {
  it("is checked: a before_run that swaps it for a link out of the root fails the run, and no agent starts", async () => {
    const hooks = { beforeRun: 'mv "$PWD" "$D/elsewhere" && ln -s "$D/elsewhere" "$PWD"' };
    const result = await my.completeTurns(my.start({ hooks }));
    expect(result.outcome).toMatchObject({ kind: "failed", message: expect.stringContaining("ENG-7") });
    expect(my.backend.sessions).toEqual([]);
  });
});
