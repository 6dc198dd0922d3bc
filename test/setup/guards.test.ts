/** The guards of the test run are tested by runs that have to fail. */
import { execFile } from "node:child_process";
import { existsSync } from "node:fs";
import { readFile, symlink, writeFile } from "node:fs/promises";
import { join, resolve } from "node:path";
import { afterEach, beforeEach, expect, test } from "vitest";
import { makeTempDir, type TempDir } from "../support/temp-dir.ts";
import { until } from "../support/until.ts";

const ROOT = resolve(import.meta.dirname, "../..");

const CONFIG = `
import { SkipGuard } from "${ROOT}/test/setup/skip-guard.ts";
export default { test: { globalSetup: ["${ROOT}/test/setup/leak-guard.ts"], reporters: [new SkipGuard()] } };
`;

let project: TempDir;

beforeEach(async () => {
  project = await makeTempDir();
  await symlink(join(ROOT, "node_modules"), join(project.path, "node_modules"));
  await writeFile(join(project.path, "vitest.config.ts"), CONFIG);
});

afterEach(async () => {
  await project.dispose();
});

/** Runs vitest on one test file with the given body. */
async function runTests(body: string, ...options: string[]): Promise<{ code: number; output: string }> {
  await writeFile(join(project.path, "some.test.ts"), `import { test } from "vitest";\n${body}`);
  const vitest = join(ROOT, "node_modules/vitest/vitest.mjs");
  const args = [vitest, "run", "--root", project.path, ...options];
  return new Promise((done) => {
    execFile(process.execPath, args, { cwd: project.path }, (error, stdout, stderr) => {
      done({ code: typeof error?.code === "number" ? error.code : 0, output: stdout + stderr });
    });
  });
}

test("a run in which everything ran and nothing is left passes", async () => {
  expect(await runTests(`test("fine", () => {});`)).toMatchObject({ code: 0 });
});

test("a run that was narrowed by name may leave the other tests out", async () => {
  const body = `test("this one", () => {});\ntest("that one", () => {});`;
  expect(await runTests(body, "-t", "this one")).toMatchObject({ code: 0 });
});

test("skipped and planned tests fail the run, each by name", async () => {
  const { code, output } = await runTests(`
    test("fine", () => {});
    test.skip("skipped", () => {});
    test.todo("planned");
    test("skipped from inside", (context) => context.skip());`);
  for (const name of ["skipped", "planned", "skipped from inside"]) expect(output).toContain(`some.test.ts: ${name}\n`);
  expect(output).not.toContain("some.test.ts: fine");
  expect(code).toBe(1);
});

test("a process and a temporary file that a test leaves behind fail the run, and are removed", async () => {
  const pidFile = join(project.path, "pid");
  const { code, output } = await runTests(`
    import { spawn } from "node:child_process";
    import { mkdtempSync, writeFileSync } from "node:fs";
    import { tmpdir } from "node:os";
    test("forgetful", () => {
      const child = spawn("sleep", ["600"], { detached: true, stdio: "ignore" });
      child.unref();
      writeFileSync(${JSON.stringify(pidFile)}, String(child.pid));
      mkdtempSync(tmpdir() + "/forgotten-");
    });`);
  const pid = Number(await readFile(pidFile, "utf8"));
  expect(output).toContain(`process ${pid}: sleep 600`);
  const folder = /file (.*\/forgotten-\w+)/.exec(output)?.[1] ?? "";
  expect(folder).not.toBe("");
  expect(code).toBe(1);
  expect(existsSync(folder)).toBe(false);
  await until(`process ${pid} is gone`, () => !existsSync(`/proc/${pid}/exe`));
});
