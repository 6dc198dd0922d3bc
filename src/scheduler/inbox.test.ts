import { describe, expect, it } from "vitest";
import { makeIssue, makeSettings } from "../../test/support/issues.ts";
import { driverIn, SchedulerDriver } from "../../test/support/scheduler.ts";
import { failed, type Question } from "../domain/outcome.ts";

const issue = makeIssue("ENG-1");
const issueId = issue.id;
const HOUR = 3_600_000;
const YES = { accept: true, text: null } as const;
const ANSWER = { kind: "answer", questionId: "q-1", answer: YES } as const;
const MESSAGE = { kind: "steer", issueId, text: "go left" } as const;
const CANCELLED = { kind: "cancelled", by: "shutdown", message: "" } as const;

function question(driver: SchedulerDriver): Question {
  const base = { id: "q-1", kind: "command", summary: "The agent asks to run make", subject: "make" } as const;
  return { ...base, detail: "{}", askedAt: driver.now, deadlineAt: driver.now + HOUR };
}

/** A run whose agent waits for a person. */
function asking(): SchedulerDriver {
  const driver = driverIn(issue, "running");
  const runId = driver.runIdOf(issue);
  driver.send({ kind: "run_phase", runId, phase: "turn", turn: 1 });
  driver.send({ kind: "run_question", runId, question: question(driver) });
  driver.send({ kind: "run_activity", runId, at: driver.now, open: 1 });
  return driver;
}

/** Nobody answered in time. */
function unanswered(): SchedulerDriver {
  const driver = asking();
  const asked = question(driver);
  driver.now += HOUR;
  driver.endRun(issue, { kind: "needs_input", question: asked });
  return driver;
}

describe("an open question", () => {
  it("keeps its run alive until its own deadline, however short the timeouts are", () => {
    const settings = makeSettings();
    const driver = asking();
    driver.settings = { ...settings, codex: { ...settings.codex, stallTimeoutMs: 60_000, turnTimeoutMs: HOUR } };
    expect(driver.wakeAt).toBeLessThanOrEqual(driver.state.nextPollAt);
    driver.advance(HOUR);
    expect(driver.effect("stop_run")).toBeUndefined();
    driver.advance(HOUR);
    expect(driver.effect("stop_run")).toMatchObject({ why: "turn_timeout" });
  });

  it("gets the answer of a person, who is told so, and can't be answered twice", () => {
    const driver = asking();
    expect(driver.operate(ANSWER)).toMatchObject({ accepted: true });
    expect(driver.effect("answer_question")).toMatchObject({ questionId: "q-1", answer: YES });
    expect(driver.operate(ANSWER)).toMatchObject({ accepted: false, code: "already_answered" });
  });

  it("blocks its ticket when nobody answered in time, and says so; the thread stays bound", () => {
    const claim = unanswered().claimOf("blocked", issue);
    expect(claim).toMatchObject({ why: "needs_input", threadId: "thread-1", question: { id: "q-1" } });
    expect(claim.message).toBe("nobody answered within 60 min: The agent asks to run make");
  });

  it("is gone when its ticket is released", () => {
    const driver = unanswered();
    driver.operate({ kind: "release", issueId });
    expect(driver.operate(ANSWER)).toMatchObject({ accepted: false, code: "question_gone" });
  });
});

describe("an answer", () => {
  it("to a ticket that is blocked resumes its thread with a grant for that kind and subject", () => {
    const driver = unanswered();
    expect(driver.operate(ANSWER)).toMatchObject({ accepted: true });
    driver.answerRefresh([issue]);
    expect(driver.effect("start_run")).toMatchObject({
      why: "answered",
      threadId: "thread-1",
      inbox: [{ kind: "answer", id: "q-1", question: "command", subject: "make", answer: YES }],
    });
  });

  it("that came in the last moment goes to the next run: the ticket isn't blocked", () => {
    const driver = asking();
    const asked = question(driver);
    driver.operate(ANSWER);
    driver.endRun(issue, { kind: "needs_input", question: asked });
    expect(driver.effect("refresh")?.ids).toEqual([issueId]);
    expect(driver.claimOf("waiting", issue)).toMatchObject({ why: "answered", inbox: [{ id: "q-1" }] });
  });

  it("is used once over a crash: kept until the agent has taken it, and gone afterwards", () => {
    const before = unanswered();
    before.operate(ANSWER);
    before.answerRefresh([issue]);
    const driver = before.restart();
    driver.answerRefresh([issue]);
    expect(driver.effect("start_run")?.inbox).toMatchObject([{ id: "q-1" }]);
    driver.send({ kind: "run_took", runId: driver.runIdOf(issue), itemId: "q-1" });
    const last = driver.restart();
    last.answerRefresh([issue]);
    expect(last.effect("start_run")?.inbox).toEqual([]);
  });

  it("that no agent asked for again is no grant for later: it ends with the run that had it", () => {
    const driver = unanswered();
    driver.operate(ANSWER);
    driver.answerRefresh([issue]);
    driver.endRun(issue, { kind: "succeeded" });
    expect(driver.claimOf("waiting", issue).inbox).toEqual([]);
  });

  it.each([
    ["a failure", failed("agent", "exit 1")],
    ["a shutdown", CANCELLED],
  ])("outlives a run that was cut off by %s", (_name, outcome) => {
    const driver = unanswered();
    driver.operate(ANSWER);
    driver.answerRefresh([issue]);
    driver.endRun(issue, outcome);
    expect(driver.claimOf("waiting", issue).inbox).toHaveLength(1);
  });
});

describe("a message", () => {
  it("goes to the running run, is kept until its agent has it, and is forgotten then", () => {
    const driver = driverIn(issue, "running");
    expect(driver.operate(MESSAGE)).toMatchObject({ accepted: true });
    const message = driver.effect("deliver")?.message;
    expect(message).toMatchObject({ text: "go left" });
    const again = driver.restart();
    again.answerRefresh([issue]);
    expect(again.effect("start_run")?.inbox).toEqual([message]);
    again.send({ kind: "run_took", runId: again.runIdOf(issue), itemId: message?.id ?? "" });
    expect(again.claimOf("running", issue).inbox).toEqual([]);
  });

  it.each(["waiting", "blocked"] as const)("to a ticket that is %s is delivered in its next run", (kind) => {
    const driver = driverIn(issue, kind);
    driver.operate(MESSAGE);
    expect(driver.effects.every((effect) => effect.kind === "log")).toBe(true);
    expect(driver.claim(issue)?.kind).toBe(kind);
    driver.operate({ kind: "retry", issueId });
    driver.answerRefresh([issue]);
    expect(driver.effect("start_run")?.inbox).toMatchObject([{ text: "go left" }]);
  });

  it("outlives the end of its run, and counts runs without progress anew", () => {
    const driver = new SchedulerDriver(makeSettings({ agent: { maxIdleRuns: 1 } }));
    driver.dispatch(issue);
    driver.operate(MESSAGE);
    driver.endRun(issue, { kind: "succeeded" }, { changed: false });
    expect(driver.claimOf("waiting", issue)).toMatchObject({ why: "continuation", inbox: [{ text: "go left" }] });
  });

  it("of an old run's report changes nothing", () => {
    const driver = driverIn(issue, "running");
    const old = driver.runIdOf(issue);
    driver.operate(MESSAGE);
    driver.endRun(issue, failed("agent", "exit 1"));
    const itemId = driver.claimOf("waiting", issue).inbox[0]?.id ?? "";
    driver.send({ kind: "run_took", runId: old, itemId });
    expect(driver.claimOf("waiting", issue).inbox).toHaveLength(1);
  });

  it("that nobody can have any more is noted in the log when its ticket is let go", () => {
    const driver = driverIn(issue, "waiting");
    driver.operate(MESSAGE);
    driver.operate({ kind: "release", issueId });
    expect(driver.effects).toContainEqual(
      expect.objectContaining({ kind: "log", level: "warn", message: "what a person said was not delivered" }),
    );
  });
});
