/** A board of more than one page is read whole every five minutes, and kept up by what has changed in between. */
import { afterEach, beforeEach, describe, expect, it } from "vitest";

import type { IssueRow } from "../../../test/fakes/linear/rows.ts";
import { startLinearBench } from "../../../test/support/linear-tracker.ts";
import type { LinearBench } from "../../../test/support/linear-tracker.ts";
import { ManualClock } from "../../../test/support/manual-clock.ts";
import { issueId } from "../../domain/ids.ts";
import type { Issue } from "../../domain/issue.ts";
import type { PollAnswer } from "../port.ts";

const STATES = ["Todo", "In Progress"];

let clock: ManualClock;
let bench: LinearBench;
let rows: IssueRow[];

beforeEach(async () => {
  clock = new ManualClock();
  bench = await startLinearBench({ clock, server: { now: () => clock.now() } });
  rows = Array.from({ length: 60 }, (_, n) => bench.server.board.createIssue({ title: `${n}` }));
  // The last change lies well after the rest, as on a board that has grown over time.
  await clock.advance(3_600_000);
  bench.server.board.patchIssue(row(0).id, { priority: 2 });
  await poll();
  sent();
  await clock.advance(30_000);
});
afterEach(() => bench.dispose());

function sent(): (string | null)[] {
  return bench.server.requests.splice(0).map((request) => request.operation);
}

function poll(ids: readonly string[] = [], states: readonly string[] = STATES): Promise<PollAnswer> {
  return bench.tracker.poll?.({ states, ids: ids.map(issueId) }) ?? Promise.reject(new Error("no poll"));
}

function row(index: number): IssueRow {
  return rows[index] ?? expect.fail(`no row ${index}`);
}

function byId(issues: readonly Issue[]): ReadonlyMap<string, Issue> {
  return new Map(issues.map((issue) => [issue.id, issue]));
}

/** What a reading of everything would answer now. */
async function whole(): Promise<ReadonlyMap<string, Issue>> {
  return byId(await bench.tracker.fetchIssuesByStates(STATES));
}

async function expectUpToDate(answer: PollAnswer): Promise<void> {
  expect(byId(answer.candidates)).toEqual(await whole());
}

describe("a tick between full readings", () => {
  it("is one small request when nothing has changed", async () => {
    const answer = await poll([row(3).id]);
    expect(bench.server.requests).toHaveLength(1);
    expect(bench.server.requests[0]?.points).toBeLessThan(500);
    expect(sent()).toEqual(["SymphonyDelta"]);
    expect(answer.tracked.map((issue) => issue.id)).toEqual([row(3).id]);
    await expectUpToDate(answer);
  });

  it.each<[string, () => unknown]>([
    ["a new issue", () => bench.server.board.createIssue({ title: "new" })],
    [
      "an issue that has become active",
      () => bench.server.board.moveIssue(bench.server.board.createIssue({ title: "x", state: "Backlog" }).id, "Todo"),
    ],
    ["another state", () => bench.server.board.moveIssue(row(1).id, "In Progress")],
    ["another title and priority", () => bench.server.board.patchIssue(row(2).id, { title: "new title", priority: 1 })],
    ["other labels", () => bench.server.board.labelIssue(row(2).id, ["Fresh"])],
    ["an issue that is done", () => bench.server.board.moveIssue(row(4).id, "Done")],
    ["an archived issue", () => bench.server.board.archiveIssue(row(5).id)],
    ["an issue thrown away", () => bench.server.board.archiveIssue(row(6).id, true)],
  ])("notices %s", async (_what, change) => {
    change();
    await expectUpToDate(await poll());
  });

  it("reads a changed issue once, and not again while the overlap shows it", async () => {
    bench.server.board.patchIssue(row(1).id, { title: "changed" });
    await poll();
    expect(sent()).toEqual(["SymphonyDelta", "SymphonyIssuesById"]);
    await clock.advance(30_000);
    await poll();
    expect(sent()).toEqual(["SymphonyDelta"]);
  });

  it("needs no second reading for what is tracked", async () => {
    bench.server.board.patchIssue(row(1).id, { title: "changed" });
    const answer = await poll([row(1).id]);
    expect(sent()).toEqual(["SymphonyDelta"]);
    expect(byId(answer.candidates).get(row(1).id)?.title).toBe("changed");
  });

  it("notices that a blocker has ended, though the blocked issue hasn't changed", async () => {
    const { board } = bench.server;
    const blocker = board.createIssue({ title: "blocker", state: "Backlog" });
    board.createIssue({ title: "blocked", blockedBy: [blocker.id] });
    await poll();
    await clock.advance(30_000);
    board.moveIssue(blocker.id, "Done");
    const answer = await poll();
    expect([...byId(answer.candidates).values()].find((issue) => issue.title === "blocked")?.dispatchable).toBe(true);
    await expectUpToDate(answer);
  });

  it("answers tracked issues as they are: moved away, deleted and archived ones are absent", async () => {
    const { board } = bench.server;
    board.patchIssue(row(1).id, { projectId: null });
    board.deleteIssue(row(2).id);
    board.archiveIssue(row(3).id);
    board.moveIssue(row(4).id, "Done");
    const answer = await poll([1, 2, 3, 4].map((n) => row(n).id));
    expect(answer.tracked.map((issue) => [issue.id, issue.state])).toEqual([[row(4).id, "Done"]]);
    await expectUpToDate(answer);
  });

  it("drops a candidate that a refresh has found gone, before the next full reading", async () => {
    bench.server.board.patchIssue(row(7).id, { projectId: null });
    expect(byId((await poll()).candidates).has(row(7).id)).toBe(true);
    expect(await bench.tracker.fetchIssuesByIds([issueId(row(7).id)])).toEqual([]);
    await clock.advance(30_000);
    await expectUpToDate(await poll());
  });

  it("fails whole and changes nothing, and the next one notices all the same", async () => {
    bench.server.board.patchIssue(row(1).id, { title: "changed" });
    bench.server.fail({ operation: "SymphonyIssuesById", times: 1, fault: { kind: "status", status: 503 } });
    await expect(poll()).rejects.toMatchObject({ code: "tracker_status" });
    await clock.advance(300_000 - 60_000);
    await expectUpToDate(await poll());
  });
});

describe("a full reading", () => {
  it.each<[string, () => unknown]>([
    ["a move out of the project", () => bench.server.board.patchIssue(row(1).id, { projectId: null })],
    ["a deletion", () => bench.server.board.deleteIssue(row(2).id)],
    ["a new blocker", () => bench.server.board.relate(row(3).id, row(4).id)],
  ])("comes after five minutes and notices %s", async (_what, change) => {
    change();
    await clock.advance(270_000);
    const answer = await poll();
    expect(sent()[0]).not.toBe("SymphonyDelta");
    await expectUpToDate(answer);
  });

  it("comes at once when other states are asked for", async () => {
    await poll([], ["Todo"]);
    expect(sent()).toEqual(["SymphonyCandidates", "SymphonyCandidates"]);
  });

  it("comes at once when more has changed than fits on a page", async () => {
    for (const issue of rows) bench.server.board.patchIssue(issue.id, { title: "mass edit" });
    const answer = await poll([row(1).id]);
    expect(sent()).toEqual(["SymphonyDelta", "SymphonyTick"]);
    await expectUpToDate(answer);
  });

  it("comes at once when a change can't be read", async () => {
    bench.server.fail({
      operation: "SymphonyDelta",
      fault: {
        kind: "alter",
        alter: (body) => JSON.parse(JSON.stringify(body).replaceAll('"updatedAt"', '"u"')) as unknown,
      },
    });
    bench.server.board.patchIssue(row(1).id, { title: "changed" });
    await expectUpToDate(await poll());
  });

  it("is every tick of a board that fits on one page", async () => {
    for (const issue of rows.slice(0, 20)) bench.server.board.moveIssue(issue.id, "Done");
    await clock.advance(300_000);
    await poll([row(30).id]);
    await poll([row(30).id]);
    expect(sent()).toEqual(["SymphonyTick", "SymphonyTick"]);
  });
});
