/** The part of the tracker contract that is about one issue: its fields and its blockers (section 4.1.1). */
import { expect, it } from "vitest";

import type { Issue } from "../../src/domain/issue.ts";
import type { TrackerHarness } from "./tracker-harness.ts";

const REQUIRED_STRINGS = ["id", "identifier", "title", "state"] as const;
const NULLABLE_STRINGS = ["description", "branch_name", "url", "assignee_id"] as const;
const INSTANTS = ["created_at", "updated_at"] as const;
const ISSUE_FIELDS = [
  ...REQUIRED_STRINGS,
  ...NULLABLE_STRINGS,
  ...INSTANTS,
  "priority",
  "labels",
  "blocked_by",
  "dispatchable",
  "native_ref",
];
const RFC_3339 = /^\d{4}-\d{2}-\d{2}T\d{2}:\d{2}:\d{2}(\.\d+)?(Z|[+-]\d{2}:\d{2})$/;
/** The one issue of an answer that must hold exactly one. */
export function only(issues: readonly Issue[]): Issue {
  expect(issues).toHaveLength(1);
  const [issue] = issues;
  if (issue === undefined) throw new Error("expected one issue");
  return issue;
}

function expectNormalized(issue: Issue): void {
  expect(Object.keys(issue).toSorted()).toEqual(ISSUE_FIELDS.toSorted());
  for (const field of REQUIRED_STRINGS) expect(issue[field].trim(), field).not.toBe("");
  for (const field of NULLABLE_STRINGS) {
    expect(issue[field] === null || typeof issue[field] === "string", field).toBe(true);
  }
  for (const field of INSTANTS) if (issue[field] !== null) expect(issue[field], field).toMatch(RFC_3339);
  expect(issue.priority === null || Number.isInteger(issue.priority)).toBe(true);
  expect(issue.labels).toEqual([...new Set(issue.labels.map((label) => label.trim().toLowerCase()))].filter(Boolean));
  expect(typeof issue.dispatchable).toBe("boolean");
  for (const blocker of issue.blocked_by) {
    expect(Object.keys(blocker).toSorted()).toEqual(["id", "identifier", "state"]);
  }
  expect(JSON.parse(JSON.stringify(issue))).toEqual(issue);
}

/** Every field is there and normalized, by either read. */
export function describeSnapshots(harness: () => TrackerHarness): void {
  it("gives every field of a bare issue, normalized", async () => {
    await harness().create({ title: "Bare", state: "Todo" });
    const issue = only(await harness().tracker.fetchIssuesByStates(["Todo"]));
    expectNormalized(issue);
    expect(issue).toMatchObject({ title: "Bare", labels: [], blocked_by: [], dispatchable: true });
    expect(issue.priority === null || issue.priority === 0).toBe(true);
    expect(issue.created_at).not.toBeNull();
  });

  it("gives every field of a full issue, with labels trimmed, lower-cased, without blanks or repeats", async () => {
    const id = await harness().create({
      title: 'Full: "quotes" & # signs',
      state: "Todo",
      description: "First line\n\n---\n\n- second *line*",
      priority: 2,
      labels: [" Backend ", "backend", "URGENT", " "],
    });
    const issue = only(await harness().tracker.fetchIssuesByIds([id]));
    expectNormalized(issue);
    expect(issue).toMatchObject({
      title: 'Full: "quotes" & # signs',
      description: "First line\n\n---\n\n- second *line*",
      priority: 2,
    });
    expect(issue.labels.toSorted()).toEqual(["backend", "urgent"]);
  });

  it("gives the same full snapshot by state and by id, after a change too", async () => {
    const id = await harness().create({ title: "Before", state: "Todo", priority: 1, labels: ["x"], description: "d" });
    await harness().tracker.fetchIssuesByIds([id]);
    await harness().update(id, { title: "After", priority: 3, labels: ["y"], description: "e" });
    const byId = only(await harness().tracker.fetchIssuesByIds([id]));
    expect(byId).toMatchObject({ title: "After", priority: 3, labels: ["y"], description: "e" });
    expect(only(await harness().tracker.fetchIssuesByStates(["Todo"]))).toEqual(byId);
  });
}

/** Blockers are named, and hold back what is in todo. */
export function describeBlockers(harness: () => TrackerHarness): void {
  it("lists an issue in todo with an open blocker, names the blocker, and marks it not dispatchable", async () => {
    const blocker = await harness().create({ title: "First", state: "In Progress" });
    const id = await harness().create({ title: "Second", state: "Todo", blockedBy: [blocker] });
    const listed = only(await harness().tracker.fetchIssuesByStates(["Todo"]));
    expect(listed.id).toBe(id);
    expect(listed.dispatchable).toBe(false);
    const [known] = await harness().tracker.fetchIssuesByIds([blocker]);
    expect(listed.blocked_by).toEqual([{ id: blocker, identifier: known?.identifier, state: "In Progress" }]);
    expect(only(await harness().tracker.fetchIssuesByIds([id]))).toEqual(listed);
  });

  it("does not hold the blocker for what it blocks", async () => {
    const blocker = await harness().create({ title: "First", state: "Todo" });
    await harness().create({ title: "Second", state: "Backlog", blockedBy: [blocker] });
    const issue = only(await harness().tracker.fetchIssuesByStates(["Todo"]));
    expect(issue).toMatchObject({ id: blocker, blocked_by: [], dispatchable: true });
  });

  it("makes it dispatchable once every blocker is terminal, and not before", async () => {
    const one = await harness().create({ title: "One", state: "Todo" });
    const two = await harness().create({ title: "Two", state: "Backlog" });
    const id = await harness().create({ title: "Three", state: "Todo", blockedBy: [one, two] });
    await harness().update(one, { state: "Cancelled" });
    expect(only(await harness().tracker.fetchIssuesByIds([id])).dispatchable).toBe(false);
    await harness().update(two, { state: "Done" });
    const free = only(await harness().tracker.fetchIssuesByIds([id]));
    expect(free.dispatchable).toBe(true);
    expect(free.blocked_by.map((blocker) => String(blocker.state)).toSorted()).toEqual(["Cancelled", "Done"]);
  });

  it("applies the blocker gate to the state todo alone", async () => {
    const blocker = await harness().create({ title: "First", state: "Todo" });
    const id = await harness().create({ title: "Second", state: "In Progress", blockedBy: [blocker] });
    expect(only(await harness().tracker.fetchIssuesByIds([id])).dispatchable).toBe(true);
  });
}
