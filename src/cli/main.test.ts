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
