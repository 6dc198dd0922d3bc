import { mkdir, symlink, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { makeTempDir, type TempDir } from "../../../test/support/temp-dir.ts";
import { readAgentsMd } from "./agents-md.ts";

let dir: TempDir;
let workspace: string;

beforeEach(async () => {
  dir = await makeTempDir();
  workspace = join(dir.path, "work");
  await mkdir(workspace);
});

afterEach(() => dir.dispose());

describe("a repository's instructions", () => {
  it("are read from AGENTS.md, or from its override", async () => {
    expect(await readAgentsMd(workspace)).toBeNull();
    await writeFile(join(workspace, "AGENTS.md"), "Use tabs.\n\nAnd tests.\n");
    const opening = "The repository's own instructions (AGENTS.md):\n\n";
    expect(await readAgentsMd(workspace)).toBe(`${opening}Use tabs.\n\nAnd tests.`);
    await writeFile(join(workspace, "AGENTS.override.md"), "Use spaces.");
    expect(await readAgentsMd(workspace)).toBe(`${opening}Use spaces.`);
    await writeFile(join(workspace, "AGENTS.override.md"), "  \n");
    expect(await readAgentsMd(workspace)).toContain("Use tabs.");
  });

  it("are cut at the app-server's own limit, between characters", async () => {
    await writeFile(join(workspace, "AGENTS.md"), `x${"é".repeat(100_000)}`);
    const text = (await readAgentsMd(workspace)) ?? "";
    expect(text.length).toBeLessThan(17_000);
    expect(text).toMatch(/é$/);
  });

  it("may be a link inside the repository, and are never a file outside of it", async () => {
    await writeFile(join(workspace, "CLAUDE.md"), "Be kind.");
    await symlink("CLAUDE.md", join(workspace, "AGENTS.md"));
    expect(await readAgentsMd(workspace)).toContain("Be kind.");
    await writeFile(join(dir.path, "id_rsa"), "a private key");
    await symlink("../id_rsa", join(workspace, "AGENTS.override.md"));
    expect(await readAgentsMd(workspace)).not.toContain("private");
  });

  it("are none where the name is a directory's", async () => {
    await mkdir(join(workspace, "AGENTS.md"));
    expect(await readAgentsMd(workspace)).toBeNull();
  });
});
