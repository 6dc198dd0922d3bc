/** Where a demo lies, and what becomes of one that is there already. */
import { mkdir, readdir, readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { expect, test, vi } from "vitest";
import { makeTempDir } from "../../test/support/temp-dir.ts";
import { lockDaemon } from "../ledger/lock.ts";
import { stateFiles } from "../ledger/state-files.ts";
import { trackerDescriptors } from "../tracker/registry.ts";
import { loadWorkflow } from "../workflow/load.ts";
import { keptDemoDirectory, makeTemporaryDemo, openKeptDemo } from "./demo-place.ts";

const NOW = Date.UTC(2026, 10, 30);
const finished = (): Promise<boolean> => Promise.resolve(true);
const unfinished = (): Promise<boolean> => Promise.resolve(false);

test("a new demo is a whole one: its workflow loads, and six tickets and a repository are there", async () => {
  await using tmp = await makeTempDir();
  const dir = join(tmp.path, "a folder", "demo");
  const { layout, resumed, previous } = await openKeptDemo(dir, NOW, unfinished);
  expect({ resumed, previous }).toEqual({ resumed: false, previous: null });
  const { settings, warnings } = loadWorkflow(layout.workflow, { descriptors: trackerDescriptors, env: process.env });
  expect(warnings).toEqual([]);
  expect(settings.tracker.provider["path"]).toBe(layout.board);
  expect(settings.workspace.root).toBe(layout.workspaces);
  expect(settings.state.dir).toBe(layout.state);
  expect(settings.codex.command).toContain(layout.script);
  expect(await readdir(layout.board)).toHaveLength(6);
  expect(await readFile(join(layout.repository, "greet.sh"), "utf8")).toContain("Hello!");
  expect(await readdir(join(tmp.path, "a folder"))).toEqual(["demo"]);
});

test("an unfinished demo is opened as it is", async () => {
  await using tmp = await makeTempDir();
  const dir = join(tmp.path, "demo");
  const { layout } = await openKeptDemo(dir, NOW, unfinished);
  await writeFile(join(layout.board, "MINE-1.md"), "mine");
  expect(await openKeptDemo(dir, NOW, unfinished)).toEqual({ layout, resumed: true, previous: null });
  expect(await readdir(layout.board)).toContain("MINE-1.md");
});

test("a finished demo moves aside for a new one, and only the last is kept", async () => {
  await using tmp = await makeTempDir();
  const dir = join(tmp.path, "demo");
  const { layout } = await openKeptDemo(dir, NOW, finished);
  await writeFile(join(layout.board, "MINE-1.md"), "mine");
  const second = await openKeptDemo(dir, NOW, finished);
  expect(second).toMatchObject({ resumed: false, previous: `${dir}.previous` });
  expect(await readdir(layout.board)).toHaveLength(6);
  expect(await readdir(join(`${dir}.previous`, "board"))).toContain("MINE-1.md");
  await openKeptDemo(dir, NOW, finished);
  expect(await readdir(join(`${dir}.previous`, "board"))).toHaveLength(6);
  expect((await readdir(tmp.path)).toSorted()).toEqual(["demo", "demo.previous"]);
});

test("a demo in which a daemon works isn't moved", async () => {
  await using tmp = await makeTempDir();
  const dir = join(tmp.path, "demo");
  const { layout } = await openKeptDemo(dir, NOW, finished);
  using locks = new DisposableStack();
  locks.use(lockDaemon(stateFiles(layout.state), layout.workflow));
  await expect(openKeptDemo(dir, NOW, finished)).rejects.toThrow(`pid ${process.pid}`);
  expect(await readdir(tmp.path)).toEqual(["demo"]);
});

test("what a cut-off start has left is no obstacle", async () => {
  await using tmp = await makeTempDir();
  const dir = join(tmp.path, "demo");
  await mkdir(join(`${dir}.new`, "board"), { recursive: true });
  await mkdir(dir);
  const { layout } = await openKeptDemo(dir, NOW, unfinished);
  expect(await readdir(layout.board)).toHaveLength(6);
  expect(await readdir(tmp.path)).toEqual(["demo"]);
});

test("what keeps a demo from being made is said with its mend, and nothing of it is left", async () => {
  await using tmp = await makeTempDir();
  vi.stubEnv("TMPDIR", join(tmp.path, "missing"));
  await expect(makeTemporaryDemo(NOW)).rejects.toThrow(/missing.*TMPDIR/);
  vi.stubEnv("TMPDIR", tmp.path);
  vi.stubEnv("PATH", tmp.path);
  await expect(makeTemporaryDemo(NOW)).rejects.toThrow(/the demo needs git/);
  await expect(openKeptDemo(join(tmp.path, "demo"), NOW, unfinished)).rejects.toThrow(/the demo needs git/);
  await writeFile(join(tmp.path, "a-file"), "");
  await expect(openKeptDemo(join(tmp.path, "a-file", "demo"), NOW, unfinished)).rejects.toThrow(/a-file.*--dir/);
  expect(await readdir(tmp.path)).toEqual(["a-file"]);
});

test("the kept demo is below the user's state directory", () => {
  expect(keptDemoDirectory({ HOME: "/home/ada" })).toBe("/home/ada/.local/state/symphony/demo");
  expect(keptDemoDirectory({ HOME: "/home/ada", XDG_STATE_HOME: "/state" })).toBe("/state/symphony/demo");
  expect(keptDemoDirectory({ HOME: "/home/ada", XDG_STATE_HOME: "relative" })).toBe(
    "/home/ada/.local/state/symphony/demo",
  );
});
