import { beforeEach, describe, expect, it } from "vitest";
import { captureLog } from "../../test/support/captured-log.ts";
import { makeIssue } from "../../test/support/issues.ts";
import type { Claim } from "../domain/claim.ts";
import { runId } from "../domain/ids.ts";
import type { Question } from "../domain/outcome.ts";
import type { OperatorCommand, OperatorResult } from "../scheduler/events.ts";
import type { RunSessions, SessionEvent } from "../tracker/port.ts";
import { takeSessionEvent } from "./session-prompts.ts";

const ISSUE = makeIssue("A-1");
const idle = { runs: 0, state: "todo" };

let commands: OperatorCommand[];
let shown: unknown[];
let answer: OperatorResult;

beforeEach(() => {
  commands = [];
  shown = [];
  answer = { accepted: true, message: "done" };
});

function asking(kind: Question["kind"]): Question {
  return { id: "q1", kind, summary: "?", subject: null, detail: "", askedAt: 0, deadlineAt: null };
}

function running(question: Question | null = null): Claim {
  const times = { startedAt: 0, lastEventAt: 0, open: 0, turn: 1 };
  const rest = { attempt: null, issue: ISSUE, phase: "turn", host: "local", threadId: null, idle, inbox: [] } as const;
  return { kind: "running", runId: runId("run-1"), ...rest, ...times, question, stopping: null };
}

function blocked(question: Question | null): Claim {
  const rest = { class: null, since: 0, attempt: null, issue: ISSUE, threadId: null, inbox: [] };
  return { kind: "blocked", why: "operator", message: "stopped", question, ...rest };
}

function take(event: SessionEvent, claim: Claim | null, hasSessions = true): readonly OperatorCommand[] {
  const note =
    (name: string) =>
    (...args: readonly unknown[]): void =>
      void shown.push([name, ...args]);
  const sessions: RunSessions = {
    began: note("began"),
    progressed: note("progressed"),
    planned: note("planned"),
    asked: note("asked"),
    ended: note("ended"),
    adopt: note("adopt"),
    reply: note("reply"),
  };
  takeSessionEvent(event, {
    log: captureLog().log,
    claims: () => new Map(claim === null ? [] : [[ISSUE.id, claim]]),
    operate: (command) => {
      commands.push(command);
      return answer;
    },
    sessions: () => (hasSessions ? sessions : undefined),
  });
  return commands;
}

function says(text: string, isStop = false): SessionEvent {
  return { kind: "prompt", sessionId: "s1", issueId: ISSUE.id, text, isStop };
}

function settles(accept: boolean, text: string | null): OperatorCommand {
  return { kind: "answer", questionId: "q1", answer: { accept, text } };
}

describe("what a person says in a session", () => {
  it("with the signal stop ends the run, whatever the words are and whatever was asked", () => {
    expect(take(says("Stop", true), running(asking("question")))).toEqual([{ kind: "stop", issueId: ISSUE.id }]);
  });

  it.each<[Question["kind"], string, OperatorCommand]>([
    ["question", "Blue", settles(true, "Blue")],
    ["question", "no", settles(true, "no")],
    ["elicitation", '{"colour": "blue"}', settles(true, '{"colour": "blue"}')],
    ["elicitation", "No.", settles(false, null)],
    ["command", "yes", settles(true, null)],
    ["command", " Approve! ", settles(true, null)],
    ["permissions", "deny", settles(false, null)],
    ["file_change", "ok", settles(true, null)],
  ])("answers an open %s: %s", (kind, text, command) => {
    for (const claim of [running(asking(kind)), blocked(asking(kind))]) {
      commands = [];
      expect(take(says(text), claim)).toEqual([command]);
    }
  });

  it("that is neither yes nor no approves nothing, and is asked for again", () => {
    expect(take(says("yes, but only if the tests pass"), running(asking("command")))).toEqual([]);
    expect(shown).toEqual([["reply", "s1", expect.stringContaining("a yes or a no")]]);
  });

  it("reaches an agent that works, and makes one that was stopped go on with it", () => {
    const steer = { kind: "steer", issueId: ISSUE.id, text: "Use the blue one" };
    expect(take(says("Use the blue one"), running())).toEqual([steer]);
    commands = [];
    expect(take(says("Use the blue one"), blocked(null))).toEqual([steer, { kind: "retry", issueId: ISSUE.id }]);
  });

  it("about an issue that nobody works on starts it, if it may, and saying nothing does nothing", () => {
    expect(take(says("Begin"), null)).toEqual([{ kind: "retry", issueId: ISSUE.id }]);
    commands = [];
    expect(take(says("  "), running())).toEqual([]);
  });

  it("and can't be done is answered in the session", () => {
    answer = { accepted: false, code: "is_cleaning", message: "A-1 is being cleaned" };
    take(says("Go on"), running());
    expect(shown).toEqual([["reply", "s1", "Not done: A-1 is being cleaned"]]);
  });

  it("commands nothing where runs aren't shown in sessions, however genuine it is", () => {
    expect(take(says("Stop", true), running(), false)).toEqual([]);
  });
});

it("a session that the tracker has opened is kept for the issue's next run", () => {
  expect(take({ kind: "session", sessionId: "s1", issueId: ISSUE.id }, null)).toEqual([]);
  expect(shown).toEqual([["adopt", ISSUE.id, "s1"]]);
});
