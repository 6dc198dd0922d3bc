import { mkdir, readdir, realpath, stat, symlink, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { makeSettings } from "../../../test/support/issues.ts";
import { makeTempDir, type TempDir } from "../../../test/support/temp-dir.ts";
import { makeOwnTemp, removeOwnTemp } from "./own-temp.ts";

let dir: TempDir;
let workspace: string;

beforeEach(async () => {
  dir = await makeTempDir();
  workspace = join(await realpath(dir.path), "root", "T-1");
  await mkdir(workspace, { recursive: true });
});

afterEach(() => dir.dispose());

describe("a session's own temporary folder", () => {
  it("is there where the workspaces lie in TMPDIR: beside them, private, and empty at each start", async () => {
    const env = { TMPDIR: dir.path };
    const path = await makeOwnTemp(makeSettings(), workspace, env);
    expect(path).toBe(join(workspace, "..", ".symphony", "tmp", "T-1"));
    expect((await stat(path ?? "")).mode & 0o777).toBe(0o700);
    await writeFile(join(path ?? "", "left over"), "");
    await makeOwnTemp(makeSettings(), workspace, env);
    expect(await readdir(path ?? "")).toEqual([]);
    await removeOwnTemp(path ?? "");
    expect(await readdir(join(workspace, "..", ".symphony", "tmp"))).toEqual([]);
  });

  it("is there where TMPDIR leads to the workspaces by a link, and where codex.env sets it", async () => {
    const link = join(dir.path, "link");
    await symlink(join(workspace, ".."), link);
    const settings = makeSettings({ codex: { env: { TMPDIR: link } } });
    expect(await makeOwnTemp(settings, workspace, { TMPDIR: "/nowhere" })).not.toBeNull();
  });

  it("isn't needed where the workspaces lie elsewhere, in a folder whose name only begins like it too", async () => {
    expect(await makeOwnTemp(makeSettings(), "/srv/trees/T-1", { TMPDIR: "/srv/tree" })).toBeNull();
    expect(await makeOwnTemp(makeSettings(), "/tmpfiles/T-1", {})).toBeNull();
  });

  it.each([
    { turnSandboxPolicy: { type: "workspaceWrite" } },
    { threadSandbox: "read-only" },
    { threadSandbox: "danger-full-access" },
  ])("isn't made where the policy is none that it could join: %j", async (codex) => {
    expect(await makeOwnTemp(makeSettings({ codex }), workspace, { TMPDIR: dir.path })).toBeNull();
  });
});
