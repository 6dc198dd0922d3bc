/** What every tracker adapter must do (section 11), as one suite that each adapter runs against its own backing store. */
import { afterEach, beforeEach, describe, expect, it } from "vitest";

import { isAppError } from "../../src/domain/errors.ts";
import { issueId, type IssueId } from "../../src/domain/ids.ts";
import type { Issue } from "../../src/domain/issue.ts";
import type { PollAnswer } from "../../src/tracker/port.ts";
import { describeBlockers, describeSnapshots, only } from "./issue-snapshots.ts";
import type { TrackerHarness } from "./tracker-harness.ts";

const TOOL_NAME = /^[a-zA-Z0-9_-]+$/;

/** More than two of the batches that a tracker with a page limit of 50 would use. */
const MANY = 105;

function idsOf(issues: readonly Issue[]): string[] {
  return issues.map((issue) => issue.id).toSorted();
}

function sortById(issues: readonly Issue[]): Issue[] {
  return issues.toSorted((a, b) => (a.id < b.id ? -1 : 1));
}

async function expectTrackerFailure(read: Promise<unknown>, code?: "tracker_response"): Promise<void> {
  const error: unknown = await read.then(
    () => expect.fail("the read answered"),
    (reason: unknown) => reason,
  );
  expect(isAppError(error), String(error)).toBe(true);
  if (isAppError(error)) expect(error.code).toMatch(code ?? /^tracker_/);
}

function describeStateReads(harness: () => TrackerHarness): void {
  it("answers an empty list of states without a request", async () => {
    await harness().failReads();
    expect(await harness().tracker.fetchIssuesByStates([])).toEqual([]);
  });

  it("finds exactly the issues in the named states", async () => {
    const todo = await harness().create({ title: "A", state: "Todo" });
    const busy = await harness().create({ title: "B", state: "In Progress" });
    await harness().create({ title: "C", state: "Backlog" });
    await harness().create({ title: "D", state: "Done" });
    const issues = await harness().tracker.fetchIssuesByStates(["Todo", "In Progress"]);
    expect(idsOf(issues)).toEqual([todo, busy].toSorted());
  });

  it("matches state names trimmed and in any case, and keeps the tracker's spelling", async () => {
    const id = await harness().create({ title: "A", state: "In Progress" });
    const issue = only(await harness().tracker.fetchIssuesByStates(["  iN pROGRESS "]));
    expect(issue.id).toBe(id);
    expect(issue.state).toBe("In Progress");
  });

  it("answers an unknown state with nothing", async () => {
    await harness().create({ title: "A", state: "Todo" });
    expect(await harness().tracker.fetchIssuesByStates(["No Such State"])).toEqual([]);
  });

  it(`lists all of ${MANY} issues, each once`, async () => {
    const ids: IssueId[] = [];
    for (let n = 0; n < MANY; n += 1) ids.push(await harness().create({ title: `Issue ${n}`, state: "Todo" }));
    expect(idsOf(await harness().tracker.fetchIssuesByStates(["Todo"]))).toEqual(ids.toSorted());
  });

  it("sees a change of state and a deletion at the next read", async () => {
    const moved = await harness().create({ title: "A", state: "Todo" });
    const gone = await harness().create({ title: "B", state: "Todo" });
    expect(await harness().tracker.fetchIssuesByStates(["Todo"])).toHaveLength(2);
    await harness().update(moved, { state: "Done" });
    await harness().remove(gone);
    expect(await harness().tracker.fetchIssuesByStates(["Todo"])).toEqual([]);
    expect(only(await harness().tracker.fetchIssuesByStates(["Done"])).id).toBe(moved);
  });
}

function describeIdReads(harness: () => TrackerHarness): void {
  it("answers an empty list of ids without a request", async () => {
    await harness().failReads();
    expect(await harness().tracker.fetchIssuesByIds([])).toEqual([]);
  });

  it("answers ids in any state, terminal ones too", async () => {
    const done = await harness().create({ title: "A", state: "Done" });
    const backlog = await harness().create({ title: "B", state: "Backlog" });
    expect(idsOf(await harness().tracker.fetchIssuesByIds([done, backlog]))).toEqual([done, backlog].toSorted());
  });

  it("omits ids that are no longer in the scope or never were", async () => {
    const kept = await harness().create({ title: "A", state: "Todo" });
    const gone = await harness().create({ title: "B", state: "Todo" });
    await harness().remove(gone);
    const never = issueId("00000000-0000-4000-8000-000000000000");
    expect(idsOf(await harness().tracker.fetchIssuesByIds([gone, kept, never]))).toEqual([kept]);
  });

  it("answers a repeated id once", async () => {
    const id = await harness().create({ title: "A", state: "Todo" });
    expect(await harness().tracker.fetchIssuesByIds([id, id])).toHaveLength(1);
  });

  it(`answers all of ${MANY} ids`, async () => {
    const ids: IssueId[] = [];
    for (let n = 0; n < MANY; n += 1) ids.push(await harness().create({ title: `Issue ${n}`, state: "In Progress" }));
    expect(idsOf(await harness().tracker.fetchIssuesByIds(ids))).toEqual(ids.toSorted());
  });
}

function describeFailures(harness: () => TrackerHarness): void {
  it("skips a malformed record in a list, and warns of it once however often it is read", async () => {
    const good = await harness().create({ title: "Good", state: "Todo" });
    const bad = await harness().create({ title: "Bad", state: "Todo" });
    const name = only(await harness().tracker.fetchIssuesByIds([bad])).identifier;
    await harness().breakRecord(bad);
    for (let n = 0; n < 3; n += 1) {
      expect(idsOf(await harness().tracker.fetchIssuesByStates(["Todo"]))).toEqual([good]);
    }
    const about = harness()
      .warnings()
      .filter((line) => line.includes(name) || line.includes(bad));
    expect(about.map((line) => JSON.parse(line) as unknown)).toEqual([
      expect.objectContaining({ issue_id: bad, issue_identifier: name }),
    ]);
  });

  it("fails an id refresh that meets a malformed record, and only that one", async () => {
    const good = await harness().create({ title: "Good", state: "Todo" });
    const bad = await harness().create({ title: "Bad", state: "Todo" });
    await harness().breakRecord(bad);
    await expectTrackerFailure(harness().tracker.fetchIssuesByIds([good, bad]), "tracker_response");
    expect(idsOf(await harness().tracker.fetchIssuesByIds([good]))).toEqual([good]);
  });

  it("throws a typed error for a failed read, never a partial or empty answer, and recovers by itself", async () => {
    const ids: IssueId[] = [];
    for (let n = 0; n < MANY; n += 1) ids.push(await harness().create({ title: `Issue ${n}`, state: "Todo" }));
    await harness().failReads();
    const { tracker } = harness();
    await expectTrackerFailure(tracker.fetchIssuesByStates(["Todo"]));
    await expectTrackerFailure(tracker.fetchIssuesByIds(ids));
    await expectTrackerFailure(tracker.poll?.({ states: ["Todo"], ids: [] }) ?? tracker.fetchIssuesByStates(["Todo"]));
    await harness().healReads();
    expect(await tracker.fetchIssuesByStates(["Todo"])).toHaveLength(MANY);
    expect(await tracker.fetchIssuesByIds(ids)).toHaveLength(MANY);
  });

  it("rejects a read whose signal has aborted", async () => {
    const id = await harness().create({ title: "A", state: "Todo" });
    const signal = AbortSignal.abort(new Error("stopped"));
    await expect(harness().tracker.fetchIssuesByStates(["Todo"], signal)).rejects.toThrow("stopped");
    await expect(harness().tracker.fetchIssuesByIds([id], signal)).rejects.toThrow("stopped");
  });
}

function describePoll(harness: () => TrackerHarness): void {
  const poll = async (states: readonly string[], ids: readonly IssueId[]): Promise<PollAnswer> => {
    const { tracker } = harness();
    if (tracker.poll === undefined) throw new Error("the adapter offers no poll");
    return tracker.poll({ states, ids });
  };

  it("answers what the two reads answer", async () => {
    const active = await harness().create({ title: "A", state: "Todo", labels: ["X"] });
    const held = await harness().create({ title: "B", state: "Todo", blockedBy: [active] });
    const done = await harness().create({ title: "C", state: "Done" });
    const gone = await harness().create({ title: "D", state: "In Progress" });
    await harness().remove(gone);
    const ids = [done, held, gone];
    const answer = await poll(["Todo", "In Progress"], ids);
    const { tracker } = harness();
    expect(sortById(answer.candidates)).toEqual(sortById(await tracker.fetchIssuesByStates(["Todo", "In Progress"])));
    expect(sortById(answer.tracked)).toEqual(sortById(await tracker.fetchIssuesByIds(ids)));
    expect(answer.tracked).toHaveLength(2);
  });

  it("answers an empty question without a request", async () => {
    await harness().failReads();
    expect(await poll([], [])).toEqual({ candidates: [], tracked: [], unreadable: [] });
  });

  it("answers half a question with half an answer", async () => {
    const id = await harness().create({ title: "A", state: "Todo" });
    expect(idsOf((await poll(["Todo"], [])).candidates)).toEqual([id]);
    expect(idsOf((await poll([], [id])).tracked)).toEqual([id]);
  });

  it("skips a malformed record, and says of a tracked one that it is neither seen nor gone", async () => {
    const good = await harness().create({ title: "Good", state: "Todo" });
    const bad = await harness().create({ title: "Bad", state: "Todo" });
    await harness().breakRecord(bad);
    expect(await poll(["Todo"], [good])).toMatchObject({ candidates: [{ id: good }], unreadable: [] });
    expect(await poll(["Todo"], [good, bad])).toMatchObject({ tracked: [{ id: good }], unreadable: [bad] });
  });
}

function describeTools(harness: () => TrackerHarness): void {
  it("declares its tools with a name that an agent accepts, a description and an object schema", () => {
    const { tools } = harness().tracker;
    expect(new Set(tools.map((tool) => tool.name)).size).toBe(tools.length);
    expect(tools.length).toBeGreaterThan(0);
    for (const tool of tools) {
      expect(tool.name).toMatch(TOOL_NAME);
      expect(tool.description.length).toBeGreaterThan(20);
      expect(tool.inputSchema).toMatchObject({ type: "object" });
      expect(JSON.parse(JSON.stringify(tool.inputSchema))).toEqual(tool.inputSchema);
    }
  });

  it("answers nonsense arguments with a failure that the model can read", async () => {
    const id = await harness().create({ title: "A", state: "Todo" });
    const issue = only(await harness().tracker.fetchIssuesByIds([id]));
    const context = { issue, signal: new AbortController().signal };
    for (const tool of harness().tracker.tools) {
      for (const args of [undefined, null, 7, [], {}, { nonsense: true }]) {
        const result = await tool.call(args, context);
        expect(result.success, JSON.stringify(args)).toBe(false);
        expect(result.text.length).toBeGreaterThan(0);
        expect(typeof tool.canChange(args)).toBe("boolean");
      }
    }
  });
}

/** Runs the whole contract against adapters made by `makeHarness`, one per test. */
export function describeTrackerContract(name: string, makeHarness: () => Promise<TrackerHarness>): void {
  describe(`tracker contract: ${name}`, () => {
    let current: TrackerHarness | null = null;
    const harness = (): TrackerHarness => {
      if (current === null) throw new Error("the harness is made before each test");
      return current;
    };
    beforeEach(async () => {
      current = await makeHarness();
    });
    afterEach(async () => {
      await current?.tracker.close();
      await current?.dispose();
      current = null;
    });
    describe("issues by state", () => describeStateReads(harness));
    describe("issues by id", () => describeIdReads(harness));
    describe("snapshots", () => describeSnapshots(harness));
    describe("blockers", () => describeBlockers(harness));
    describe("malformed records and failed reads", () => describeFailures(harness));
    describe("poll", () => describePoll(harness));
    describe("tools", () => describeTools(harness));
  });
}
