/** The package as users get it: built from the sources that are here now, into a temporary folder. */
import { execFileSync } from "node:child_process";
import { cpSync, mkdtempSync, realpathSync, rmSync, symlinkSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";

const ROOT = fileURLToPath(new URL("../", import.meta.url));

let built: string | null = null;

/** The package's folder; made once, and removed when this process ends. */
export function builtPackage(): string {
  if (built !== null) return built;
  const dir = mkdtempSync(join(realpathSync(tmpdir()), "symphony-package-"));
  process.once("exit", () => rmSync(dir, { recursive: true, force: true }));
  const build = join(ROOT, "scripts", "build-package.ts");
  execFileSync(process.execPath, [build, join(dir, "dist")], { stdio: "inherit" });
  for (const name of ["package.json", "migrations"]) cpSync(join(ROOT, name), join(dir, name), { recursive: true });
  symlinkSync(join(ROOT, "node_modules"), join(dir, "node_modules"));
  built = dir;
  return dir;
}
