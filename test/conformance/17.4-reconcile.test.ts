/** Section 17.4, reconciliation: what becomes of running agents when their tickets change under them. */
import { existsSync } from "node:fs";
import { rename, rm } from "node:fs/promises";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { makeIssue } from "../support/issues.ts";
import { SchedulerDriver } from "../support/scheduler.ts";
import { TestDaemon, type Snapshot } from "../support/test-daemon.ts";

const TICKETS = ["REFRESH", "PARK", "END", "LOSE", "HOLD", "UNREADY", "STAY"];
const TRACKER = {
  kind: "local",
  provider: { path: "./board" },
  required_labels: ["ready"],
  excluded_labels: ["hold"],
};

let my: TestDaemon;

beforeAll(async () => {
  my = await TestDaemon.make();
  // None of them ever ends by itself.
  await my.writeScript({ "*": [[[{ do: "hang" }]]] });
  await my.writeWorkflow({ tracker: TRACKER, agent: { finish_grace_ms: 50 } });
  for (const name of TICKETS) await change(name, {});
  await my.start();
  for (const name of TICKETS) await my.untilInTurn(name);
});
afterAll(() => my[Symbol.asyncDispose]());

function isRunning(snapshot: Snapshot, ticket: string): boolean {
  return snapshot.running.some((row) => row["issue_identifier"] === ticket);
}

function workspaceExists(ticket: string): boolean {
  return existsSync(join(my.dir, "workspaces", ticket));
}

/** Writes the ticket anew, with what it takes to run. */
function change(ticket: string, fields: Readonly<Record<string, unknown>>): Promise<void> {
  return my.writeTicket(ticket, { labels: ["ready"], ...fields });
}

/** The run was stopped because of its ticket, no other follows, nothing is claimed any more, and the workspace is still there. */
async function expectStoppedAndKept(ticket: string): Promise<void> {
  await my.until(`${ticket} is released`, ({ running, retrying, blocked }) =>
    [...running, ...retrying, ...blocked].every((row) => row["issue_identifier"] !== ticket),
  );
  const runs = await my.untilRunsEnded(ticket);
  expect(runs.map((run) => [run.outcome, run.class])).toEqual([["cancelled", "tracker"]]);
  expect(workspaceExists(ticket)).toBe(true);
}

describe("17.4 Dispatch, reconciliation and retry: reconciliation", () => {
  it("an active refresh updates the running entry", async () => {
    await change("REFRESH", { state: "In Progress", title: "A better title" });
    const row = await my.until("the entry has the new state", ({ running }) =>
      running.find((entry) => entry["issue_identifier"] === "REFRESH" && entry["state"] === "In Progress"),
    );
    expect(row).toMatchObject({ issue_title: "A better title", phase: "turn", attempt: null });
    expect(my.runs().filter((run) => run.issue_identifier === "REFRESH")).toHaveLength(1);
  });

  it("a state that is not active stops the run and keeps the workspace", async () => {
    await change("PARK", { state: "Human Review" });
    await expectStoppedAndKept("PARK");
  });

  it("a terminal state stops the run and removes the workspace", async () => {
    await change("END", { state: "Done" });
    await my.until("END is cleaned up", () =>
      my.logged("workspace cleaned").some((line) => line["issue_identifier"] === "END"),
    );
    expect(workspaceExists("END")).toBe(false);
    expect(await my.untilRunsEnded("END")).toMatchObject([{ outcome: "cancelled", class: "tracker" }]);
  });

  it("an id that a complete answer lacks stops its run and keeps the workspace", async () => {
    await rm(join(my.dir, "board", "LOSE.md"));
    await expectStoppedAndKept("LOSE");
  });

  it("required and excluded labels hold for running issues too", async () => {
    await change("HOLD", { labels: ["ready", "hold"] });
    await change("UNREADY", { labels: [] });
    for (const ticket of ["HOLD", "UNREADY"]) await expectStoppedAndKept(ticket);
  });

  it("a failed read changes nothing", async () => {
    const board = join(my.dir, "board");
    await rename(board, `${board}-away`);
    const down = await my.until("two polls have failed", (now) => Number(now.tracker["failures"]) >= 2 && now);
    expect(isRunning(down, "STAY")).toBe(true);
    await rename(`${board}-away`, board);
    const up = await my.until("the tracker is back", (now) => now.tracker.last_error === null && now);
    expect(isRunning(up, "STAY")).toBe(true);
    expect(my.runs().filter((run) => run.issue_identifier === "STAY")).toHaveLength(1);
  });

  it("a broken workflow stops dispatch, never reconciliation", async () => {
    await my.writeWorkflow({ tracker: { kind: "jira" } });
    await my.until("the fault shows", ({ workflow }) => workflow.last_error !== null);
    await change("LATE", {});
    await change("STAY", { state: "Human Review" });
    await expectStoppedAndKept("STAY");
    await my.until("a poll has seen LATE", ({ tracker }) => tracker["candidates_eligible"] === 1);
    expect(my.runs().map((run) => run.issue_identifier)).not.toContain("LATE");
  });

  it("reconciling nothing does nothing", () => {
    const driver = new SchedulerDriver();
    driver.boot();
    expect(driver.effect("poll")?.ids).toEqual([]);
    driver.tick([]);
    expect({ effects: driver.effects, change: driver.change }).toEqual({ effects: [], change: null });
    expect(driver.state.claims.size).toBe(0);
    driver.tick([makeIssue("PARKED", { state: "Human Review" })]);
    expect(driver.effects).toEqual([]);
  });
});
