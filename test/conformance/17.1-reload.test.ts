/** Section 17.1, reload: a running daemon follows its file. */
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { TestDaemon } from "../support/test-daemon.ts";

let my: TestDaemon;

/** Nobody starts: every ticket lacks the label, but candidates are counted. */
const LOCAL = { kind: "local", provider: { path: "./board" }, required_labels: ["ready"] };

beforeEach(async () => {
  my = await TestDaemon.make();
  await my.writeTicket("ENG-1", { state: "Later" });
  await my.writeWorkflow({ tracker: LOCAL });
  await my.start();
  await my.until("the board has been read", ({ tracker }) => tracker.last_ok_at);
});
afterEach(() => my[Symbol.asyncDispose]());

describe("17.1", () => {
  it("a changed file is read again and applied without a restart", async () => {
    const before = my.snapshot();
    expect(before.tracker).toMatchObject({ candidates_seen: 0 });
    await my.writeWorkflow({ tracker: { ...LOCAL, active_states: ["Later"] }, polling: { interval_ms: 120 } });
    const after = await my.until("the new state is polled", (now) => now.tracker["candidates_seen"] === 1 && now);
    expect(after.workflow.revision).not.toBe(before.workflow.revision);
    expect(after.workflow.last_error).toBeNull();
    expect(my.logged("workflow reloaded")).toHaveLength(1);
  });

  it("an invalid reload keeps the last good configuration and is visible to the operator", async () => {
    const before = my.snapshot();
    await my.writeWorkflow({ tracker: LOCAL, polling: { interval_ms: "soon" } });
    const broken = await my.until("the fault shows", (now) => now.workflow.last_error !== null && now);
    expect(broken.workflow).toMatchObject({
      revision: before.workflow.revision,
      last_error: { message: expect.stringContaining("polling.interval_ms") },
    });
    expect(broken.paused).toMatchObject([{ kind: "workflow" }]);
    const [line, ...others] = my.logged("workflow refused; the last good one stays in force and nothing new starts");
    expect(line).toMatchObject({ level: 50, code: "invalid_workflow_config" });
    expect(others).toEqual([]);
    await my.until("polls go on", ({ tracker }) => (tracker.last_ok_at ?? "") > (broken.tracker.last_ok_at ?? ""));

    await my.writeWorkflow({ tracker: LOCAL }, "Work on {{ issue.identifier }}, mended.");
    const mended = await my.until("it is mended", (now) => now.workflow.last_error === null && now);
    expect(mended.paused).toEqual([]);
    expect(mended.workflow.revision).not.toBe(before.workflow.revision);
  });
});
