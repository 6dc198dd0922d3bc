/** Each kind of scope, on a board where issues are inside and outside of it. */
import { afterEach, beforeEach, describe, expect, it } from "vitest";

import type { IssueRow } from "../../../test/fakes/linear/rows.ts";
import { linearTrackerOn, startLinearBench } from "../../../test/support/linear-tracker.ts";
import type { LinearBench } from "../../../test/support/linear-tracker.ts";
import { issueId } from "../../domain/ids.ts";
import type { Issue } from "../../domain/issue.ts";
import type { Tracker } from "../port.ts";
import { candidateFilter, distinctStates } from "./scope.ts";

let bench: LinearBench;
let tracker: Tracker | null = null;

beforeEach(async () => {
  bench = await startLinearBench();
});
afterEach(async () => {
  await tracker?.close();
  tracker = null;
  await bench.dispose();
});

function titles(issues: readonly Issue[] | undefined): string[] {
  return (issues ?? []).map((issue) => issue.title).toSorted((a, b) => a.localeCompare(b));
}

/** Titles that each of the port's three reads answers; by id, every issue of the board is asked for. */
async function reads(provider: Readonly<Record<string, unknown>>): Promise<Record<string, string[]>> {
  tracker = await linearTrackerOn(bench.server, { project_slug: null, ...provider });
  const ids = [...bench.server.board.issues.keys()].map(issueId);
  const poll = await tracker.poll?.({ states: ["Todo"], ids });
  return {
    states: titles(await tracker.fetchIssuesByStates(["Todo"])),
    ids: titles(await tracker.fetchIssuesByIds(ids)),
    candidates: titles(poll?.candidates),
    tracked: titles(poll?.tracked),
  };
}

function allFour(list: string[]): Record<string, string[]> {
  return { states: list, ids: list, candidates: list, tracked: list };
}

describe("a scope", () => {
  beforeEach(() => {
    const { board } = bench.server;
    board.addTeam("OPS", "Operations");
    board.addProject("symphony-0c79b11b75ea", "Symphony");
    board.addProject("aaaaaaaaaaaa", "Digits");
    const drafts: readonly Parameters<typeof board.createIssue>[0][] = [
      { title: "demo", labels: ["Agent"] },
      { title: "ops", team: "OPS", project: null, labels: ["agent", "Night"] },
      { title: "loose", project: null },
      { title: "named", project: "symphony-0c79b11b75ea" },
      { title: "digits", project: "aaaaaaaaaaaa" },
    ];
    for (const draft of drafts) board.createIssue(draft);
  });

  it.each<[string, Record<string, unknown>, string[]]>([
    ["is a project by its slug", { project_slug: "demo" }, ["demo"]],
    ["is a project by the whole last part of its address", { project_slug: "symphony-0c79b11b75ea" }, ["named"]],
    ["is a project by the digits that its address ends with", { project_slug: "digits-aaaaaaaaaaaa" }, ["digits"]],
    [
      "is a project by its address",
      { project_slug: "https://linear.app/fake/project/digits-aaaaaaaaaaaa/issues" },
      ["digits"],
    ],
    ["is a team by its key in any case", { team: "ops" }, ["ops"]],
    ["is a label in any case", { labels: ["AGENT"] }, ["demo", "ops"]],
    ["is several labels, which an issue must all have", { labels: ["agent", "night"] }, ["ops"]],
    ["is what all its parts have in common", { team: "ENG", labels: ["agent"] }, ["demo"]],
    ["may be empty", { project_slug: "gone" }, []],
  ])("%s", async (_name, provider, expected) => {
    expect(await reads(provider)).toEqual(allFour(expected));
  });

  it("may be a custom view, together with other parts", async () => {
    bench.server.board.addView("loose-ones", { project: { null: true } });
    expect(await reads({ view: "loose-ones" })).toEqual(allFour(["loose", "ops"]));
    await tracker?.close();
    expect(await reads({ view: "loose-ones", team: "OPS" })).toEqual(allFour(["ops"]));
  });
});

describe("a custom view that shows open issues alone", () => {
  let done: IssueRow;
  beforeEach(async () => {
    const { board } = bench.server;
    board.addView("open", { state: { type: { in: ["unstarted", "started"] } } });
    done = board.createIssue({ title: "done", state: "Done" });
    board.createIssue({ title: "later", state: "Backlog" });
    board.createIssue({ title: "open" });
    tracker = await linearTrackerOn(bench.server, { project_slug: null, view: "open" });
  });

  it("doesn't make an issue that has ended look as if it had vanished; one that left otherwise has", async () => {
    const ids = [...bench.server.board.issues.keys()].map(issueId);
    expect(titles(await tracker?.fetchIssuesByIds(ids))).toEqual(["done", "open"]);
    expect(titles((await tracker?.poll?.({ states: ["Todo"], ids }))?.tracked)).toEqual(["done", "open"]);
    bench.server.board.deleteIssue(done.id);
    expect(titles(await tracker?.fetchIssuesByIds(ids))).toEqual(["open"]);
  });

  it("needs no second request while it shows everything asked for", async () => {
    const open = [...bench.server.board.issues.values()]
      .filter((row) => row.title === "open")
      .map((row) => issueId(row.id));
    await tracker?.fetchIssuesByIds(open);
    await tracker?.poll?.({ states: ["Todo"], ids: open });
    expect(bench.server.requests.map((request) => request.operation)).toEqual(["SymphonyIssuesById", "SymphonyTick"]);
  });
});

it("state names are trimmed, and said once whatever their case", () => {
  expect(distinctStates([" Todo", "todo ", "", "In Progress"])).toEqual(["Todo", "In Progress"]);
});

it("each branch of a filter's `or` has one key, since Linear takes several as alternatives", () => {
  const scope = { projectSlug: "demo", team: null, labels: [], view: null };
  expect(candidateFilter(scope, ["A", "B"])).toEqual({
    and: [
      { project: { slugId: { eq: "demo" } } },
      { or: [{ state: { name: { eqIgnoreCase: "A" } } }, { state: { name: { eqIgnoreCase: "B" } } }] },
    ],
  });
});
