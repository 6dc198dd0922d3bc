/** Live reload of good files, under a clock of the test's own. */
import { renameSync, statSync, symlinkSync, utimesSync, writeFileSync } from "node:fs";
import { join } from "node:path";

import { afterEach, beforeEach, describe, expect, test } from "vitest";

import { until } from "../../test/support/until.ts";
import { polling, watchWorkflow, type WatchedWorkflow } from "../../test/support/watched-workflow.ts";
import { appErrorOf, workflowText } from "../../test/support/workflow-files.ts";

let w: WatchedWorkflow;

beforeEach(async () => {
  w = await watchWorkflow();
});

afterEach(async () => {
  await w[Symbol.asyncDispose]();
});

describe("loading", () => {
  test("start puts the file in force and tells when and which", () => {
    const { settings, revision, loadedAt, prompt } = w.watcher.current();
    expect(settings.polling.intervalMs).toBe(1);
    expect(revision).toBe(settings.revision);
    expect(loadedAt).toBe(w.clock.now());
    expect(prompt.source).toBe("Work.");
    expect(w.watcher.lastError).toBeNull();
    expect(w.heard).toEqual([]);
  });

  test("a first load that fails throws, and so does reading before it", () => {
    w.write("---\n---\n");
    const other = w.make();
    expect(appErrorOf(() => other.load()).code).toBe("invalid_workflow_config");
    expect(() => other.current()).toThrow("has not been loaded");
  });

  test("starting and stopping twice, or stopping before a start, is fine", async () => {
    await w.watcher.start();
    expect(w.clock.armedCount()).toBe(1);
    await w.watcher.stop();
    await w.watcher.stop();
    await w.make().stop();
    expect(w.clock.armedCount()).toBe(0);
  });

  test("the warnings of a revision are logged once", async () => {
    w.write(workflowText("colour: blue"));
    await w.passUntil("the change is in force", () => w.heard.length > 0);
    expect(await w.heardIdly()).toBe(0);
    expect(w.log.warnings().filter((line) => line.includes("colour"))).toHaveLength(1);
  });
});

describe("a good change", () => {
  test("is in force within about a second, with its revision, time and prompt", async () => {
    const before = w.watcher.current();
    const at = w.clock.now();
    w.write(polling(2, "New words."));
    await w.passUntil("the change is in force", () => w.heard.length > 0);
    const { settings, revision, loadedAt, prompt } = w.watcher.current();
    expect(w.heard).toEqual(["change 2"]);
    expect(settings.polling.intervalMs).toBe(2);
    expect(prompt.source).toBe("New words.");
    expect(revision).not.toBe(before.revision);
    expect(loadedAt).toBeGreaterThan(before.loadedAt);
    expect(w.clock.now() - at).toBeGreaterThanOrEqual(1000);
    expect(before.settings.polling.intervalMs).toBe(1);
  });

  test("is in force when a look before a dispatch has ended, without waiting for the poll", async () => {
    w.write(polling(2));
    const at = w.clock.now();
    await w.check();
    expect(w.watcher.current().settings.polling.intervalMs).toBe(2);
    expect(w.clock.now() - at).toBeLessThan(1000);
  });

  test("is found after the file was replaced by a rename, again and again", async () => {
    for (const intervalMs of [2, 3, 4]) {
      writeFileSync(`${w.path}.new`, polling(intervalMs));
      renameSync(`${w.path}.new`, w.path);
      await w.passUntil("the change is in force", () => w.watcher.current().settings.polling.intervalMs === intervalMs);
    }
    expect(w.heard).toEqual(["change 2", "change 3", "change 4"]);
  });

  test("is found when size and modification time are those of the old file", async () => {
    const { atime, mtime, size } = statSync(w.path);
    w.write(polling(7));
    utimesSync(w.path, atime, mtime);
    expect(statSync(w.path).size).toBe(size);
    await w.passUntil("the change is in force", () => w.heard.length > 0);
    expect(w.heard).toEqual(["change 7"]);
  });

  test("is found when the path is a link that is turned to another file", async () => {
    for (const intervalMs of [1, 6]) writeFileSync(join(w.dir.path, `v${intervalMs}.md`), polling(intervalMs));
    const turnTo = (intervalMs: number): void => {
      symlinkSync(`v${intervalMs}.md`, `${w.path}.new`);
      renameSync(`${w.path}.new`, w.path);
    };
    turnTo(1);
    expect(await w.heardIdly()).toBe(0);
    turnTo(6);
    await w.passUntil("the change is in force", () => w.heard.length > 0);
    expect(w.heard).toEqual(["change 6"]);
  });

  test("touching the file changes nothing", async () => {
    const { loadedAt } = w.watcher.current();
    const later = new Date(Date.now() + 60_000);
    utimesSync(w.path, later, later);
    expect(await w.heardIdly()).toBe(0);
    expect(w.watcher.current().loadedAt).toBe(loadedAt);
  });

  test("resolves variables with the environment of the start", async () => {
    w.write(workflowText("workspace: {root: $ROOT/spaces}"));
    await w.check();
    expect(w.watcher.current().settings.workspace.root).toBe("/srv/spaces");
  });

  test("an observer that has left hears nothing", async () => {
    const more: string[] = [];
    const leave = w.watcher.observe({ onChange: () => more.push("change") });
    leave();
    w.write(polling(2));
    await w.check();
    expect([w.heard, more]).toEqual([["change 2"], []]);
  });
});

describe("the clock and the disk", () => {
  test("many looks at once see one change once", async () => {
    w.write(polling(2));
    const looks = Array.from({ length: 20 }, () => w.watcher.checkNow());
    await w.passUntil("the change is in force", () => w.heard.length > 0);
    await Promise.all(looks);
    expect(await w.heardIdly()).toBe(0);
    expect(w.heard).toEqual(["change 2"]);
  });

  test("a look that takes too long doesn't hold up a dispatch", async () => {
    const stuck = Promise.withResolvers<void>();
    await w.replace({ admit: () => stuck.promise });
    w.write(polling(2));
    const look = w.watcher.checkNow();
    await w.passUntil("the look is given up", () => w.clock.armedCount() === 0);
    await look;
    expect(w.watcher.current().settings.polling.intervalMs).toBe(1);
    stuck.resolve();
    await until("the slow look has its effect", () => w.heard.length > 0);
    expect(w.heard).toEqual(["change 2"]);
  });

  test("after a stop nothing is told any more, and no timer is left", async () => {
    w.write(polling(2));
    const look = w.watcher.checkNow();
    await w.watcher.stop();
    await look;
    await w.clock.advance(5000);
    expect(w.heard).toEqual([]);
    expect(w.clock.armedCount()).toBe(0);
  });
});
