/** `npm run check`: types, lint, format and dead code; runs them all, and ends by naming what failed. */
import { spawnSync } from "node:child_process";

const STEPS: Readonly<Record<string, readonly [command: string, ...args: string[]]>> = {
  types: ["tsc", "-p", "."],
  "types of the dashboard": ["tsc", "-p", "src/dashboard"],
  "types of its tests": ["tsc", "-p", "test/browser"],
  lint: ["oxlint"],
  format: ["prettier", "--check", "--log-level", "warn", "."],
  "dead code": ["knip"],
};

const failed: string[] = [];
for (const [name, [command, ...args]] of Object.entries(STEPS)) {
  process.stdout.write(`check: ${name} (${[command, ...args].join(" ")})\n`);
  const { status, error } = spawnSync(command, args, { stdio: "inherit" });
  if (error !== undefined) process.stderr.write(`${command}: ${error.message}\n`);
  if (status !== 0) failed.push(name);
}
if (failed.length > 0) {
  process.stderr.write(`check failed: ${failed.join(", ")}\n`);
  process.exitCode = 1;
} else {
  process.stdout.write("check passed\n");
}
