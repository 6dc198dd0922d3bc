import { beforeEach, describe, expect, it } from "vitest";
import { makeIssue } from "../../test/support/issues.ts";
import type { Claim, RunningClaim } from "../domain/claim.ts";
import type { AgentEventBody } from "../domain/events.ts";
import type { IssueId } from "../domain/ids.ts";
import { runId } from "../domain/ids.ts";
import type { Question } from "../domain/outcome.ts";
import type { RunSessions } from "../tracker/port.ts";
import { SessionMirror } from "./session-mirror.ts";

const ISSUE = makeIssue("A-1");
const RUN = runId("run-1");
const idle = { runs: 0, state: "todo" };
const QUESTION: Question = {
  id: "q1",
  kind: "question",
  summary: "Blue or green? (s3cret)",
  subject: null,
  detail: "",
  askedAt: 0,
  deadlineAt: null,
};

let calls: unknown[];
let claims: Map<IssueId, Claim>;
let mirror: SessionMirror;
let hasSessions: boolean;

beforeEach(() => {
  calls = [];
  claims = new Map();
  hasSessions = true;
  const note =
    (name: string) =>
    (...args: readonly unknown[]): void =>
      void calls.push([name, ...args]);
  const sessions: RunSessions = {
    began: note("began"),
    progressed: note("progressed"),
    planned: note("planned"),
    asked: note("asked"),
    ended: note("ended"),
    adopt: note("adopt"),
    reply: note("reply"),
  };
  mirror = new SessionMirror({
    sessions: () => (hasSessions ? sessions : undefined),
    claims: () => claims,
    pageUrl: (identifier) => `http://127.0.0.1:8787/${identifier}`,
    redact: (text) => text.replaceAll("s3cret", "[redacted]"),
  });
});

function running(more: Partial<RunningClaim> = {}): RunningClaim {
  const times = { startedAt: 0, lastEventAt: 0, open: 0, turn: 1 };
  const rest = { attempt: null, issue: ISSUE, phase: "turn", host: "local", threadId: null, idle, inbox: [] } as const;
  return { kind: "running", runId: RUN, ...rest, ...times, question: null, stopping: null, ...more };
}

function blocked(question: Question | null): Claim {
  const why = question === null ? "operator" : "needs_input";
  const rest = { class: null, since: 0, attempt: null, issue: ISSUE, threadId: null, inbox: [] };
  return { kind: "blocked", why, message: "stopped by an operator", question, ...rest };
}

function becomes(claim: Claim | null): unknown[] {
  if (claim === null) claims.delete(ISSUE.id);
  else claims.set(ISSUE.id, claim);
  mirror.changed();
  return calls.splice(0);
}

function happens(body: AgentEventBody): unknown[] {
  mirror.agentEvent(RUN, ISSUE.id, { ...body, at: 0, agentPid: null });
  return calls.splice(0);
}

const BEGAN = ["began", { runId: RUN, issueId: ISSUE.id, url: `http://127.0.0.1:8787/${ISSUE.identifier}` }];

describe("a run in the tracker's sessions", () => {
  it("begins once, and shows plan, messages and commands without secrets", () => {
    expect(becomes(running())).toEqual([BEGAN]);
    expect(becomes(running({ turn: 2 }))).toEqual([]);
    expect(happens({ kind: "plan", text: "[pending] hide s3cret" })).toEqual([
      ["planned", RUN, "[pending] hide [redacted]"],
    ]);
    expect(happens({ kind: "message", text: "I see s3cret" })).toEqual([["progressed", RUN, "I see [redacted]"]]);
    const command = { kind: "command", command: "echo s3cret", exitCode: 0, durationMs: 1, outputTail: "" } as const;
    expect(happens(command)).toEqual([["progressed", RUN, "Ran `echo [redacted]`"]]);
    expect(happens({ kind: "reasoning", text: "hm" })).toEqual([]);
  });

  it("asks each question once, also where the run ends with it", () => {
    becomes(running());
    expect(becomes(running({ question: QUESTION }))).toEqual([["asked", RUN, "Blue or green? ([redacted])"]]);
    expect(becomes(running({ question: QUESTION, open: 1 }))).toEqual([]);
    expect(becomes(blocked(QUESTION))).toEqual([["ended", RUN, { kind: "asked", text: null }]]);
  });

  it("that ends with a question nobody was asked yet asks it then", () => {
    becomes(running());
    const end = { kind: "asked", text: "Blue or green? ([redacted])" };
    expect(becomes(blocked(QUESTION))).toEqual([["ended", RUN, end]]);
  });

  it.each<[string, Claim | null, string, RegExp]>([
    ["released", null, "done", /^Last words$/],
    ["cleaning", { kind: "cleaning", path: "/w", issue: ISSUE, since: 0 }, "done", /^Last words$/],
    ["blocked", blocked(null), "failed", /stopped by an operator/],
    [
      "waiting after a failure",
      {
        kind: "waiting",
        attempt: 1,
        issue: ISSUE,
        dueAt: 1,
        why: "failure",
        error: "codex exited",
        threadId: null,
        check: null,
        idle,
        inbox: [],
      },
      "failed",
      /codex exited\. Another one follows/,
    ],
    [
      "waiting for its continuation",
      {
        kind: "waiting",
        attempt: 1,
        issue: ISSUE,
        dueAt: 1,
        why: "continuation",
        error: null,
        threadId: null,
        check: null,
        idle,
        inbox: [],
      },
      "done",
      /^Last words$/,
    ],
    ["running anew", running({ runId: runId("run-2") }), "done", /^Last words$/],
  ])("ends by what has become of its ticket: %s", (_what, claim, kind, text) => {
    becomes(running());
    happens({ kind: "message", text: "Last words" });
    expect(becomes(claim)[0]).toEqual(["ended", RUN, { kind, text: expect.stringMatching(text) }]);
    expect(happens({ kind: "message", text: "late" })).toEqual([]);
  });

  it("keeps the sessions that it began with when a reload takes them away, and a new one has none", () => {
    becomes(running());
    hasSessions = false;
    expect(happens({ kind: "message", text: "still" })).toEqual([["progressed", RUN, "still"]]);
    expect(becomes(running({ runId: runId("run-2") }))).toEqual([["ended", RUN, expect.anything()]]);
    expect(becomes(null)).toEqual([]);
  });
});
