import { existsSync } from "node:fs";
import { mkdir, rename, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from "vitest";
import { gitIn } from "../../test/support/git.ts";
import { makeTemplate, SalvageBench, UNCOMMITTED } from "../../test/support/salvage.ts";
import type { TempDir } from "../../test/support/temp-dir.ts";

let template: TempDir;
let bench: SalvageBench;

beforeAll(async () => {
  template = await makeTemplate();
});
afterAll(() => template.dispose());
beforeEach(async () => {
  bench = await SalvageBench.make(template);
});
afterEach(() => bench[Symbol.asyncDispose]());

describe("a hostile repository", () => {
  it("gets none of its programs run", async () => {
    const flag = join(bench.dir, "ran");
    const program = join(bench.dir, "program");
    await writeFile(program, `#!/bin/sh\ntouch ${flag}\ncat\n`, { mode: 0o755 });
    for (const key of [
      "core.fsmonitor",
      "core.sshCommand",
      "core.pager",
      "core.editor",
      "diff.external",
      "diff.evil.textconv",
      "diff.evil.command",
      "filter.evil.clean",
      "filter.evil.process",
      "gpg.program",
      "merge.evil.driver",
      "core.alternateRefsCommand",
      "uploadpack.packObjectsHook",
      "alias.write-tree",
    ]) {
      bench.git("config", key, key.startsWith("alias.") ? `!${program}` : program);
    }
    bench.git("config", "filter.evil.required", "true");
    bench.git("config", "commit.gpgSign", "true");
    await bench.put(".gitattributes", "* filter=evil diff=evil\n");
    await mkdir(join(bench.work, ".git", "hooks"), { recursive: true });
    for (const hook of ["post-index-change", "reference-transaction", "pre-commit", "post-commit"]) {
      await writeFile(join(bench.work, ".git", "hooks", hook), `#!/bin/sh\ntouch ${flag}\n`, { mode: 0o755 });
    }
    await bench.put("a.txt", "changed\n");
    await bench.save();
    expect(existsSync(flag)).toBe(false);
    expect(gitIn(bench.restored(), "show", `${UNCOMMITTED}:a.txt`)).toBe("changed");
  });
});

describe("what can't be saved", () => {
  it("is said, with the mend, and nothing half is left", async () => {
    await bench.put("a.txt", "changed\n");
    await rename(join(bench.work, ".git", "HEAD"), join(bench.work, ".git", "HEAD.lost"));
    await expect(bench.save()).rejects.toMatchObject({
      code: "workspace_salvage_failed",
      message: expect.stringMatching(
        /^the work in \S+ can't be saved, so it stays: git rev-parse: .*; save what you need/,
      ),
    });
    expect(bench.files()).toEqual([]);
  });

  it("ends with the signal's reason, and nothing half is left", async () => {
    await bench.put("a.txt", "changed\n");
    const stop = new AbortController();
    const saving = bench.save({ signal: stop.signal });
    stop.abort(new Error("the daemon stops"));
    await expect(saving).rejects.toThrow("the daemon stops");
    expect(bench.files()).toEqual([]);
  });
});
