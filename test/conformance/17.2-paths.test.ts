/** Section 17.2, where workspaces are: paths that follow from identifiers, and nothing outside of the root. */
import { existsSync } from "node:fs";
import { mkdir, readFile, rename, stat, symlink, writeFile } from "node:fs/promises";
import { basename, dirname, join } from "node:path";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { issueId } from "../../src/domain/ids.ts";
import { workspaceKey } from "../../src/workspace/key.ts";
import { makeIssue } from "../support/issues.ts";
import { ISSUE, makeWorkspaceFixture, type WorkspaceFixture } from "../support/workspaces.ts";

let fixture: WorkspaceFixture;

beforeEach(async () => {
  fixture = await makeWorkspaceFixture();
});
afterEach(() => fixture.dispose());

async function pathOf(identifier: string): Promise<string> {
  return (await fixture.prepare(makeIssue(identifier))).record.path;
}

function invalidCwd(reason: string): object {
  return { code: "invalid_workspace_cwd", data: { reason } };
}

describe("17.2", () => {
  it("an identifier always has the same path, directly inside the root", async () => {
    const path = await pathOf("ENG-7");
    expect(path).toBe(join(fixture.root, "ENG-7"));
    expect(await pathOf("ENG-7")).toBe(path);
  });

  it("an identifier is sanitized before it becomes a path", async () => {
    const path = await pathOf("../../etc/pass wd");
    expect(dirname(path)).toBe(fixture.root);
    expect(basename(path)).toMatch(/^[A-Za-z0-9._-]+$/);
    expect(basename(path)).toMatch(/^\.\._\.\._etc_pass_wd/);
  });

  it("a missing directory is created", async () => {
    expect(existsSync(fixture.root)).toBe(false);
    const { created, record } = await fixture.prepare(ISSUE);
    expect(created).toBe(true);
    expect((await stat(record.path)).isDirectory()).toBe(true);
  });

  it("an existing directory is used again, with what is in it", async () => {
    const { record } = await fixture.prepare(ISSUE);
    await writeFile(join(record.path, "work"), "half done");
    const again = await fixture.prepare(ISSUE);
    expect(again).toMatchObject({ created: false, record: { path: record.path } });
    expect(await readFile(join(record.path, "work"), "utf8")).toBe("half done");
  });

  it("something else at the path fails the run and is left alone", async () => {
    await mkdir(fixture.root);
    await writeFile(join(fixture.root, "ENG-7"), "precious");
    await expect(fixture.prepare(ISSUE)).rejects.toMatchObject({ code: "workspace_not_a_directory" });
    expect(await readFile(join(fixture.root, "ENG-7"), "utf8")).toBe("precious");
  });

  it("a path outside the root is refused before the agent starts", async () => {
    const { record } = await fixture.prepare(ISSUE);
    const verify = (path: string): Promise<void> => fixture.workspaces.verify(path, fixture.root, record);
    await expect(verify(fixture.dir)).rejects.toMatchObject(invalidCwd("outside_root"));
    await expect(verify(fixture.root)).rejects.toMatchObject(invalidCwd("is_root"));
    await verify(record.path);
  });

  it("identifiers that sanitize alike have different paths", async () => {
    const paths = await Promise.all(["A/1", "A 1", "A_1", "A:1"].map(pathOf));
    expect(new Set(paths).size).toBe(paths.length);
    expect(basename(paths[0] ?? "")).toMatch(/^A_1-[0-9a-f]{16}$/);
    expect(basename(paths[2] ?? "")).toBe("A_1");
  });

  it("an identifier that is no name for a directory is refused", () => {
    for (const name of ["", ".", ".."]) {
      expect(() => workspaceKey(name)).toThrow(expect.objectContaining({ code: "workspace_key_invalid" }));
    }
  });

  it("a link out of the root is refused, when preparing, before the agent starts and when removing", async () => {
    const { record } = await fixture.prepare(ISSUE);
    const elsewhere = join(fixture.dir, "elsewhere");
    await rename(record.path, elsewhere);
    await symlink(elsewhere, record.path);
    const refusal = invalidCwd("link_outside_root");
    await expect(fixture.prepare(ISSUE)).rejects.toMatchObject(refusal);
    await expect(fixture.workspaces.verify(record.path, fixture.root, record)).rejects.toMatchObject(refusal);
    await expect(fixture.remove(record)).rejects.toMatchObject(refusal);
    expect(existsSync(elsewhere)).toBe(true);
  });

  it("a workspace of another issue or of another daemon is never touched", async () => {
    const { record } = await fixture.prepare(ISSUE, {}, fixture.daemon("another-ledger"));
    await writeFile(join(record.path, "work"), "theirs");
    await expect(fixture.prepare(ISSUE)).rejects.toMatchObject({ code: "workspace_foreign" });
    expect(await fixture.remove(record)).toBe("kept");
    expect(existsSync(join(record.path, "work"))).toBe(true);

    await fixture.prepare(makeIssue("ENG-8"));
    const reused = makeIssue("ENG-8", { id: issueId("another") });
    await expect(fixture.prepare(reused)).rejects.toMatchObject({ code: "workspace_key_taken" });
  });
});
