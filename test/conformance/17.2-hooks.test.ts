/** Section 17.2, hooks: one daemon works through tickets whose hooks go wrong, and every hook writes down that it ran. */
import { existsSync } from "node:fs";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import type { RunJson } from "../../src/ledger/run-list.ts";
import { makeIssue } from "../support/issues.ts";
import { isRunning, pidFrom } from "../support/processes.ts";
import { TestDaemon } from "../support/test-daemon.ts";
import { ISSUE, makeWorkspaceFixture } from "../support/workspaces.ts";
import { MOVE_TO_DONE } from "../e2e/board.ts";

/** Ticket text that a shell would take for commands, were it ever spliced into one. */
const HOSTILE = `"; touch pwned; $(touch pwned) \`touch pwned\` '`;

/** Hooks end badly for one ticket each, on its first run alone; after_run and before_remove always do. */
const HOOKS = {
  after_create: `echo "$SYMPHONY_ISSUE_IDENTIFIER after_create" >> ../../hooks.log
    touch half
    [ "$SYMPHONY_ISSUE_IDENTIFIER" != POPULATE-1 ] || [ -n "$SYMPHONY_ATTEMPT" ]`,
  before_run: `echo "$SYMPHONY_ISSUE_IDENTIFIER before_run" >> ../../hooks.log
    printf %s "$SYMPHONY_ISSUE_TITLE" > "../../title-$SYMPHONY_ISSUE_IDENTIFIER"
    [ "$SYMPHONY_ISSUE_IDENTIFIER" != BEFORE-1 ] || [ -n "$SYMPHONY_ATTEMPT" ]`,
  after_run: 'echo "$SYMPHONY_ISSUE_IDENTIFIER after_run" >> ../../hooks.log; exit 5',
  before_remove: 'echo "$SYMPHONY_ISSUE_IDENTIFIER before_remove" >> ../../hooks.log; exit 6',
};
const WORK = { do: "shell", command: 'pwd > "../../cwd-$SIMULATED_TICKET"; ls > "../../found-$SIMULATED_TICKET"' };
const TICKETS = ["USUAL-1", "POPULATE-1", "BEFORE-1"];

let my: TestDaemon;
let hooks: readonly string[];

function hooksOf(ticket: string): readonly string[] {
  return hooks.filter((line) => line.startsWith(`${ticket} `)).map((line) => line.split(" ")[1] ?? "");
}

function runsOf(ticket: string): readonly RunJson[] {
  return my.runs().filter((run) => run.issue_identifier === ticket);
}

beforeAll(async () => {
  my = await TestDaemon.make();
  await my.writeScript({
    "USUAL-1": [[[{ do: "fail", message: "the model answered 500" }]], [[WORK, MOVE_TO_DONE]]],
    "*": [[[WORK, MOVE_TO_DONE]]],
  });
  await my.writeWorkflow({ hooks: HOOKS, agent: { max_retry_backoff_ms: 100 } });
  for (const name of TICKETS) await my.writeTicket(name, { title: HOSTILE });
  await my.start();
  await my.until("all are done and cleaned up", () => my.logged("workspace cleaned").length === TICKETS.length);
  hooks = (await my.text("hooks.log")).trim().split("\n");
});
afterAll(() => my[Symbol.asyncDispose]());

describe("17.2", () => {
  it("after_create runs only when the directory is new", () => {
    expect(runsOf("USUAL-1")).toHaveLength(2);
    expect(hooksOf("USUAL-1").filter((hook) => hook === "after_create")).toHaveLength(1);
  });

  it("a failing after_create fails the run and takes the half-made directory away, and the next run creates it again", async () => {
    expect(runsOf("POPULATE-1")).toMatchObject([
      { outcome: "failed", class: "hook", turns: 0, error: expect.stringContaining("after_create") },
      { outcome: "succeeded", attempt: 1 },
    ]);
    expect(hooksOf("POPULATE-1")).toEqual(["after_create", "after_create", "before_run", "after_run", "before_remove"]);
    expect(await my.text("found-POPULATE-1")).toBe("half\n");
  });

  it("before_run runs before each run", () => {
    expect(hooksOf("USUAL-1")).toEqual([
      "after_create",
      "before_run",
      "after_run",
      "before_run",
      "after_run",
      "before_remove",
    ]);
  });

  it("a failing before_run ends the run before the agent starts", () => {
    expect(runsOf("BEFORE-1")).toMatchObject([
      { outcome: "failed", class: "hook", turns: 0, thread_id: null, error: expect.stringContaining("before_run") },
      { outcome: "succeeded", attempt: 1, turns: 1 },
    ]);
  });

  it("after_run runs after each run, and its failure is logged and ignored", () => {
    expect(hooksOf("BEFORE-1").filter((hook) => hook === "after_run")).toHaveLength(2);
    expect(runsOf("USUAL-1").at(-1)).toMatchObject({ outcome: "succeeded" });
    const failed = my.logged("after_run hook failed").filter((line) => line["issue_identifier"] === "USUAL-1");
    expect(failed).toHaveLength(2);
  });

  it("before_remove runs before a removal, and its failure is logged and ignored", () => {
    expect(my.logged("before_remove hook failed")).toHaveLength(TICKETS.length);
    for (const name of TICKETS) expect(existsSync(join(my.dir, "workspaces", name))).toBe(false);
  });

  it("the agent starts in the issue's workspace", async () => {
    for (const name of TICKETS) {
      expect((await my.text(`cwd-${name}`)).trim()).toBe(join(my.dir, "workspaces", name));
    }
  });

  it("a hook knows its ticket by the environment alone", async () => {
    for (const name of TICKETS) expect(await my.text(`title-${name}`)).toBe(HOSTILE);
    for (const name of TICKETS) expect(await my.text(`found-${name}`)).not.toContain("pwned");
  });

  it("a hook that takes too long is ended with all that it started, and then counts as failed", async () => {
    const fixture = await makeWorkspaceFixture();
    try {
      const { record } = await fixture.prepare(ISSUE);
      const other = await fixture.prepare(makeIssue("ENG-8"));
      const hang = (name: string): string => `sleep 600 & echo $! > "$D/${name}"; wait`;
      const settings = fixture.settingsWith({
        beforeRun: hang("before_run"),
        afterRun: hang("after_run"),
        beforeRemove: hang("before_remove"),
        timeoutMs: 2000,
      });
      const request = { issue: ISSUE, attempt: null, settings, path: record.path, runMarker: "conformance" };
      const timeout = { code: "hook_timeout" };
      await Promise.all([
        expect(fixture.workspaces.runHook("before_run", request)).rejects.toMatchObject(timeout),
        expect(fixture.workspaces.runHook("after_run", request)).rejects.toMatchObject(timeout),
        expect(fixture.remove(other.record, settings)).resolves.toBe("removed"),
      ]);
      for (const name of ["before_run", "after_run", "before_remove"]) {
        expect(await isRunning(await pidFrom(join(fixture.dir, name)))).toBe(false);
      }
    } finally {
      await fixture.dispose();
    }
  });
});
