/** What the adapter asks Linear, how often, and what it makes of the answers. */
import { afterEach, beforeEach, describe, expect, it } from "vitest";

import { linearTrackerOn, startLinearBench } from "../../../test/support/linear-tracker.ts";
import type { LinearBench } from "../../../test/support/linear-tracker.ts";
import { ManualClock } from "../../../test/support/manual-clock.ts";
import { issueId } from "../../domain/ids.ts";
import type { IssueId } from "../../domain/ids.ts";
import type { Issue } from "../../domain/issue.ts";
import type { PollAnswer } from "../port.ts";

let bench: LinearBench;

afterEach(() => bench.dispose());

/** Operation names of the requests since the last call. */
function sent(): (string | null)[] {
  return bench.server.requests.splice(0).map((request) => request.operation);
}

function poll(states: readonly string[], ids: readonly IssueId[] = []): Promise<PollAnswer> {
  return bench.tracker.poll?.({ states, ids }) ?? Promise.reject(new Error("no poll"));
}

function todo(): Promise<readonly Issue[]> {
  return bench.tracker.fetchIssuesByStates(["Todo"]);
}

function idsOf(issues: readonly Issue[]): string[] {
  return issues.map((issue) => issue.id);
}

describe("requests", () => {
  beforeEach(async () => {
    bench = await startLinearBench();
  });

  it("are none for an empty question or for blank state names, which would otherwise match everything", async () => {
    bench.server.board.createIssue({ title: "A" });
    expect(await bench.tracker.fetchIssuesByStates([])).toEqual([]);
    expect(await bench.tracker.fetchIssuesByStates([" ", ""])).toEqual([]);
    expect(await bench.tracker.fetchIssuesByIds([])).toEqual([]);
    expect(await poll([], [])).toEqual({ candidates: [], tracked: [], unreadable: [] });
    expect(sent()).toEqual([]);
  });

  it("are one for a tick that reads candidates and everything tracked", async () => {
    const { board } = bench.server;
    const active = board.createIssue({ title: "A" });
    const done = board.createIssue({ title: "B", state: "Done" });
    const answer = await poll(["Todo"], [issueId(active.id), issueId(done.id)]);
    expect(sent()).toEqual(["SymphonyTick"]);
    expect(idsOf(answer.candidates)).toEqual([active.id]);
    expect(idsOf(answer.tracked).toSorted()).toEqual([active.id, done.id].toSorted());
  });

  it("ask for each label's name once, and again only for a new one or after ten minutes", async () => {
    await bench.dispose();
    const clock = new ManualClock();
    bench = await startLinearBench({ clock });
    const { board } = bench.server;
    board.createIssue({ title: "A", labels: ["One", "Two"] });
    for (let n = 0; n < 3; n += 1) await todo();
    expect(sent()).toEqual(["SymphonyCandidates", "SymphonyLabels", "SymphonyCandidates", "SymphonyCandidates"]);
    board.createIssue({ title: "B", labels: ["Two", "Three"] });
    await todo();
    expect(bench.server.requests.at(-1)?.variables["ids"]).toEqual([board.label("Three").id]);
    board.label("One").name = "Uno";
    sent();
    await clock.advance(600_000);
    expect((await todo()).flatMap((issue) => issue.labels).toSorted()).toEqual(["three", "two", "two", "uno"]);
    expect(sent()).toEqual(["SymphonyCandidates", "SymphonyLabels"]);
  });

  it("don't repeat the question for a label that Linear no longer knows", async () => {
    const { board } = bench.server;
    const issue = board.createIssue({ title: "A", labels: ["Here"] });
    bench.server.fail({
      operation: "SymphonyLabels",
      times: 1,
      fault: { kind: "alter", alter: () => ({ data: { issueLabels: { nodes: [] } } }) },
    });
    for (let n = 0; n < 3; n += 1) expect((await todo())[0]).toMatchObject({ id: issue.id, labels: [] });
    expect(sent().filter((name) => name === "SymphonyLabels")).toHaveLength(1);
  });

  it("read more than fifty ids in batches, each id once", async () => {
    const { board } = bench.server;
    const ids = Array.from({ length: 51 }, (_, n) =>
      issueId(board.createIssue({ title: `${n}`, state: "In Progress" }).id),
    );
    expect(await bench.tracker.fetchIssuesByIds([...ids, ...ids])).toHaveLength(51);
    expect(sent()).toEqual(["SymphonyIssuesById", "SymphonyIssuesById"]);
    expect((await poll(["Todo"], ids)).tracked).toHaveLength(51);
    expect(sent()).toEqual(["SymphonyTick", "SymphonyIssuesById"]);
  });

  it("join the refreshes of workers whose turns end together", async () => {
    const { board } = bench.server;
    const ids = Array.from({ length: 10 }, (_, n) => issueId(board.createIssue({ title: `${n}` }).id));
    const answers = await Promise.all(ids.map((id) => bench.tracker.fetchIssuesByIds([id])));
    expect(answers.map(idsOf)).toEqual(ids.map((id) => [id]));
    expect(sent()).toEqual(["SymphonyIssuesById"]);
  });

  it("fail alone when one of the joined workers asks for a malformed record", async () => {
    const { board } = bench.server;
    const good = issueId(board.createIssue({ title: "good" }).id);
    const bad = issueId(board.createIssue({ title: "" }).id);
    const [first, second] = await Promise.allSettled([good, bad].map((id) => bench.tracker.fetchIssuesByIds([id])));
    expect(first?.status).toBe("fulfilled");
    expect(second).toMatchObject({ status: "rejected", reason: { code: "tracker_response" } });
  });

  it("leave other workers' refreshes alone when one gives up", async () => {
    const { board } = bench.server;
    const id = issueId(board.createIssue({ title: "A" }).id);
    const controller = new AbortController();
    const quitter = bench.tracker.fetchIssuesByIds([id], controller.signal);
    const patient = bench.tracker.fetchIssuesByIds([id]);
    controller.abort(new Error("stopped"));
    await expect(quitter).rejects.toThrow("stopped");
    expect(idsOf(await patient)).toEqual([id]);
  });

  it("carry a filter by scope and by state in any case, and no order that could shift a page", async () => {
    await bench.tracker.fetchIssuesByStates([" Todo", "todo", "In Progress"]);
    expect(bench.server.requests[0]?.variables["filter"]).toEqual({
      and: [
        { project: { slugId: { eq: "demo" } } },
        { or: [{ state: { name: { eqIgnoreCase: "Todo" } } }, { state: { name: { eqIgnoreCase: "In Progress" } } }] },
      ],
    });
    expect(bench.server.requests[0]?.query).not.toMatch(/sort|orderBy/);
  });
});

describe("issues that go", () => {
  beforeEach(async () => {
    bench = await startLinearBench();
  });

  it.each([
    ["archived", (id: string) => bench.server.board.archiveIssue(id)],
    ["thrown away", (id: string) => bench.server.board.archiveIssue(id, true)],
    ["moved to another project", (id: string) => bench.server.board.patchIssue(id, { projectId: null })],
    ["deleted", (id: string) => bench.server.board.deleteIssue(id)],
  ])("are no longer visible when %s", async (_how, remove) => {
    const kept = bench.server.board.createIssue({ title: "kept" });
    const gone = bench.server.board.createIssue({ title: "gone" });
    remove(gone.id);
    expect(idsOf(await todo())).toEqual([kept.id]);
    expect(idsOf(await bench.tracker.fetchIssuesByIds([issueId(kept.id), issueId(gone.id)]))).toEqual([kept.id]);
    const answer = await poll(["Todo"], [issueId(kept.id), issueId(gone.id)]);
    expect([idsOf(answer.candidates), idsOf(answer.tracked)]).toEqual([[kept.id], [kept.id]]);
  });

  it("make a list start again when their cursor is lost with them", async () => {
    const { board } = bench.server;
    const issues = Array.from({ length: 60 }, (_, n) => board.createIssue({ title: `${n}` }));
    bench.server.fail({ times: 1, fault: { kind: "badCursor" } });
    expect(await todo()).toHaveLength(issues.length);
    expect(sent()).toEqual(Array.from({ length: 4 }, () => "SymphonyCandidates"));
  });

  it("fail the list with tracker_pagination when the second reading loses its cursor too", async () => {
    const { board } = bench.server;
    for (let n = 0; n < 60; n += 1) board.createIssue({ title: `${n}` });
    bench.server.fail({ fault: { kind: "badCursor" } });
    await expect(todo()).rejects.toMatchObject({ code: "tracker_pagination" });
    await expect(poll(["Todo"])).rejects.toMatchObject({ code: "tracker_pagination" });
  });
});

describe("ids that can't be Linear's", () => {
  beforeEach(async () => {
    bench = await startLinearBench();
  });

  it("are not visible, and don't hide those that are", async () => {
    const id = issueId(bench.server.board.createIssue({ title: "A" }).id);
    const ids = [issueId("board ticket"), id, issueId("another/one")];
    expect(idsOf(await bench.tracker.fetchIssuesByIds(ids))).toEqual([id]);
    sent();
    expect(idsOf((await poll(["Todo"], ids)).tracked)).toEqual([id]);
    expect(sent()).toEqual(["SymphonyTick"]);
  });

  it("are not taken for an identifier, which Linear would answer to", async () => {
    bench.server.board.createIssue({ title: "A" });
    expect(await bench.tracker.fetchIssuesByIds([issueId("ENG-1")])).toEqual([]);
  });

  it("send a tick to its two separate reads", async () => {
    const id = issueId(bench.server.board.createIssue({ title: "A" }).id);
    const answer = await poll(["Todo"], [issueId("board ticket"), id]);
    expect([idsOf(answer.candidates), idsOf(answer.tracked)]).toEqual([[id], [id]]);
  });
});

describe("pages", () => {
  beforeEach(async () => {
    bench = await startLinearBench();
  });

  const create = (count: number): void => {
    for (let n = 0; n < count; n += 1) bench.server.board.createIssue({ title: `${n}` });
  };
  const pagesOf = async (): Promise<unknown[]> => {
    await poll(["Todo"]);
    return bench.server.requests.splice(0).map((request) => request.variables["first"]);
  };

  it("ask for somewhat more than the list had the last time, as Linear charges for what is asked", async () => {
    create(3);
    expect([await pagesOf(), await pagesOf()]).toEqual([[50], [10]]);
    create(9);
    // Two more than there was room for, and a large page that takes in whatever else has come.
    expect([await pagesOf(), await pagesOf()]).toEqual([[10, 200], [20]]);
    create(37);
    expect([await pagesOf(), await pagesOf()]).toEqual([[20, 200], [50]]);
  });

  it("hold a long list in one request, up to two hundred", async () => {
    create(230);
    expect(await pagesOf()).toEqual([50, 200]);
    expect(await bench.tracker.fetchIssuesByStates(["Todo"])).toHaveLength(230);
    expect(bench.server.requests.map((request) => request.variables["first"])).toEqual([200, 200]);
    expect(Math.max(...bench.server.requests.map((request) => request.points))).toBeLessThan(10_000);
  });
});

describe("pages that Linear finds too complex", () => {
  beforeEach(async () => {
    bench = await startLinearBench();
  });

  const refuseAbove = (rows: number): void => {
    const errors = [{ message: "Query too complex", extensions: { code: "INPUT_ERROR", type: "invalid input" } }];
    for (const operation of ["SymphonyCandidates", "SymphonyIssuesById", "SymphonyTick"]) {
      bench.server.fail({
        operation,
        fault: {
          kind: "alter",
          alter: (body) => {
            const variables = bench.server.requests.at(-1)?.variables ?? {};
            const asked = Number(variables["first"] ?? 0) + Number(variables["tracked"] ?? 0);
            return asked > rows ? { errors } : body;
          },
        },
      });
    }
  };

  it("are halved until they pass, once and for all", async () => {
    const { board } = bench.server;
    const ids = Array.from({ length: 60 }, (_, n) => issueId(board.createIssue({ title: `${n}` }).id));
    refuseAbove(13);
    expect(await todo()).toHaveLength(60);
    expect(bench.server.requests.map((request) => request.variables["first"])).toEqual([50, 25, 12, 12, 12, 12, 12]);
    expect(await bench.tracker.fetchIssuesByIds(ids)).toHaveLength(60);
    const answer = await poll(["Todo"], ids);
    expect([answer.candidates.length, answer.tracked.length]).toEqual([60, 60]);
  });

  it("fail when even a small one is refused", async () => {
    refuseAbove(0);
    await expect(todo()).rejects.toMatchObject({ code: "tracker_response", data: { reason: "too_complex" } });
  });
});

describe("blockers", () => {
  beforeEach(async () => {
    bench = await startLinearBench();
  });

  it("stand on the issue's inverse side, whichever way the relation was made", async () => {
    const { board } = bench.server;
    const a = board.createIssue({ title: "A", state: "In Progress" });
    const b = board.createIssue({ title: "B" });
    const c = board.createIssue({ title: "C" });
    board.relate(a.id, b.id);
    board.relate(c.id, a.id);
    const byId = new Map(
      (await bench.tracker.fetchIssuesByStates(["Todo", "In Progress"])).map((issue) => [issue.id, issue]),
    );
    expect(byId.get(issueId(b.id))).toMatchObject({
      dispatchable: false,
      blocked_by: [{ id: a.id, identifier: a.identifier, state: "In Progress" }],
    });
    expect(byId.get(issueId(a.id))).toMatchObject({ blocked_by: [{ id: c.id }], dispatchable: true });
    expect(byId.get(issueId(c.id))).toMatchObject({ blocked_by: [], dispatchable: true });
  });

  it("are not what is merely related, similar or a duplicate", async () => {
    const { board } = bench.server;
    const other = board.createIssue({ title: "other", state: "In Progress" });
    const issue = board.createIssue({ title: "issue" });
    for (const type of ["related", "similar", "duplicate"]) board.relate(other.id, issue.id, type);
    expect((await todo())[0]).toMatchObject({ blocked_by: [], dispatchable: true });
  });

  it("are all found where there are more than come with the issue, in one more request", async () => {
    const { board } = bench.server;
    const open = board.createIssue({ title: "open", state: "In Progress" });
    const many = board.createIssue({ title: "many", blockedBy: [open.id] });
    const few = board.createIssue({ title: "few" });
    for (let n = 0; n < 7; n += 1) board.relate(board.createIssue({ title: `${n}`, state: "Done" }).id, many.id);
    const issues = new Map((await todo()).map((issue) => [issue.id, issue]));
    expect(sent()).toEqual(["SymphonyCandidates", "SymphonyRelations"]);
    expect(issues.get(issueId(many.id))).toMatchObject({ dispatchable: false });
    expect(issues.get(issueId(many.id))?.blocked_by).toHaveLength(8);
    expect(issues.get(issueId(few.id))).toMatchObject({ dispatchable: true });
  });

  it("are all found beyond a second page", async () => {
    const { board } = bench.server;
    const issue = board.createIssue({ title: "issue" });
    board.relate(board.createIssue({ title: "open", state: "In Progress" }).id, issue.id);
    for (let n = 0; n < 60; n += 1) board.relate(board.createIssue({ title: `${n}`, state: "Done" }).id, issue.id);
    const [found] = await todo();
    expect(found?.blocked_by).toHaveLength(61);
    expect(found?.dispatchable).toBe(false);
    expect(sent()).toEqual(["SymphonyCandidates", "SymphonyRelations", "SymphonyMoreRelations"]);
  });

  it("hold back only in the state named todo, in any case", async () => {
    const { board } = bench.server;
    board.addState(board.team("ENG").id, "TODO", "unstarted");
    const open = board.createIssue({ title: "open", state: "Backlog" });
    const upper = board.createIssue({ title: "upper", state: "TODO", blockedBy: [open.id] });
    const review = board.createIssue({ title: "review", state: "In Review", blockedBy: [open.id] });
    const issues = await bench.tracker.fetchIssuesByIds([issueId(upper.id), issueId(review.id)]);
    expect(Object.fromEntries(issues.map((issue) => [issue.id, issue.dispatchable]))).toEqual({
      [upper.id]: false,
      [review.id]: true,
    });
  });
});

describe("the assignee", () => {
  it("must be the key's owner for `me`, who is asked for once", async () => {
    bench = await startLinearBench({ provider: { assignee: "me" } });
    const { board } = bench.server;
    const other = board.addUser({ name: "Other", email: "o@example.com" });
    const mine = board.createIssue({ title: "mine", assigneeId: board.viewer().id });
    const theirs = board.createIssue({ title: "theirs", assigneeId: other.id });
    const nobodys = board.createIssue({ title: "nobody's" });
    const dispatchable = async (): Promise<Record<string, boolean>> =>
      Object.fromEntries((await todo()).map((issue) => [issue.id, issue.dispatchable]));
    const expected = { [mine.id]: true, [theirs.id]: false, [nobodys.id]: false };
    expect([await dispatchable(), await dispatchable()]).toEqual([expected, expected]);
    expect(sent().filter((name) => name === "SymphonyViewer")).toHaveLength(1);
  });

  it("may be any user id, and so may the delegate", async () => {
    bench = await startLinearBench();
    const { board } = bench.server;
    const app = board.addUser({ name: "App", email: "app@example.com", app: true });
    await bench.tracker.close();
    const { server } = bench;
    const both = board.createIssue({ title: "both", assigneeId: board.viewer().id, delegateId: app.id });
    board.createIssue({ title: "one", assigneeId: board.viewer().id });
    const tracker = await linearTrackerOn(server, { assignee: board.viewer().id, delegate: app.id });
    const free = (await tracker.fetchIssuesByStates(["Todo"])).filter((issue) => issue.dispatchable);
    expect(idsOf(free)).toEqual([both.id]);
    await tracker.close();
  });
});
