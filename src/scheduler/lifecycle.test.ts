import { describe, expect, it } from "vitest";
import { makeIssue, makeSettings } from "../../test/support/issues.ts";
import { driverIn, SchedulerDriver } from "../../test/support/scheduler.ts";

const issue = makeIssue("ENG-1");
const done = { ...issue, state: "Done" };

describe("an operator", () => {
  it("stop: the run ends and the ticket is blocked", () => {
    const driver = driverIn(issue, "running");
    driver.send({ kind: "operator", command: { kind: "stop", issueId: issue.id } });
    expect(driver.effect("stop_run")).toMatchObject({ why: "operator_stop" });
    driver.endRun(issue, { kind: "cancelled", by: "operator", message: "" });
    expect(driver.claimOf("blocked", issue).why).toBe("operator");
  });

  it.each(["waiting", "blocked"] as const)("retry of a %s ticket: due now, attempt kept", (kind) => {
    const driver = driverIn(issue, kind);
    const { attempt } = driver.claimOf(kind, issue);
    driver.send({ kind: "operator", command: { kind: "retry", issueId: issue.id } });
    driver.answerRefresh([issue]);
    expect(driver.claimOf("running", issue).attempt).toBe(attempt);
  });

  it("release: forgotten, and eligible at the next tick", () => {
    const driver = driverIn(issue, "blocked");
    driver.send({ kind: "operator", command: { kind: "release", issueId: issue.id } });
    expect(driver.claim(issue)).toBeUndefined();
    driver.dispatch(issue);
    expect(driver.claimOf("running", issue).threadId).toBeNull();
  });

  it("release of a running ticket: stopped, then forgotten though it is still active", () => {
    const driver = driverIn(issue, "running");
    driver.send({ kind: "operator", command: { kind: "release", issueId: issue.id } });
    expect(driver.effect("stop_run")).toMatchObject({ why: "operator_release" });
    driver.endRun(issue, { kind: "cancelled", by: "operator", message: "" });
    expect(driver.claim(issue)).toBeUndefined();
  });

  it("pause: nothing new starts, a due retry keeps its attempt; resume serves it", () => {
    const driver = driverIn(issue, "waiting");
    driver.send({ kind: "operator", command: { kind: "pause" } });
    driver.advance(60_000);
    expect(driver.effect("refresh")).toBeUndefined();
    expect(driver.claimOf("waiting", issue).attempt).toBe(1);
    driver.send({ kind: "operator", command: { kind: "resume" } });
    expect(driver.effect("refresh")?.ids).toEqual([issue.id]);
  });
});

describe("shutdown", () => {
  it("lets turns end within the drain time, then interrupts, and costs no attempt", () => {
    const driver = driverIn(issue, "running");
    driver.send({ kind: "shutdown" });
    expect(driver.effect("finish_run")).toMatchObject({ why: "shutdown" });
    driver.advance(30_000);
    expect(driver.effect("stop_run")).toMatchObject({ why: "shutdown" });
    driver.endRun(issue, { kind: "cancelled", by: "shutdown", message: "" });
    expect(driver.claimOf("waiting", issue)).toMatchObject({ attempt: null, why: "shutdown", threadId: "thread-1" });
  });

  it("a second signal interrupts at once, once", () => {
    const driver = driverIn(issue, "running");
    driver.send({ kind: "shutdown" });
    driver.send({ kind: "stop_runs" });
    expect(driver.effect("stop_run")).toMatchObject({ why: "shutdown" });
    driver.send({ kind: "stop_runs" });
    expect(driver.effect("stop_run")).toBeUndefined();
  });
});

it("a drain asked for while the daemon stops doesn't take the stop back", () => {
  const driver = driverIn(issue, "running");
  driver.send({ kind: "shutdown" });
  driver.send({ kind: "operator", command: { kind: "drain" } });
  expect(driver.state.mode).toBe("stopping");
});

describe("boot", () => {
  it("takes up a run that was alive, on its thread, at no cost, and closes its row", () => {
    const before = driverIn(issue, "running");
    before.send({ kind: "run_thread", runId: before.runIdOf(issue), threadId: "thread-9" });
    const claim = before.claimOf("running", issue);
    const driver = before.restart();
    expect(driver.change?.facts).toMatchObject([{ kind: "run_ended", runId: claim.runId }]);
    driver.answerRefresh([issue]);
    expect(driver.effect("start_run")).toMatchObject({ threadId: "thread-9", attempt: null, why: "recovered" });
  });

  it.each([
    ["resume the thread", true, "thread-9"],
    ["fresh thread: agent.resume is off", false, "thread-9"],
    ["fresh thread: no turn had begun", true, null],
  ])("says for each run found alive what becomes of it: %s", (decision, resume, threadId) => {
    const before = driverIn(issue, "running");
    const runId = before.runIdOf(issue);
    if (threadId !== null) before.send({ kind: "run_thread", runId, threadId });
    const { agent } = before.settings;
    before.settings = makeSettings({ agent: { ...agent, resume } });
    const driver = before.restart();
    const lines = driver.effects.filter((effect) => effect.kind === "log" && effect.message === "run recovered");
    expect(lines).toMatchObject([{ fields: { run_id: runId, thread_id: threadId, decision } }]);
    driver.answerRefresh([issue]);
    expect(driver.effect("start_run")).toMatchObject({ threadId: resume ? threadId : null, why: "recovered" });
  });

  it("keeps waits, blocks and an operator's pause, and does an interrupted clean-up again", () => {
    for (const kind of ["waiting", "blocked", "cleaning"] as const) {
      const before = driverIn(issue, kind);
      before.send({ kind: "operator", command: { kind: "pause" } });
      const driver = new SchedulerDriver();
      driver.now = before.now;
      driver.send({ kind: "boot", durable: before.state });
      expect(driver.claim(issue)).toEqual(before.claim(issue));
      expect(driver.state.pauses.has("operator")).toBe(true);
      expect(driver.effect("clean") !== undefined).toBe(kind === "cleaning");
    }
  });
});

it("a throttled tracker's pause that ran out while the daemon was down is dropped at once", () => {
  const driver = new SchedulerDriver();
  const pause = {
    kind: "tracker",
    since: 1,
    until: driver.now - 1,
    message: "throttled",
    step: 0,
    probe: null,
  } as const;
  driver.send({
    kind: "boot",
    durable: { claims: new Map(), workspaces: new Map(), pauses: new Map([["tracker", pause]]) },
  });
  expect(driver.wakeAt).toBeLessThanOrEqual(driver.now);
  driver.send({ kind: "timer" });
  expect(driver.effect("poll")).toBeDefined();
});

describe("settings", () => {
  it("tracker.excluded_labels keep an issue out and stop a running one", () => {
    const settings = makeSettings({ tracker: { excludedLabels: ["hold"] } });
    const driver = new SchedulerDriver(settings);
    const held = { ...issue, labels: ["hold"] };
    driver.boot();
    driver.tick([held]);
    expect(driver.effect("refresh")).toBeUndefined();
    driver.dispatch(issue);
    driver.tick([held]);
    expect(driver.effect("stop_run")).toMatchObject({ why: "unroutable" });
  });

  it.each([
    ["all are there", ["agent", "backend"], ["backend", "agent", "other"], true],
    ["one is missing", ["agent", "backend"], ["agent"], false],
    ["a blank one matches nothing", [""], ["agent", ""], false],
  ])("tracker.required_labels, %s", (_name, requiredLabels, labels, starts) => {
    const driver = new SchedulerDriver(makeSettings({ tracker: { requiredLabels } }));
    driver.boot();
    driver.tick([{ ...issue, labels }]);
    expect(driver.effect("refresh") !== undefined).toBe(starts);
  });

  it("a broken workflow file stops dispatch, never reconciliation, until it is mended", () => {
    const driver = driverIn(issue, "running");
    const other = makeIssue("ENG-2");
    driver.send({ kind: "workflow_broken", message: "line 3" });
    driver.tick([issue, other]);
    expect(driver.effect("refresh")).toBeUndefined();
    driver.tick([other], [done]);
    expect(driver.effect("finish_run")).toBeDefined();
    driver.send({ kind: "workflow_mended" });
    expect(driver.effect("refresh")?.ids).toEqual([other.id]);
  });
});
