/** Compiles the dashboard for browsers into dist/dashboard/, with the files beside its sources that need no compiler. */
import { spawnSync } from "node:child_process";
import { cpSync, mkdirSync, rmSync } from "node:fs";
import { join, resolve } from "node:path";

const ROOT = resolve(import.meta.dirname, "..");
/** The compiler also writes what the dashboard takes types from; only the dashboard's own modules go on. */
const COMPILED = join(ROOT, ".cache", "dashboard");
const TARGET = join(ROOT, "dist", "dashboard");

rmSync(COMPILED, { recursive: true, force: true });
const { status, error } = spawnSync("tsc", ["-p", "tsconfig.dashboard.json"], { cwd: ROOT, stdio: "inherit" });
if (error !== undefined) process.stderr.write(`tsc: ${error.message}\n`);
if (status === 0) {
  rmSync(TARGET, { recursive: true, force: true });
  mkdirSync(TARGET, { recursive: true });
  cpSync(join(COMPILED, "dashboard"), TARGET, { recursive: true });
  for (const name of ["index.html", "style.css", "icon.svg"]) {
    cpSync(join(ROOT, "src", "dashboard", name), join(TARGET, name));
  }
}
process.exitCode = status ?? 1;
