/** Runs as agent sessions of a local Linear, whose key belongs to an application. */
import { afterEach, beforeEach, describe, expect, it } from "vitest";

import type { SessionRow } from "../../../test/fakes/linear/rows.ts";
import type { LinearServer } from "../../../test/fakes/linear/server.ts";
import { startLinearServer } from "../../../test/fakes/linear/server.ts";
import { captureLog } from "../../../test/support/captured-log.ts";
import type { CapturedLog } from "../../../test/support/captured-log.ts";
import { linearTrackerOn } from "../../../test/support/linear-tracker.ts";
import { ManualClock } from "../../../test/support/manual-clock.ts";
import { until } from "../../../test/support/until.ts";
import type { IssueId } from "../../domain/ids.ts";
import { issueId, runId } from "../../domain/ids.ts";
import type { RunSessions, Tracker } from "../port.ts";
import { planSteps } from "./session-steps.ts";

const TOKEN = "lin_oauth_application";
const [FIRST, SECOND] = [runId("run-1"), runId("run-2")];

let server: LinearServer;
let clock: ManualClock;
let log: CapturedLog;
let tracker: Tracker;
let sessions: RunSessions;
let issue: IssueId;

beforeEach(async () => {
  clock = new ManualClock();
  log = captureLog();
  server = await startLinearServer({ oauthTokens: new Set([TOKEN]) });
  server.board.viewer().app = true;
  issue = issueId(server.board.createIssue({ title: "A" }).id);
  tracker = await linearTrackerOn(server, { api_key: TOKEN, agent_sessions: true }, { clock, log });
  sessions = tracker.sessions ?? expect.fail("no sessions");
});
afterEach(async () => {
  server.heal();
  await tracker.close();
  await server.close();
});

function begin(id = FIRST, url: string | null = null): void {
  sessions.began({ runId: id, issueId: issue, url });
}

/** What was warned of, but for the token that stands in these tests' settings. */
function warned(): readonly string[] {
  return log.warnings().filter((line) => !line.includes("api_key"));
}

/** What stands in each session, as `type: body`; a `~` marks what vanishes with the next. */
function said(): string[][] {
  return [...server.board.sessions.values()].map(({ activities }) =>
    activities.map(
      ({ content, ephemeral }) => `${ephemeral ? "~" : ""}${String(content["type"])}: ${String(content["body"])}`,
    ),
  );
}

function untilSaid(count: number): Promise<unknown> {
  return until(`${count} activities`, () => said().flat().length >= count);
}

function only(): SessionRow {
  return server.board.sessions.values().next().value ?? expect.fail("no session");
}

const BEGUN = "thought: The work on this issue has begun.";

describe("a run", () => {
  it("is one session on its issue, linked to the daemon's page, from its begin to its end", async () => {
    begin(FIRST, "http://127.0.0.1:8787");
    sessions.ended(FIRST, { kind: "done", text: "All tests pass." });
    await untilSaid(2);
    expect(only()).toMatchObject({ issueId: issue, urls: [{ label: "Symphony", url: "http://127.0.0.1:8787" }] });
    expect(said()).toEqual([[BEGUN, "response: All tests pass."]]);
  });

  it("that fails ends in an error, and the next has a session of its own", async () => {
    begin();
    sessions.ended(FIRST, { kind: "failed", text: "codex exited" });
    begin(SECOND);
    await untilSaid(3);
    expect(said()).toEqual([[BEGUN, "error: codex exited"], [BEGUN]]);
  });

  it("shows its newest progress each two minutes, however much there is", async () => {
    begin();
    await untilSaid(1);
    for (let second = 0; second < 600; second += 10) {
      sessions.progressed(FIRST, `step at ${second} s`);
      await clock.advance(10_000);
      await until("what is due is out", () => said().flat().length > Math.floor((second + 10) / 120));
    }
    expect(said()).toEqual([[BEGUN, ...[110, 230, 350, 470, 590].map((second) => `~thought: step at ${second} s`)]]);
  });

  it("shows its plan when that has changed, in place of what was done", async () => {
    begin();
    await untilSaid(1);
    sessions.planned(FIRST, "First the cause.\n[completed] Find it\n[inProgress] Mend it\n[pending] Test it");
    sessions.progressed(FIRST, "Ran `npm test`");
    await clock.advance(120_000);
    await until("the plan is there", () => only().plan !== null);
    expect(only().plan).toEqual([
      { content: "Find it", status: "completed" },
      { content: "Mend it", status: "inProgress" },
      { content: "Test it", status: "pending" },
    ]);
    sessions.progressed(FIRST, "Ran `npm test` again");
    await clock.advance(120_000);
    await untilSaid(2);
    expect(said()).toEqual([[BEGUN, "~thought: Ran `npm test` again"]]);
  });

  it("asks in its session, and goes on in it when the answer has come after its end", async () => {
    begin();
    sessions.asked(FIRST, "Blue or green?");
    sessions.ended(FIRST, { kind: "asked", text: null });
    begin(SECOND, "http://127.0.0.1:8787");
    sessions.ended(SECOND, { kind: "done", text: "Blue it is." });
    await untilSaid(4);
    expect(said()).toEqual([[BEGUN, "elicitation: Blue or green?", BEGUN, "response: Blue it is."]]);
    expect(only().urls).toHaveLength(1);
  });
});

describe("a session that Linear has opened", () => {
  it("is answered at once, and is the next run's own", async () => {
    const { id } = server.board.openSession(issue);
    sessions.adopt(issue, id);
    await untilSaid(1);
    begin();
    await untilSaid(2);
    expect(said()).toEqual([[expect.stringContaining("thought: Seen."), BEGUN]]);
  });

  it("is not mistaken for another when it is the run's own", async () => {
    begin();
    await untilSaid(1);
    sessions.adopt(issue, only().id);
    sessions.ended(FIRST, { kind: "done", text: "done" });
    await untilSaid(2);
    expect(said()).toEqual([[BEGUN, "response: done"]]);
  });

  it("is told that the work is under way when it is", async () => {
    begin();
    await untilSaid(1);
    sessions.adopt(issue, server.board.openSession(issue).id);
    await untilSaid(2);
    expect(said()[1]).toEqual(["thought: The work on this issue is under way in another session."]);
  });

  it("hears what becomes of what was said in it", async () => {
    const { id } = server.board.openSession(issue);
    sessions.reply(id, "Not done: nothing runs");
    await untilSaid(1);
    expect(said()).toEqual([["thought: Not done: nothing runs"]]);
  });
});

describe("trouble", () => {
  it("with the answer to what must be heard says it again, once", async () => {
    begin();
    await untilSaid(1);
    server.fail({ operation: "SymphonyActivity", fault: { kind: "reset" }, times: 2 });
    sessions.asked(FIRST, "Blue or green?");
    await untilSaid(2);
    for (let n = 0; n < 2; n += 1) {
      const dueAt = clock.now() + 5_000;
      await until("it waits for another try", () => clock.nextDueAt() === dueAt);
      await clock.advance(5_000);
    }
    sessions.ended(FIRST, { kind: "done", text: "end" });
    await untilSaid(3);
    expect(said()).toEqual([[BEGUN, "elicitation: Blue or green?", "response: end"]]);
    expect(warned()).toEqual([]);
  });

  it("with opening a session leaves the run without one, and says so", async () => {
    server.fail({ operation: "SymphonySession", fault: { kind: "status", status: 503 } });
    begin();
    sessions.ended(FIRST, { kind: "done", text: "end" });
    await until("it is told", () => warned().length > 0);
    expect(warned().join()).toContain("Linear agent session not opened");
    // The answer alone was lost: a second try would have opened a second one.
    expect(said()).toEqual([[]]);
  });

  it("with the credential, when it isn't an application's, is told of once", async () => {
    server.board.viewer().app = false;
    for (const id of [FIRST, SECOND]) {
      begin(id);
      sessions.ended(id, { kind: "done", text: "end" });
    }
    await until("it is told", () => warned().length > 0);
    await tracker.close();
    expect(warned()).toHaveLength(1);
    expect(warned()[0]).toContain("agent_sessions has no effect");
    expect(server.board.sessions.size).toBe(0);
  });

  it("at the end of the daemon: what is said is waited for, and a hang is not", async () => {
    begin();
    sessions.ended(FIRST, { kind: "failed", text: "The daemon stops." });
    await tracker.close();
    expect(said()).toEqual([[BEGUN, "error: The daemon stops."]]);
    tracker = await linearTrackerOn(server, { api_key: TOKEN, agent_sessions: true }, { clock, log });
    server.fail({ fault: { kind: "hang" } });
    tracker.sessions?.began({ runId: SECOND, issueId: issue, url: null });
    const closed = tracker.close();
    await until("the request is out", () => server.requests.at(-1)?.operation === "SymphonyViewer");
    await clock.advance(5_000);
    await closed;
    expect(clock.armedCount()).toBe(0);
  });
});

it("without agent_sessions there are none", async () => {
  const plain = await linearTrackerOn(server, { api_key: TOKEN });
  expect(plain.sessions).toBeUndefined();
  await plain.close();
});

it("a plan's steps are its lines with a status, bounded", () => {
  expect(planSteps("[done] a\n[canceled]  b \nno step\n[in_progress] c")).toEqual([
    { content: "a", status: "pending" },
    { content: " b", status: "canceled" },
    { content: "c", status: "inProgress" },
  ]);
  expect(planSteps(Array.from({ length: 99 }, () => `[pending] ${"x".repeat(999)}`).join("\n"))).toHaveLength(50);
});
