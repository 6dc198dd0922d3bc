import { existsSync } from "node:fs";
import { chmod, chown, mkdir, readdir, readFile, rename, rm, symlink, writeFile } from "node:fs/promises";
import { join } from "node:path";

import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";

import { ISSUE, makeWorkspaceFixture, type WorkspaceFixture } from "../../test/support/workspaces.ts";
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

describe("containment", () => {
  it("leaves a file in a workspace's place alone", async () => {
    await mkdir(root);
    await writeFile(join(root, "ENG-7"), "precious");
    await expect(fixture.prepare(ISSUE)).rejects.toMatchObject({ code: "workspace_not_a_directory" });
    expect(await readFile(join(root, "ENG-7"), "utf8")).toBe("precious");
  });

  it.each([
    ["out of the root", "link_outside_root", (): string => dir],
    ["to another workspace", "link_inside_root", (): string => join(root, "other")],
    ["to the root itself", "is_root", (): string => root],
    ["to nothing", "dangling_link", (): string => join(dir, "nothing")],
  ])("refuses a link %s, when preparing, launching and removing", async (_what, reason, target) => {
    const { record } = await fixture.prepare(ISSUE);
    await mkdir(join(root, "other"));
    await rename(record.path, join(dir, "moved"));
    await symlink(target(), record.path);
    const refusal = { code: "invalid_workspace_cwd", data: { reason } };
    await expect(fixture.prepare(ISSUE)).rejects.toMatchObject(refusal);
    await expect(fixture.prepare(ISSUE, { bound: record })).rejects.toMatchObject(refusal);
    await expect(workspaces.verify(record.path, root, record)).rejects.toMatchObject(refusal);
    await expect(fixture.remove(record)).rejects.toMatchObject(refusal);
    expect(existsSync(join(root, "other"))).toBe(true);
  });

  it("refuses to launch in a directory that is gone, in the root, or outside it", async () => {
    const { record } = await fixture.prepare(ISSUE);
    const verify = (path: string): Promise<void> => workspaces.verify(path, root, record);
    await verify(record.path);
    await expect(verify(root)).rejects.toMatchObject({ code: "invalid_workspace_cwd", data: { reason: "is_root" } });
    await expect(verify(dir)).rejects.toMatchObject({ data: { reason: "outside_root" } });
    await mkdir(join(record.path, "deep"));
    await expect(verify(join(record.path, "deep"))).rejects.toMatchObject({ data: { reason: "outside_root" } });
    await rm(record.path, { recursive: true });
    await expect(verify(record.path)).rejects.toMatchObject({
      code: "invalid_workspace_cwd",
      data: { reason: "missing" },
    });
  });

  it("takes a root that is itself a link, and gives agents the resolved path", async () => {
    await mkdir(join(dir, "disk"));
    await symlink(join(dir, "disk"), root);
    const { record } = await fixture.prepare(ISSUE);
    expect(record.path).toBe(join(dir, "disk", "ENG-7"));
    await workspaces.verify(record.path, root, record);
  });

  it.each([
    ["is a file", (): Promise<void> => writeFile(root, ""), /is not a directory; move the file away/],
    ["lies below a file", (): Promise<void> => writeFile(join(dir, "file"), ""), /is not a directory/, "file/root"],
    ["can be written by everybody", (): Promise<void> => mkdir(root).then(() => chmod(root, 0o777)), /chmod o-w/],
  ])("refuses a root that %s, at the start already", async (_what, spoil, message, place = "root") => {
    await spoil();
    root = join(dir, place);
    const refusal = { code: "workspace_root_invalid", message: expect.stringMatching(message) };
    await expect(workspaces.checkRoot(root)).rejects.toMatchObject(refusal);
    const settings = fixture.settingsWith({}, { root });
    await expect(fixture.prepare(ISSUE, { settings })).rejects.toMatchObject(refusal);
  });

  it("takes a root that everybody may write when it is sticky", async () => {
    await mkdir(root);
    await chmod(root, 0o1777);
    expect((await fixture.prepare(ISSUE)).created).toBe(true);
  });

  it("refuses a folder for its owner files that it didn't make", async () => {
    await mkdir(root);
    await mkdir(join(dir, "theirs"));
    await symlink(join(dir, "theirs"), join(root, ".symphony"));
    await expect(fixture.prepare(ISSUE)).rejects.toMatchObject({ code: "workspace_root_invalid" });
    expect(await readdir(join(dir, "theirs"))).toEqual([]);
  });
});

it("refuses a root that belongs to somebody else", async () => {
  await mkdir(root);
  // The superuser's directories are trusted, so a test that runs as the superuser gives this one away.
  if (process.getuid?.() === 0) await chown(root, 65_534, 65_534);
  vi.spyOn(process, "getuid").mockReturnValue(12_345);
  await expect(workspaces.checkRoot(root)).rejects.toMatchObject({
    code: "workspace_root_invalid",
    message: expect.stringMatching(/belongs to user \d+, not to 12345; choose a directory of your own/),
  });
});
