/** Live reload on real files under a clock of the test's own. */
import {
  appendFileSync,
  mkdirSync,
  renameSync,
  rmSync,
  statSync,
  symlinkSync,
  truncateSync,
  utimesSync,
  writeFileSync,
} from "node:fs";
import { join } from "node:path";

import { afterEach, beforeEach, describe, expect, test } from "vitest";

import { captureLog, type CapturedLog } from "../../test/support/captured-log.ts";
import { ManualClock } from "../../test/support/manual-clock.ts";
import { makeTempDir, type TempDir } from "../../test/support/temp-dir.ts";
import { until } from "../../test/support/until.ts";
import { appErrorOf, loadOptions, workflowText, writeWorkflow } from "../../test/support/workflow-files.ts";
import { WorkflowWatcher, type WorkflowWatcherDeps } from "./reload.ts";

let dir: TempDir;
let path: string;
let clock: ManualClock;
let log: CapturedLog;
let watcher: WorkflowWatcher;
let heard: string[];

function watch(overrides: Partial<WorkflowWatcherDeps> = {}): WorkflowWatcher {
  const made = new WorkflowWatcher({ ...loadOptions({ ROOT: "/srv" }), path, clock, log: log.log, ...overrides });
  made.observe({
    onChange: (settings) => heard.push(`change ${settings.polling.intervalMs}`),
    onBroken: (message) => heard.push(`broken ${message.replaceAll(`${dir.path}/`, "")}`),
    onMended: () => heard.push("mended"),
  });
  return made;
}

function polling(intervalMs: number | string, body = "Work."): string {
  return workflowText(`polling: {interval_ms: ${intervalMs}}`, body);
}

function write(content: string): void {
  writeWorkflow(dir.path, content);
}

/** Lets time pass, with the real reads in between, until `condition` holds. */
async function passUntil(what: string, condition: () => boolean): Promise<void> {
  await until(what, async () => {
    await clock.advance(100);
    return condition();
  });
}

/** How long a changed file must stay as it is. */
const SETTLE_MS = 100;

/** Asks for a look, and lets time pass only for the file to settle: however slow the disk is, nothing else falls due. */
async function check(): Promise<void> {
  let isDone = false;
  const done = watcher.checkNow().then(() => (isDone = true));
  await until("the look is over", async () => {
    const wait = (clock.nextDueAt() ?? Infinity) - clock.now();
    if (!isDone && wait <= SETTLE_MS) await clock.advance(wait);
    return isDone;
  });
  await done;
}

/** Three polls that find nothing to say. */
async function passQuietly(): Promise<void> {
  const before = heard.length;
  for (let poll = 0; poll < 3; poll += 1) {
    await clock.advance(1000);
    await check();
  }
  expect(heard).toHaveLength(before);
}

function errors(): readonly { readonly msg: string; readonly error: string; readonly code: string }[] {
  const lines = log
    .lines()
    .map((line) => JSON.parse(line) as { level: number; msg: string; error: string; code: string });
  return lines.filter((line) => line.level >= 50);
}

beforeEach(async () => {
  dir = await makeTempDir();
  path = writeWorkflow(dir.path, polling(1));
  clock = new ManualClock();
  log = captureLog();
  heard = [];
  watcher = watch();
  await watcher.start();
});

afterEach(async () => {
  await watcher.stop();
  await dir.dispose();
});

describe("loading", () => {
  test("start puts the file in force and tells when and which", () => {
    const { settings, revision, loadedAt, prompt } = watcher.current();
    expect(settings.polling.intervalMs).toBe(1);
    expect(revision).toBe(settings.revision);
    expect(loadedAt).toBe(clock.now());
    expect(prompt.source).toBe("Work.");
    expect(watcher.lastError).toBeNull();
    expect(heard).toEqual([]);
  });

  test("a first load that fails throws, and so does reading before it", () => {
    write("---\n---\n");
    const other = watch();
    expect(appErrorOf(() => other.load()).code).toBe("invalid_workflow_config");
    expect(() => other.current()).toThrow("has not been loaded");
  });

  test("starting and stopping twice, or stopping before a start, is fine", async () => {
    await watcher.start();
    expect(clock.armedCount()).toBe(1);
    await watcher.stop();
    await watcher.stop();
    await watch().stop();
    expect(clock.armedCount()).toBe(0);
  });

  test("the warnings of a revision are logged once", async () => {
    write(workflowText("colour: blue"));
    await passUntil("the change is in force", () => heard.length > 0);
    await passQuietly();
    expect(log.warnings().filter((line) => line.includes("colour"))).toHaveLength(1);
  });
});

describe("a good change", () => {
  test("is in force within about a second, with its revision, time and prompt", async () => {
    const before = watcher.current();
    const at = clock.now();
    write(polling(2, "New words."));
    await passUntil("the change is in force", () => heard.length > 0);
    const { settings, revision, loadedAt, prompt } = watcher.current();
    expect(heard).toEqual(["change 2"]);
    expect(settings.polling.intervalMs).toBe(2);
    expect(prompt.source).toBe("New words.");
    expect(revision).not.toBe(before.revision);
    expect(loadedAt).toBeGreaterThan(before.loadedAt);
    expect(clock.now() - at).toBeGreaterThanOrEqual(1000);
    expect(before.settings.polling.intervalMs).toBe(1);
  });

  test("is in force when a look before a dispatch has ended, without waiting for the poll", async () => {
    write(polling(2));
    const at = clock.now();
    await check();
    expect(watcher.current().settings.polling.intervalMs).toBe(2);
    expect(clock.now() - at).toBeLessThan(1000);
  });

  test("is found after the file was replaced by a rename, again and again", async () => {
    for (const intervalMs of [2, 3, 4]) {
      writeFileSync(`${path}.new`, polling(intervalMs));
      renameSync(`${path}.new`, path);
      await passUntil("the change is in force", () => watcher.current().settings.polling.intervalMs === intervalMs);
    }
    expect(heard).toEqual(["change 2", "change 3", "change 4"]);
  });

  test("is found when size and modification time are those of the old file", async () => {
    const { atime, mtime, size } = statSync(path);
    write(polling(7));
    utimesSync(path, atime, mtime);
    expect(statSync(path).size).toBe(size);
    await passUntil("the change is in force", () => heard.length > 0);
    expect(heard).toEqual(["change 7"]);
  });

  test("is found when the path is a link that is turned to another file", async () => {
    for (const intervalMs of [1, 6]) writeFileSync(join(dir.path, `v${intervalMs}.md`), polling(intervalMs));
    const turnTo = (intervalMs: number): void => {
      symlinkSync(`v${intervalMs}.md`, `${path}.new`);
      renameSync(`${path}.new`, path);
    };
    turnTo(1);
    await passQuietly();
    turnTo(6);
    await passUntil("the change is in force", () => heard.length > 0);
    expect(heard).toEqual(["change 6"]);
  });

  test("touching the file changes nothing", async () => {
    const { loadedAt } = watcher.current();
    const later = new Date(Date.now() + 60_000);
    utimesSync(path, later, later);
    await passQuietly();
    expect(watcher.current().loadedAt).toBe(loadedAt);
  });

  test("resolves variables with the environment of the start", async () => {
    write(workflowText("workspace: {root: $ROOT/spaces}"));
    await check();
    expect(watcher.current().settings.workspace.root).toBe("/srv/spaces");
  });

  test("an observer that has left hears nothing", async () => {
    const more: string[] = [];
    const leave = watcher.observe({ onChange: () => more.push("change") });
    leave();
    write(polling(2));
    await check();
    expect([heard, more]).toEqual([["change 2"], []]);
  });
});

describe("a bad change", () => {
  test("keeps the last good revision, names the mistake, and is logged once", async () => {
    const before = watcher.current();
    write(polling("soon"));
    await passUntil("the mistake is seen", () => heard.length > 0);
    await passQuietly();
    expect(watcher.current()).toBe(before);
    expect(heard).toEqual([
      'broken WORKFLOW.md:4: polling.interval_ms: "soon" is not a whole number of milliseconds, 1 or more; write one such as 30000',
    ]);
    expect(watcher.lastError?.message).toContain("polling.interval_ms");
    expect(watcher.lastError?.at).toBeGreaterThan(before.loadedAt);
    expect(errors()).toHaveLength(1);
    expect(errors()[0]).toMatchObject({ code: "invalid_workflow_config" });
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
    const before = watcher.current();
    write(content);
    await check();
    expect(watcher.current()).toBe(before);
    expect(errors()).toMatchObject([{ code }]);
    write(polling(1));
    await check();
    expect(heard.at(-1)).toBe("mended");
  });

  test("another mistake is news, and is logged as well", async () => {
    for (const value of ["a", "b"]) {
      write(polling(value));
      await check();
    }
    expect(heard).toHaveLength(2);
    expect(errors()).toHaveLength(2);
  });

  test("content that was refused before is not logged again while the file goes to and fro", async () => {
    for (const value of ["a", "b", "a", "b"]) {
      write(polling(value));
      await check();
    }
    expect(errors()).toHaveLength(2);
    expect(watcher.lastError?.message).toContain('"b"');
  });

  test("mended by a new revision: it is in force, and then the mending is told", async () => {
    write(polling("soon"));
    await check();
    write(polling(9));
    await check();
    expect(heard.slice(1)).toEqual(["change 9", "mended"]);
    expect(watcher.lastError).toBeNull();
  });

  test("mended by going back: nothing changes but the fault", async () => {
    const before = watcher.current();
    write(polling("soon"));
    await check();
    write(polling(1));
    await check();
    expect(heard.slice(1)).toEqual(["mended"]);
    expect(watcher.current()).toBe(before);
  });

  test("mended around the file: what was in its way is gone, though the file is the same", async () => {
    writeFileSync(join(dir.path, "spaces"), "");
    write(workflowText("polling: {interval_ms: 3}\nworkspace: {root: spaces}"));
    await check();
    expect(watcher.lastError?.message).toContain("workspace.root");
    rmSync(join(dir.path, "spaces"));
    await passUntil("the change is in force", () => heard.length > 1);
    expect(heard.slice(1)).toEqual(["change 3", "mended"]);
  });
});

describe("a file that is missing or half there", () => {
  test("deleted: the last good revision stays, until the file is back", async () => {
    const before = watcher.current();
    rmSync(path);
    await passUntil("the loss is seen", () => heard.length > 0);
    await passQuietly();
    expect(heard[0]).toContain("broken WORKFLOW.md: there is no such file");
    expect(watcher.current()).toBe(before);
    expect(errors()).toMatchObject([{ code: "missing_workflow_file" }]);
    write(polling(1));
    await passUntil("the file is seen again", () => heard.length > 1);
    expect(heard.slice(1)).toEqual(["mended"]);
  });

  test("a folder in its place is refused like a missing file", async () => {
    rmSync(path);
    mkdirSync(path);
    await check();
    expect(errors()).toMatchObject([{ code: "missing_workflow_file" }]);
  });

  test("a file that is being written in place is left alone until it has stopped changing", async () => {
    const whole = polling(5, "The whole prompt.\n".repeat(20));
    truncateSync(path, 0);
    const look = watcher.checkNow();
    for (let offset = 0; offset < whole.length; offset += 40) {
      appendFileSync(path, whole.slice(offset, offset + 40));
      await clock.advance(90);
    }
    await passUntil("the change is in force", () => heard.length > 0);
    await look;
    expect(heard).toEqual(["change 5"]);
    expect(watcher.current().prompt.source).toBe(whole.slice(whole.indexOf("The")).trim());
    expect(errors()).toEqual([]);
  });

  test("a half-written file that stays as it is, is refused, and the rest mends it", async () => {
    write("---\ntracker:\n  kind: plain\npolling: {interval_ms: 8}\n");
    await check();
    expect(errors()).toMatchObject([{ code: "workflow_parse_error" }]);
    appendFileSync(path, "---\nWork.\n");
    await check();
    expect(heard.slice(1)).toEqual(["change 8", "mended"]);
  });
});

describe("a say in the matter", () => {
  test("a revision that is not admitted is not in force, and says why", async () => {
    await watcher.stop();
    let isAdmitted = false;
    watcher = watch({
      admit: async () => {
        if (!isAdmitted) throw new Error("the board is gone");
      },
    });
    await watcher.start();
    write(polling(2));
    await check();
    expect(heard).toEqual(["broken the board is gone"]);
    expect(watcher.current().settings.polling.intervalMs).toBe(1);
    isAdmitted = true;
    await check();
    expect(heard.slice(1)).toEqual(["change 2", "mended"]);
  });
});

describe("the clock and the disk", () => {
  test("many looks at once see one change once", async () => {
    write(polling(2));
    const looks = Array.from({ length: 20 }, () => watcher.checkNow());
    await passUntil("the change is in force", () => heard.length > 0);
    await Promise.all(looks);
    await passQuietly();
    expect(heard).toEqual(["change 2"]);
  });

  test("a look that takes too long doesn't hold up a dispatch", async () => {
    await watcher.stop();
    const stuck = Promise.withResolvers<void>();
    watcher = watch({ admit: () => stuck.promise });
    await watcher.start();
    write(polling(2));
    const look = watcher.checkNow();
    await passUntil("the look is given up", () => clock.armedCount() === 0);
    await look;
    expect(watcher.current().settings.polling.intervalMs).toBe(1);
    stuck.resolve();
    await until("the slow look has its effect", () => heard.length > 0);
    expect(heard).toEqual(["change 2"]);
  });

  test("after a stop nothing is told any more, and no timer is left", async () => {
    write(polling(2));
    const look = watcher.checkNow();
    await watcher.stop();
    await look;
    await clock.advance(5000);
    expect(heard).toEqual([]);
    expect(clock.armedCount()).toBe(0);
  });
});
