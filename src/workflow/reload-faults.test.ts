/** Live reload of files that can't be used: the last good revision stays, and the fault is told once. */
import { appendFileSync, mkdirSync, rmSync, truncateSync, writeFileSync } from "node:fs";
import { join } from "node:path";

import { afterEach, beforeEach, describe, expect, test } from "vitest";

import { polling, watchWorkflow, type WatchedWorkflow } from "../../test/support/watched-workflow.ts";
import { workflowText } from "../../test/support/workflow-files.ts";

let w: WatchedWorkflow;

beforeEach(async () => {
  w = await watchWorkflow();
});

afterEach(async () => {
  await w[Symbol.asyncDispose]();
});

describe("a bad change", () => {
  test("keeps the last good revision, names the mistake, and is logged once", async () => {
    const before = w.watcher.current();
    w.write(polling("soon"));
    await w.passUntil("the mistake is seen", () => w.heard.length > 0);
    expect(await w.heardIdly()).toBe(0);
    expect(w.watcher.current()).toBe(before);
    expect(w.heard).toEqual([
      'broken WORKFLOW.md:4: polling.interval_ms: "soon" is not a whole number of milliseconds, 1 or more; write one such as 30000',
    ]);
    expect(w.watcher.lastError?.message).toContain("polling.interval_ms");
    expect(w.watcher.lastError?.at).toBeGreaterThan(before.loadedAt);
    expect(w.errors()).toHaveLength(1);
    expect(w.errors()[0]).toMatchObject({ code: "invalid_workflow_config" });
  });

  test.each([
    ["YAML that can't be read", "---\na: [\n---\n", "workflow_parse_error"],
    ["a list as front matter", "---\n- a\n---\n", "workflow_front_matter_not_a_map"],
    ["an unknown tracker", "---\ntracker: {kind: nope}\n---\n", "unsupported_tracker_kind"],
    ["a key that went missing", "---\ntracker: {kind: keyed}\n---\n", "missing_tracker_secret"],
    ["a template that can't be read", workflowText("", "{% if %}"), "template_parse_error"],
    ["a template with an unknown input", workflowText("", "{{ nope }}"), "template_render_error"],
    ["an empty file", "", "invalid_workflow_config"],
  ])("%s is refused as a whole", async (_name, content, code) => {
    const before = w.watcher.current();
    w.write(content);
    await w.check();
    expect(w.watcher.current()).toBe(before);
    expect(w.errors()).toMatchObject([{ code }]);
    w.write(polling(1));
    await w.check();
    expect(w.heard.at(-1)).toBe("mended");
  });

  test("another mistake is news, and is logged as well", async () => {
    for (const value of ["a", "b"]) {
      w.write(polling(value));
      await w.check();
    }
    expect(w.heard).toHaveLength(2);
    expect(w.errors()).toHaveLength(2);
  });

  test("content that was refused before is not logged again while the file goes to and fro", async () => {
    for (const value of ["a", "b", "a", "b"]) {
      w.write(polling(value));
      await w.check();
    }
    expect(w.errors()).toHaveLength(2);
    expect(w.watcher.lastError?.message).toContain('"b"');
  });

  test("mended by a new revision: it is in force, and then the mending is told", async () => {
    w.write(polling("soon"));
    await w.check();
    w.write(polling(9));
    await w.check();
    expect(w.heard.slice(1)).toEqual(["change 9", "mended"]);
    expect(w.watcher.lastError).toBeNull();
  });

  test("mended by going back: nothing changes but the fault", async () => {
    const before = w.watcher.current();
    w.write(polling("soon"));
    await w.check();
    w.write(polling(1));
    await w.check();
    expect(w.heard.slice(1)).toEqual(["mended"]);
    expect(w.watcher.current()).toBe(before);
  });

  test("mended around the file: what was in its way is gone, though the file is the same", async () => {
    writeFileSync(join(w.dir.path, "spaces"), "");
    w.write(workflowText("polling: {interval_ms: 3}\nworkspace: {root: spaces}"));
    await w.check();
    expect(w.watcher.lastError?.message).toContain("workspace.root");
    rmSync(join(w.dir.path, "spaces"));
    await w.passUntil("the change is in force", () => w.heard.length > 1);
    expect(w.heard.slice(1)).toEqual(["change 3", "mended"]);
  });
});

describe("a file that is missing or half there", () => {
  test("deleted: the last good revision stays, until the file is back", async () => {
    const before = w.watcher.current();
    rmSync(w.path);
    await w.passUntil("the loss is seen", () => w.heard.length > 0);
    expect(await w.heardIdly()).toBe(0);
    expect(w.heard[0]).toContain("broken WORKFLOW.md: there is no such file");
    expect(w.watcher.current()).toBe(before);
    expect(w.errors()).toMatchObject([{ code: "missing_workflow_file" }]);
    w.write(polling(1));
    await w.passUntil("the file is seen again", () => w.heard.length > 1);
    expect(w.heard.slice(1)).toEqual(["mended"]);
  });

  test("a folder in its place is refused like a missing file", async () => {
    rmSync(w.path);
    mkdirSync(w.path);
    await w.check();
    expect(w.errors()).toMatchObject([{ code: "missing_workflow_file" }]);
  });

  test("a file that is being written in place is left alone until it has stopped changing", async () => {
    const whole = polling(5, "The whole prompt.\n".repeat(20));
    truncateSync(w.path, 0);
    const look = w.watcher.checkNow();
    for (let offset = 0; offset < whole.length; offset += 40) {
      appendFileSync(w.path, whole.slice(offset, offset + 40));
      await w.clock.advance(90);
    }
    await w.passUntil("the change is in force", () => w.heard.length > 0);
    await look;
    expect(w.heard).toEqual(["change 5"]);
    expect(w.watcher.current().prompt.source).toBe(whole.slice(whole.indexOf("The")).trim());
    expect(w.errors()).toEqual([]);
  });

  test("a half-written file that stays as it is, is refused, and the rest mends it", async () => {
    w.write("---\ntracker:\n  kind: plain\npolling: {interval_ms: 8}\n");
    await w.check();
    expect(w.errors()).toMatchObject([{ code: "workflow_parse_error" }]);
    appendFileSync(w.path, "---\nWork.\n");
    await w.check();
    expect(w.heard.slice(1)).toEqual(["change 8", "mended"]);
  });
});

describe("a say in the matter", () => {
  test("a revision that is not admitted is not in force, and says why", async () => {
    let isAdmitted = false;
    await w.replace({
      admit: async () => {
        if (!isAdmitted) throw new Error("the board is gone");
      },
    });
    w.write(polling(2));
    await w.check();
    expect(w.heard).toEqual(["broken the board is gone"]);
    expect(w.watcher.current().settings.polling.intervalMs).toBe(1);
    isAdmitted = true;
    await w.check();
    expect(w.heard.slice(1)).toEqual(["change 2", "mended"]);
  });
});
