import { describe, expect, it } from "vitest";
import { makeIssue } from "../../test/support/issues.ts";
import type { SchedulerDriver } from "../../test/support/scheduler.ts";
import { driverIn } from "../../test/support/scheduler.ts";
import type { Claim } from "../domain/claim.ts";
import type { OperatorCommand } from "./events.ts";

const issue = makeIssue("ENG-1");
const issueId = issue.id;
const CANCELLED = { kind: "cancelled", by: "operator", message: "" } as const;

describe("an operator's stop", () => {
  it("holds over a crash: the ticket is blocked, and no run of it starts", () => {
    const before = driverIn(issue, "running");
    before.operate({ kind: "stop", issueId });
    const driver = before.restart();
    expect(driver.claimOf("blocked", issue)).toMatchObject({ why: "operator" });
    driver.tick([issue]);
    expect(driver.effect("refresh")).toBeUndefined();
  });

  it.each(["release", "reset"] as const)("%s holds over a crash: the ticket is free", (kind) => {
    const before = driverIn(issue, "running");
    before.send({ kind: "run_thread", runId: before.runIdOf(issue), threadId: "thread-9" });
    before.operate({ kind, issueId });
    const driver = before.restart();
    expect(driver.claim(issue)).toBeUndefined();
    expect(driver.store.load().claims.size).toBe(0);
    const unbound = driver.change?.facts.some((fact) => fact.kind === "thread_unbound");
    expect(unbound).toBe(kind === "reset");
    driver.dispatch(issue);
    expect(driver.effect("start_run")).toMatchObject({ threadId: null });
  });

  it.each([
    ["a shutdown", (driver: SchedulerDriver) => void driver.send({ kind: "shutdown" })],
    ["a stall", (driver: SchedulerDriver) => stall(driver)],
    ["a release", (driver: SchedulerDriver) => void driver.operate({ kind: "release", issueId })],
  ])("counts though %s ends the run already", (_name, stopFirst) => {
    const driver = driverIn(issue, "running");
    stopFirst(driver);
    expect(driver.operate({ kind: "stop", issueId })).toMatchObject({ accepted: true });
    driver.endRun(issue, CANCELLED);
    expect(driver.claimOf("blocked", issue).why).toBe("operator");
  });

  it("reset of a running ticket unbinds the thread when the run has ended, so that the run can't bind it again", () => {
    const driver = driverIn(issue, "running");
    driver.operate({ kind: "reset", issueId });
    expect(driver.change?.facts).toEqual([]);
    driver.operate({ kind: "release", issueId });
    driver.endRun(issue, CANCELLED);
    expect(driver.change?.facts).toContainEqual({ kind: "thread_unbound", issueId });
    expect(driver.claim(issue)).toBeUndefined();
  });

  it("reset of a ticket that nobody has claimed unbinds its thread all the same", () => {
    const driver = driverIn(issue, "none");
    expect(driver.operate({ kind: "reset", issueId })).toMatchObject({ accepted: true });
    expect(driver.change?.facts).toEqual([{ kind: "thread_unbound", issueId }]);
  });
});

describe("a drain", () => {
  it("starts nothing, lets runs go on, and ends with a resume or a restart", () => {
    const driver = driverIn(issue, "running");
    const other = makeIssue("ENG-2");
    expect(driver.operate({ kind: "drain" })).toMatchObject({ accepted: true });
    expect(driver.change).toBeNull();
    driver.tick([issue, other]);
    expect(driver.effect("refresh")).toBeUndefined();
    expect(driver.claimOf("running", issue).stopping).toBeNull();
    expect(driver.restart().state.mode).toBe("running");
    driver.operate({ kind: "resume" });
    expect(driver.effect("refresh")?.ids).toEqual([other.id]);
  });

  it("is refused by a daemon that stops, and a resume doesn't take a stop back", () => {
    const driver = driverIn(issue, "running");
    driver.send({ kind: "shutdown" });
    expect(driver.operate({ kind: "drain" })).toMatchObject({ accepted: false, code: "daemon_stopping" });
    driver.operate({ kind: "resume" });
    expect(driver.state.mode).toBe("stopping");
  });
});

describe("a refused command", () => {
  const kinds: readonly (Claim["kind"] | "none")[] = ["running", "waiting", "blocked", "cleaning", "none"];
  const commands: readonly OperatorCommand[] = [
    { kind: "stop", issueId },
    { kind: "retry", issueId },
    { kind: "release", issueId },
    { kind: "reset", issueId },
    { kind: "steer", issueId, text: "go left" },
    { kind: "steer", issueId, text: " " },
    { kind: "interrupt", issueId },
    { kind: "compact", issueId },
    { kind: "answer", questionId: "no such question", answer: { accept: true, text: null } },
  ];
  const cases = kinds.flatMap((kind) => commands.map((command) => ({ kind, command })));

  it.each(cases)("changes nothing, and says why: $command.kind on a ticket that is $kind", ({ kind, command }) => {
    const driver = driverIn(issue, kind);
    const before = driver.state;
    const result = driver.operate(command);
    expect(result.message).not.toBe("");
    const did = driver.change !== null || driver.effects.some((effect) => effect.kind !== "log");
    expect(did).toBe(result.accepted);
    if (!result.accepted) expect(driver.state.claims).toBe(before.claims);
  });

  it.each([
    ["stop", "none", "issue_not_claimed"],
    ["stop", "blocked", "is_blocked"],
    ["stop", "cleaning", "is_cleaning"],
    ["retry", "running", "is_running"],
    ["interrupt", "waiting", "not_running"],
    ["compact", "running", "not_running"],
  ] as const)("%s on a ticket that is %s: %s", (command, kind, code) => {
    expect(driverIn(issue, kind).operate({ kind: command, issueId })).toMatchObject({ accepted: false, code });
  });
});

it("refresh says when the tracker is read: now, once more after a read that is on its way, or at the reset of a throttle", () => {
  const driver = driverIn(issue, "none");
  const refresh = (): string => driver.operate({ kind: "refresh" }).message;
  expect(refresh()).toBe("the tracker is read now");
  const poll = driver.effect("poll")?.poll ?? expect.fail("no poll");
  expect(refresh()).toMatch(/once more right after/);
  const resetAt = driver.now + 90_000;
  driver.send({ kind: "poll_failed", poll, failure: { code: "tracker_rate_limited", message: "x", resetAt } });
  expect(refresh()).toContain(`read at ${new Date(resetAt).toISOString()}`);
});

it.each([
  ["waiting", "there is nothing to interrupt: ENG-1 waits (failure); `retry` makes it due now"],
  ["blocked", "there is nothing to interrupt: ENG-1 is blocked (not_retryable); `retry` starts it"],
  ["running", "there is nothing to interrupt: no turn of ENG-1 is under way (preparing); try again in a moment"],
  [
    "none",
    "there is nothing to interrupt: the ticket neither runs nor waits nor is blocked; `retry` starts it if it is",
  ],
] as const)("interrupt on a ticket that is %s says what it does instead", (kind, says) => {
  expect(driverIn(issue, kind).operate({ kind: "interrupt", issueId }).message).toContain(says);
});

function stall(driver: SchedulerDriver): void {
  driver.send({ kind: "run_phase", runId: driver.runIdOf(issue), phase: "turn", turn: 1 });
  driver.advance(driver.settings.codex.stallTimeoutMs);
  if (driver.claimOf("running", issue).stopping?.why !== "stalled") throw new Error("the run didn't stall");
}
