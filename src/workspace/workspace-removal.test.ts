import { existsSync } from "node:fs";
import { mkdir, readdir, readFile, rm, symlink, writeFile } from "node:fs/promises";
import { join } from "node:path";

import { afterEach, beforeEach, describe, expect, it } from "vitest";

import { makeIssue } from "../../test/support/issues.ts";
import { isRunning, pidFrom } from "../../test/support/processes.ts";
import { ISSUE, makeWorkspaceFixture, type WorkspaceFixture } from "../../test/support/workspaces.ts";
import { issueId } from "../domain/ids.ts";
import { ownerFilePath, readOwner, writeOwner } from "./owner-file.ts";
import type { Workspaces } from "./workspace.ts";

let dir: string;
let root: string;
let workspaces: Workspaces;
let fixture: WorkspaceFixture;

beforeEach(async () => {
  fixture = await makeWorkspaceFixture();
  ({ dir, root, workspaces } = fixture);
});
afterEach(async () => {
  await fixture.dispose();
});

describe("removing a workspace", () => {
  it("runs before_remove in it, deletes it and its owner file, and follows no link", async () => {
    const { record } = await fixture.prepare(ISSUE);
    await mkdir(join(dir, "outside"));
    await symlink(join(dir, "outside"), join(record.path, "link"));
    expect(await fixture.remove(record, fixture.settingsWith({ beforeRemove: 'pwd > "$D/removed-from"' }))).toBe(
      "removed",
    );
    expect(await readFile(join(dir, "removed-from"), "utf8")).toBe(`${record.path}\n`);
    expect(await readdir(root)).toEqual([".symphony"]);
    expect(await readdir(join(root, ".symphony"))).toEqual([]);
    expect(existsSync(join(dir, "outside"))).toBe(true);
  });

  it("keeps the work in it first, before the hook could take it away", async () => {
    const { record } = await fixture.prepare(ISSUE);
    await writeFile(join(record.path, "report.md"), "found it\n");
    const hooks = { beforeRemove: 'rm report.md; ls "$D/salvage" > "$D/kept-before"' };
    expect(await fixture.remove(record, fixture.settingsWith(hooks))).toBe("removed");
    const kept = (await readFile(join(dir, "kept-before"), "utf8")).trim().split("\n");
    expect(kept).toEqual([
      expect.stringMatching(/^ENG-7-\w{8}\.bundle$/),
      expect.stringMatching(/^ENG-7-\w{8}\.patch$/),
    ]);
    expect(await readFile(join(dir, "salvage", kept[1] ?? ""), "utf8")).toContain("+found it");
  });

  it("keeps the whole workspace when its work can't be saved, and removes it once it can", async () => {
    const { record } = await fixture.prepare(ISSUE);
    await writeFile(join(record.path, "report.md"), "found it\n");
    await writeFile(join(dir, "salvage"), "in the way");
    const settings = fixture.settingsWith({ beforeRemove: 'touch "$D/hook-ran"' });
    await expect(fixture.remove(record, settings)).rejects.toThrow(/can't be saved, so it stays: E(EXIST|NOTDIR)/);
    expect([existsSync(join(record.path, "report.md")), existsSync(join(dir, "hook-ran"))]).toEqual([true, false]);
    expect(await readOwner(record.path)).toMatchObject({ state: "ready" });
    await rm(join(dir, "salvage"));
    expect(await fixture.remove(record, settings)).toBe("removed");
    expect(await readdir(join(dir, "salvage"))).toHaveLength(2);
  });

  it("keeps nothing of a half-made workspace, in which nobody has worked", async () => {
    const { record } = await fixture.prepare(ISSUE);
    const owner = await readOwner(record.path);
    if (owner === null) throw new Error("no owner");
    await writeFile(join(record.path, "half"), "half");
    await writeOwner({ ...owner, state: "creating" });
    expect(await fixture.remove(record)).toBe("removed");
    expect(existsSync(join(dir, "salvage"))).toBe(false);
  });

  it("goes on when before_remove fails, and says so", async () => {
    const { record } = await fixture.prepare(ISSUE);
    expect(await fixture.remove(record, fixture.settingsWith({ beforeRemove: "exit 5" }))).toBe("removed");
    expect(fixture.warnings().map((line) => JSON.parse(line) as unknown)).toEqual([
      expect.objectContaining({
        msg: "before_remove hook failed",
        issue_id: ISSUE.id,
        issue_identifier: ISSUE.identifier,
      }),
    ]);
    expect(existsSync(record.path)).toBe(false);
  });

  it("removes it where it was made when the root has changed since", async () => {
    const { record } = await fixture.prepare(ISSUE);
    const other = join(dir, "new-root");
    await fixture.prepare(makeIssue("ENG-7", { id: issueId("other") }), {
      settings: fixture.settingsWith({}, { root: other }),
    });
    expect(await fixture.remove(record, fixture.settingsWith({}, { root: other }))).toBe("removed");
    expect(existsSync(record.path)).toBe(false);
    expect(existsSync(join(other, "ENG-7"))).toBe(true);
  });

  it("answers for one that is gone, or whose whole root is", async () => {
    const { record } = await fixture.prepare(ISSUE);
    await rm(record.path, { recursive: true });
    expect(await fixture.remove(record)).toBe("missing");
    expect(await readOwner(record.path)).toBeNull();
    await rm(root, { recursive: true });
    expect(await fixture.remove(record)).toBe("missing");
  });

  it("keeps it where the settings say so, without before_remove", async () => {
    const { record } = await fixture.prepare(ISSUE);
    const settings = fixture.settingsWith({ beforeRemove: 'touch "$D/removed"' }, { onTerminal: "keep" });
    expect(await fixture.remove(record, settings)).toBe("kept");
    expect(existsSync(record.path)).toBe(true);
    expect(existsSync(join(dir, "removed"))).toBe(false);
  });

  it("keeps one that another issue has, or that lost its owner file", async () => {
    const { record } = await fixture.prepare(ISSUE);
    expect(await fixture.remove({ ...record, issueId: issueId("another") })).toBe("kept");
    await rm(ownerFilePath(record.path));
    expect(await fixture.remove(record)).toBe("kept");
    expect(existsSync(record.path)).toBe(true);
  });

  it("never removes the root or what holds it", async () => {
    const { record } = await fixture.prepare(ISSUE);
    for (const path of [root, dir]) {
      await expect(fixture.remove({ ...record, path })).rejects.toMatchObject({ data: { reason: "is_root" } });
    }
    expect(existsSync(record.path)).toBe(true);
  });

  it("keeps the workspace when the daemon stops during before_remove", async () => {
    const { record } = await fixture.prepare(ISSUE);
    const stop = new AbortController();
    const settings = fixture.settingsWith({ beforeRemove: 'echo $$ > "$D/pid"; sleep 600' });
    const removing = workspaces.remove({ record, issue: ISSUE, settings, signal: stop.signal });
    const pid = await pidFrom(join(dir, "pid"));
    stop.abort(new Error("the daemon stops"));
    await expect(removing).rejects.toThrow("the daemon stops");
    expect(await isRunning(pid)).toBe(false);
    expect(existsSync(record.path)).toBe(true);
    expect(await fixture.remove(record)).toBe("removed");
  });

  it("counts a deletion that was cut off as half-made, so that nobody works in the rest", async () => {
    const { record } = await fixture.prepare(ISSUE);
    const owner = await readOwner(record.path);
    if (owner === null) throw new Error("a prepared workspace has an owner");
    await writeOwner({ ...owner, state: "creating" });
    const settings = fixture.settingsWith({ beforeRemove: 'touch "$D/removed"' });
    expect(await fixture.remove(record, settings)).toBe("removed");
    expect(existsSync(join(dir, "removed"))).toBe(false);
  });
});
