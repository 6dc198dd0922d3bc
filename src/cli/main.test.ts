import { mkdir } from "node:fs/promises";
import { join } from "node:path";

import { afterEach, beforeEach, describe, expect, test } from "vitest";

import { runProgram, type ProgramUser, type Said } from "../../test/support/program.ts";
import { makeTempDir, type TempDir } from "../../test/support/temp-dir.ts";

let temp: TempDir;
let user: ProgramUser;

beforeEach(async () => {
  temp = await makeTempDir();
  user = { dir: join(temp.path, "work"), home: join(temp.path, "home"), tmp: join(temp.path, "tmp") };
  for (const dir of [user.dir, user.home, user.tmp]) await mkdir(dir);
});
afterEach(() => temp.dispose());

function run(...args: readonly string[]): Promise<Said> {
  return runProgram(user, args);
}

describe("an option that both the program and a command take", () => {
  test("counts where it was given", async () => {
    expect((await run("--state-dir", "outer", "runs")).stderr).toContain("outer/ledger.db");
    expect((await run("runs", "--state-dir", "inner")).stderr).toContain("inner/ledger.db");
  });

  test("given twice, counts as it was given to the command", async () => {
    for (const command of ["runs", "usage"]) {
      const { code, stderr } = await run("--state-dir", "outer", command, "--state-dir", "inner");
      expect(code).toBe(1);
      expect(stderr).toContain("inner/ledger.db");
      expect(stderr).not.toContain("outer");
    }
  });
});

describe("a word that is neither a command nor a file", () => {
  test("is taken for a typing error, with a guess where there is a near command", async () => {
    const near = await run("statsu");
    expect([near.code, near.stdout]).toEqual([2, ""]);
    expect(near.stderr).toMatch(/^symphony: there is no command statsu, .*did you mean status\? .*\n$/);
    expect((await run("frobnicate")).stderr).not.toContain("did you mean");
  });

  test("with an ending or a folder it is a workflow file that isn't there", async () => {
    for (const file of ["other.md", "./other"]) {
      const { code, stderr } = await run(file);
      expect(code).toBe(1);
      expect(stderr).toContain("there is no such file");
    }
  });
});
