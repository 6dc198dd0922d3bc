import { existsSync } from "node:fs";
import { mkdir, readdir, readFile, rm, stat, writeFile } from "node:fs/promises";
import { join } from "node:path";

import { afterEach, beforeEach, describe, expect, it } from "vitest";

import { makeIssue } from "../../test/support/issues.ts";
import { isRunning, pidFrom } from "../../test/support/processes.ts";
import { ISSUE, makeWorkspaceFixture, TRACKER_SECRET, type WorkspaceFixture } from "../../test/support/workspaces.ts";
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

describe("making a workspace", () => {
  it("creates it under the root for us alone, runs after_create in it, and records where", async () => {
    const { record, created } = await fixture.prepare(ISSUE, {
      settings: fixture.settingsWith({ afterCreate: "pwd > here" }),
    });
    const path = join(root, "ENG-7");
    expect(created).toBe(true);
    expect(record).toMatchObject({ issueId: ISSUE.id, identifier: "ENG-7", path, host: "local" });
    expect(await readFile(join(path, "here"), "utf8")).toBe(`${path}\n`);
    for (const made of [root, path, join(root, ".symphony")]) expect((await stat(made)).mode & 0o777).toBe(0o700);
  });

  it("finds it again with its contents, without after_create", async () => {
    await fixture.prepare(ISSUE);
    await writeFile(join(root, "ENG-7", "work"), "x");
    const { created } = await fixture.prepare(ISSUE, { settings: fixture.settingsWith({ afterCreate: "exit 1" }) });
    expect(created).toBe(false);
    expect(await readFile(join(root, "ENG-7", "work"), "utf8")).toBe("x");
  });

  it("removes it when after_create fails, names the exit code, and creates it anew the next time", async () => {
    const failing = fixture.settingsWith({
      afterCreate: 'touch half; echo "token $TOKEN and secret lin_api_0123456789"; exit 3',
    });
    await expect(fixture.prepare(ISSUE, { settings: failing })).rejects.toMatchObject({
      code: "hook_failed",
      message: expect.stringMatching(/after_create.*exit code 3.*secret \[redacted\]/s),
      data: { hook: "after_create", exitCode: 3 },
    });
    expect(existsSync(join(root, "ENG-7"))).toBe(false);
    const { created } = await fixture.prepare(ISSUE, {
      settings: fixture.settingsWith({ afterCreate: "test ! -e half && touch whole" }),
    });
    expect(created).toBe(true);
    expect(await readdir(join(root, "ENG-7"))).toEqual(["whole"]);
  });

  it("removes it when after_create takes too long, with everything that the hook started", async () => {
    const afterCreate = 'bash -c \'trap "" TERM; echo $$ > "$D/pid"; while :; do sleep 1; done\' & wait';
    const settings = fixture.settingsWith({ afterCreate, timeoutMs: 3_000 });
    await expect(fixture.prepare(ISSUE, { settings })).rejects.toMatchObject({
      code: "hook_timeout",
      message: expect.stringContaining("hooks.timeout_ms (3000 ms)"),
    });
    expect(await isRunning(await pidFrom(join(dir, "pid")))).toBe(false);
    expect(existsSync(join(root, "ENG-7"))).toBe(false);
  });

  it("drops the half-made directory without before_remove when the run is stopped", async () => {
    const stop = new AbortController();
    const settings = fixture.settingsWith({
      afterCreate: 'touch half; echo $$ > "$D/pid"; sleep 600',
      beforeRemove: 'touch "$D/removed"',
    });
    const preparing = fixture.prepare(ISSUE, { settings, signal: stop.signal });
    const pid = await pidFrom(join(dir, "pid"));
    stop.abort(new Error("stopped by an operator"));
    await expect(preparing).rejects.toThrow("stopped by an operator");
    expect(await isRunning(pid)).toBe(false);
    expect(existsSync(join(root, "ENG-7"))).toBe(false);
    expect(existsSync(join(dir, "removed"))).toBe(false);
  });

  it("makes a directory anew that a crash left half-made", async () => {
    const { record } = await fixture.prepare(ISSUE);
    const owner = await readOwner(record.path);
    if (owner === null) throw new Error("a prepared workspace has an owner");
    await writeOwner({ ...owner, state: "creating" });
    await writeFile(join(record.path, "half"), "x");
    const { created } = await fixture.prepare(ISSUE, {
      settings: fixture.settingsWith({ afterCreate: "touch whole" }),
    });
    expect(created).toBe(true);
    expect(await readdir(record.path)).toEqual(["whole"]);
  });

  it("adopts a directory without an owner file as it is", async () => {
    await mkdir(join(root, "ENG-7"), { recursive: true });
    await writeFile(join(root, "ENG-7", "work"), "x");
    const { record, created } = await fixture.prepare(ISSUE, {
      settings: fixture.settingsWith({ afterCreate: "exit 1" }),
    });
    expect(created).toBe(false);
    expect(await readOwner(record.path)).toMatchObject({ ledgerId: "ledger-1", issueId: ISSUE.id, state: "ready" });
    expect(existsSync(join(root, "ENG-7", "work"))).toBe(true);
  });

  it("fails when after_create puts a link in the workspace's place, and leaves the target alone", async () => {
    await mkdir(join(dir, "elsewhere"));
    const settings = fixture.settingsWith({ afterCreate: 'cd .. && rmdir ENG-7 && ln -s "$D/elsewhere" ENG-7' });
    await expect(fixture.prepare(ISSUE, { settings })).rejects.toMatchObject({ data: { reason: "link_outside_root" } });
    expect(existsSync(join(root, "ENG-7"))).toBe(false);
    expect(existsSync(join(dir, "elsewhere"))).toBe(true);
  });
});

describe("whose a workspace is", () => {
  it("refuses another daemon's, whatever its state, and leaves it alone", async () => {
    const { record } = await fixture.prepare(ISSUE, {}, fixture.daemon("ledger-2"));
    await writeFile(join(record.path, "work"), "x");
    await expect(fixture.prepare(ISSUE)).rejects.toMatchObject({
      code: "workspace_foreign",
      data: { ledgerId: "ledger-2" },
    });
    await expect(workspaces.verify(record.path, root, record)).rejects.toMatchObject({ code: "workspace_foreign" });
    expect(await fixture.remove(record)).toBe("kept");
    expect(await readdir(record.path)).toEqual(["work"]);
  });

  it("takes an owner file that it doesn't understand for another daemon's", async () => {
    const { record } = await fixture.prepare(ISSUE);
    await writeFile(ownerFilePath(record.path), "{");
    await expect(fixture.prepare(ISSUE)).rejects.toMatchObject({ code: "workspace_foreign" });
    await expect(fixture.remove(record)).rejects.toMatchObject({ code: "workspace_foreign" });
    expect(existsSync(record.path)).toBe(true);
  });

  it("refuses a key that another issue owns, by the ledger or by the disk", async () => {
    await expect(fixture.prepare(ISSUE, { isTaken: (path) => path === join(root, "ENG-7") })).rejects.toMatchObject({
      code: "workspace_key_taken",
    });
    await fixture.prepare(ISSUE);
    await expect(fixture.prepare({ ...ISSUE, id: issueId("another") })).rejects.toMatchObject({
      code: "workspace_key_taken",
      message: expect.stringContaining("id-ENG-7"),
    });
  });

  it("refuses a key that differs from another's in letter case alone", async () => {
    await fixture.prepare(ISSUE);
    await expect(fixture.prepare(makeIssue("eng-7"))).rejects.toMatchObject({ code: "workspace_key_taken" });
  });

  it("lets only one of two issues have a key that both ask for at once", async () => {
    const settings = fixture.settingsWith({ afterCreate: "sleep 0.1" });
    const results = await Promise.allSettled(
      ["ENG-7", "eng-7"].map((name) => fixture.prepare(makeIssue(name), { settings })),
    );
    expect(results.map(({ status }) => status).toSorted()).toEqual(["fulfilled", "rejected"]);
    // Not a failure that might pass: who came second has waited, and then found the first one's.
    expect(results.find(({ status }) => status === "rejected")).toMatchObject({
      reason: { code: "workspace_key_taken" },
    });
    expect(await readdir(root)).toHaveLength(2);
  });

  it("gives a place to another issue once the first one's directory is gone", async () => {
    const { record } = await fixture.prepare(ISSUE);
    await rm(record.path, { recursive: true });
    expect(await fixture.prepare({ ...ISSUE, id: issueId("another") })).toMatchObject({
      created: true,
      record: { path: record.path },
    });
  });

  it("keeps a renamed issue in its first directory", async () => {
    const { record } = await fixture.prepare(ISSUE);
    const renamed = { ...ISSUE, identifier: "OPS-9" };
    const again = await fixture.prepare(renamed, { bound: record });
    expect(again).toEqual({ created: false, record: { ...record, identifier: "OPS-9" } });
    await expect(fixture.prepare(makeIssue("ENG-7", { id: issueId("new") }))).rejects.toMatchObject({
      code: "workspace_key_taken",
    });
  });

  it("keeps a bound issue where it was made when the root changes, and follows the new root once that is gone", async () => {
    const { record } = await fixture.prepare(ISSUE);
    const settings = fixture.settingsWith({}, { root: join(dir, "new-root") });
    const bound = await fixture.prepare(ISSUE, { settings, bound: record });
    expect(bound).toEqual({ created: false, record });
    await workspaces.verify(record.path, settings.workspace.root, record);
    await rm(record.path, { recursive: true });
    const moved = await fixture.prepare(ISSUE, { settings, bound: record });
    expect(moved).toMatchObject({ created: true, record: { path: join(dir, "new-root", "ENG-7") } });
  });
});

describe("hooks", () => {
  it("get the issue's data as values, the daemon's environment, and no tracker secret", async () => {
    const { record } = await fixture.prepare(ISSUE);
    const issue = makeIssue("ENG-7", { title: '$(touch pwned) `touch pwned` "; touch pwned; \0\n' });
    const beforeRun = 'env > "$D/env"; printf %s "$SYMPHONY_ISSUE_TITLE" > "$D/title"';
    const request = {
      issue,
      attempt: 3,
      settings: fixture.settingsWith({ beforeRun }),
      path: record.path,
      runMarker: "test",
    };
    await workspaces.runHook("before_run", request);
    const env = await readFile(join(dir, "env"), "utf8");
    expect(env).toContain(`SYMPHONY_WORKSPACE=${record.path}\n`);
    expect(env).toContain("SYMPHONY_ATTEMPT=3\n");
    expect(env).not.toContain(TRACKER_SECRET);
    expect(await readFile(join(dir, "title"), "utf8")).toBe('$(touch pwned) `touch pwned` "; touch pwned; \n');
    expect(await readdir(record.path)).toEqual([]);
  });

  it("do nothing when there is none, and fail with code, exit status and the end of the output", async () => {
    const { record } = await fixture.prepare(ISSUE);
    const request = { issue: ISSUE, attempt: null, path: record.path, runMarker: "test" };
    await workspaces.runHook("after_run", { ...request, settings: fixture.settingsWith() });
    const afterRun = "head -c 100000 /dev/zero | tr '\\0' x; echo; echo the reason >&2; exit 9";
    const failed: unknown = await workspaces
      .runHook("after_run", { ...request, settings: fixture.settingsWith({ afterRun }) })
      .catch((error: unknown) => error);
    expect(failed).toMatchObject({ code: "hook_failed", data: { hook: "after_run", exitCode: 9 } });
    const { message } = failed as Error;
    expect(message).toMatch(/exit code 9; it printed: \.\.\.x+\nthe reason$/);
    expect(message.length).toBeLessThan(2_500);
  });
});
