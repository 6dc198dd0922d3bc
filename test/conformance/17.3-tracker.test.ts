/** Section 17.3: the Linear adapter against a local Linear that answers, refuses and miscounts as the real one does. */
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { issueId } from "../../src/domain/ids.ts";
import type { Issue } from "../../src/domain/issue.ts";
import type { Fault } from "../fakes/linear/faults.ts";
import type { LoggedRequest } from "../fakes/linear/server.ts";
import { systemClock } from "../../src/lib/clock.ts";
import { createTracker } from "../../src/tracker/registry.ts";
import { makeSettings } from "../support/issues.ts";
import { linearTrackerOn, startLinearBench, type LinearBench } from "../support/linear-tracker.ts";

let bench: LinearBench;

beforeEach(async () => {
  bench = await startLinearBench();
});
afterEach(() => bench.dispose());

function candidates(states: readonly string[] = ["Todo"]): Promise<readonly Issue[]> {
  return bench.tracker.fetchIssuesByStates(states);
}

function refresh(...ids: readonly string[]): Promise<readonly Issue[]> {
  return bench.tracker.fetchIssuesByIds(ids.map((id) => issueId(id)));
}

/** What was asked for issues; names of labels are asked for beside. */
function issueRequests(): readonly LoggedRequest[] {
  return bench.server.requests.filter((request) => request.operation !== "SymphonyLabels");
}

/** By title. */
function dispatchableOf(issues: readonly Issue[]): Readonly<Record<string, boolean>> {
  return Object.fromEntries(issues.map((issue) => [issue.title, issue.dispatchable]));
}

/** Both reads fail with the code, and neither with a part of an answer. */
async function expectFailure(fault: Fault, code: string, data: object = {}): Promise<void> {
  const { id } = bench.server.board.createIssue({ title: "one" });
  for (const read of [
    (tracker: LinearBench["tracker"]) => tracker.fetchIssuesByStates(["Todo"]),
    (tracker: LinearBench["tracker"]) => tracker.fetchIssuesByIds([issueId(id)]),
  ]) {
    const tracker = await linearTrackerOn(bench.server);
    bench.server.fail({ fault });
    await expect(read(tracker)).rejects.toMatchObject({ code, data });
    bench.server.heal();
    await tracker.close();
  }
}

describe("17.3", () => {
  it("candidates are read by active states and project slug", async () => {
    const { board } = bench.server;
    const expected = [board.createIssue({ title: "a" }), board.createIssue({ title: "b", state: "In Progress" })];
    board.createIssue({ title: "other state", state: "Backlog" });
    board.createIssue({ title: "other project", project: null });
    const issues = await candidates(["Todo", "In Progress"]);
    expect(issues.map((issue) => issue.id).toSorted()).toEqual(expected.map((row) => row.id).toSorted());
  });

  it("the project is filtered by slugId", async () => {
    await candidates();
    expect(JSON.stringify(issueRequests()[0]?.variables)).toContain('{"project":{"slugId":{"eq":"demo"}}}');
  });

  it("no states and no ids are answered without a request", async () => {
    expect([...(await candidates([])), ...(await refresh())]).toEqual([]);
    expect(bench.server.requests).toEqual([]);
  });

  it("pages keep their order", async () => {
    const titles = Array.from({ length: 300 }, (_, n) => `number ${n}`);
    for (const title of titles) bench.server.board.createIssue({ title });
    const issues = await candidates();
    const pages = issueRequests().map((request) => request.variables["after"]);
    expect(pages).toEqual([null, expect.any(String), expect.any(String)]);
    // Linear lists the newest first.
    expect(issues.map((issue) => issue.title)).toEqual(titles.toReversed());
  });

  it("blockers come from inverse relations of type blocks", async () => {
    const { board } = bench.server;
    const [blocked, blocker, related] = ["blocked", "blocker", "related"].map((title) => board.createIssue({ title }));
    board.relate(blocker?.id ?? "", blocked?.id ?? "");
    board.relate(related?.id ?? "", blocked?.id ?? "", "related");
    const [issue] = await refresh(blocked?.id ?? "");
    expect(issue?.blocked_by).toMatchObject([{ id: blocker?.id, state: "Todo" }]);
    expect((await refresh(blocker?.id ?? ""))[0]?.blocked_by).toEqual([]);
  });

  it("labels are lower-cased", async () => {
    const { id } = bench.server.board.createIssue({ title: "a", labels: ["Backend", "NIGHT Shift"] });
    expect((await refresh(id))[0]?.labels.toSorted()).toEqual(["backend", "night shift"]);
  });

  it("a refresh by ids answers normalized issues, whatever their state", async () => {
    const row = bench.server.board.createIssue({ title: "a", state: "Done", priority: 2, labels: ["X"] });
    const [issue] = await refresh(row.id);
    expect(issue).toEqual({
      id: row.id,
      identifier: "ENG-1",
      title: "a",
      state: "Done",
      description: null,
      branch_name: expect.any(String),
      url: expect.stringContaining("ENG-1"),
      assignee_id: null,
      priority: 2,
      labels: ["x"],
      blocked_by: [],
      dispatchable: true,
      native_ref: expect.any(Object),
      created_at: expect.stringMatching(/Z$/),
      updated_at: expect.stringMatching(/Z$/),
    });
  });

  it("ids are typed [ID!]", async () => {
    await refresh(bench.server.board.createIssue({ title: "a" }).id);
    expect(issueRequests()[0]?.query).toMatch(/\$\w+: \[ID!\]/);
  });

  it("a request that fails is tracker_request", () => expectFailure({ kind: "reset" }, "tracker_request"));

  it("a status other than 200 is tracker_status", () =>
    expectFailure({ kind: "status", status: 503 }, "tracker_status", { status: 503 }));

  it("GraphQL errors are tracker_response", () =>
    expectFailure({ kind: "graphql", withData: true, errors: [{ message: "no" }] }, "tracker_response"));

  it("a malformed payload is tracker_response", async () => {
    await expectFailure({ kind: "notJson" }, "tracker_response");
    await expectFailure({ kind: "alter", alter: () => ({ data: { something: 1 } }) }, "tracker_response");
  });

  it("a next page without a cursor is tracker_pagination", async () => {
    const list = { nodes: [], pageInfo: { hasNextPage: true, endCursor: null } };
    bench.server.fail({ fault: { kind: "alter", alter: () => ({ data: { candidates: list } }) } });
    await expect(candidates()).rejects.toMatchObject({ code: "tracker_pagination" });
  });

  it("an unsupported kind and a missing key are errors of their own", async () => {
    const settings = makeSettings({ tracker: { kind: "jira" } });
    const created = createTracker({ settings, clock: systemClock, log: bench.log.log });
    await expect(created).rejects.toMatchObject({ code: "unsupported_tracker_kind" });
    const keyless = linearTrackerOn(bench.server, { api_key: "$NOWHERE" });
    await expect(keyless).rejects.toMatchObject({ code: "missing_tracker_secret" });
  });

  it("ids are read in batches of fifty, completely or not at all", async () => {
    const ids = Array.from({ length: 51 }, (_, n) => bench.server.board.createIssue({ title: `${n}` }).id);
    expect(await refresh(...ids)).toHaveLength(51);
    expect(issueRequests()).toHaveLength(2);
    bench.server.fail({ fault: { kind: "reset" }, operation: "SymphonyIssuesById", skip: 1 });
    await expect(refresh(...ids)).rejects.toMatchObject({ code: "tracker_request" });
  });

  it("an id outside of the scope is left out of a complete answer", async () => {
    const { board } = bench.server;
    const inside = board.createIssue({ title: "inside" });
    const outside = board.createIssue({ title: "outside", project: null });
    expect((await refresh(inside.id, outside.id)).map((issue) => issue.id)).toEqual([inside.id]);
  });

  it("a throttled request is tracker_rate_limited with its reset time", async () => {
    const resetAt = Date.now() + 90_000;
    const headers = { "x-ratelimit-requests-remaining": "0", "x-ratelimit-requests-reset": String(resetAt) };
    await expectFailure({ kind: "ratelimited", headers }, "tracker_rate_limited", { resetAt });
  });

  it("a malformed record is skipped with a warning in a list, and fails a refresh", async () => {
    const good = bench.server.board.createIssue({ title: "good" });
    const bad = bench.server.board.createIssue({ title: " " });
    expect((await candidates()).map((issue) => issue.id)).toEqual([good.id]);
    expect(bench.log.warnings()).toEqual([expect.stringContaining(bad.id)]);
    await expect(refresh(good.id, bad.id)).rejects.toMatchObject({ code: "tracker_response" });
  });

  it("an issue of another assignee is listed and not dispatchable, and me is the key's owner", async () => {
    const { board } = bench.server;
    board.createIssue({ title: "mine", assigneeId: board.viewer().id });
    board.createIssue({ title: "nobody's" });
    const tracker = await linearTrackerOn(bench.server, { assignee: "me" });
    const issues = await tracker.fetchIssuesByStates(["Todo"]);
    expect(dispatchableOf(issues)).toEqual({ mine: true, "nobody's": false });
    await tracker.close();
  });

  it("a Todo issue with an open blocker is listed and not dispatchable", async () => {
    const { board } = bench.server;
    const [blocker, ended] = [board.createIssue({ title: "a" }), board.createIssue({ title: "b", state: "Done" })];
    const held = board.createIssue({ title: "held", blockedBy: [blocker.id] });
    const free = board.createIssue({ title: "free", blockedBy: [ended.id] });
    const begun = board.createIssue({ title: "begun", state: "In Progress", blockedBy: [blocker.id] });
    const issues = await refresh(held.id, free.id, begun.id);
    expect(dispatchableOf(issues)).toEqual({ held: false, free: true, begun: true });
  });
});
