/** `npm run mutations`: turns each decisive condition of the scheduler around in a copy of the tree, and shows that the tests notice. */
import { execFileSync, spawnSync } from "node:child_process";
import { cpSync, mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import { MUTATIONS, type Mutation } from "./mutations.ts";

const ROOT = resolve(import.meta.dirname, "..");
const COPIED = ["src", "test", "scripts", "package.json", "tsconfig.json", "vitest.config.ts"];

/** The suites in the order in which they are asked: the quick one first. */
const SUITES = ["src/scheduler", "test/simulation"];

/** Many times what a suite takes: a change after which it never ends has been noticed too. */
const TIME_LIMIT_S = 120;

function notices(tree: string, suite: string): boolean {
  const vitest = [join(ROOT, "node_modules/.bin/vitest"), "run", "--project", "unit", "--bail", "1", suite];
  // A test that loops hears nothing: timeout ends the whole process group.
  return (
    spawnSync("timeout", ["--kill-after=5", `${TIME_LIMIT_S}`, ...vitest], { cwd: tree, stdio: "ignore" }).status !== 0
  );
}

/** Applies one change, asks the suites, and takes it back. Answers the suite that noticed, or null. */
function noticedBy(tree: string, mutation: Mutation): string | null {
  const file = join(tree, "src/scheduler", mutation.file);
  const before = readFileSync(file, "utf8");
  if (before.split(mutation.from).length !== 2) {
    throw new Error(`${mutation.file}: this text must stand there exactly once: ${mutation.from}`);
  }
  writeFileSync(
    file,
    before.replace(mutation.from, () => mutation.to),
  );
  try {
    return SUITES.find((suite) => notices(tree, suite)) ?? null;
  } finally {
    writeFileSync(file, before);
  }
}

const tree = mkdtempSync(join(tmpdir(), "symphony-mutations-"));
try {
  for (const name of COPIED) cpSync(join(ROOT, name), join(tree, name), { recursive: true });
  symlinkSync(join(ROOT, "node_modules"), join(tree, "node_modules"));
  if (SUITES.some((suite) => notices(tree, suite))) throw new Error("the suites fail without any change");
  const rows: string[] = [];
  let missed = 0;
  for (const mutation of MUTATIONS) {
    const suite = noticedBy(tree, mutation);
    if (suite === null) missed += 1;
    rows.push(`| ${mutation.file} | ${mutation.what} | ${suite ?? "**nobody**"} |`);
    process.stdout.write(`${rows.at(-1) ?? ""}\n`);
  }
  const revision = execFileSync("git", ["rev-parse", "--short", "HEAD"], { cwd: ROOT, encoding: "utf8" }).trim();
  process.stdout.write(`${MUTATIONS.length} changes at ${revision}, ${missed} unnoticed\n`);
  process.exitCode = missed === 0 ? 0 : 1;
} finally {
  rmSync(tree, { recursive: true, force: true });
}
