/** Dead code: files, exports and dependencies that nothing reaches. Tests and configuration files are found by knip itself. */
import type { KnipConfig } from "knip";

const config: KnipConfig = {
  // What is started as a process of its own, and so imported by nobody.
  entry: [
    "src/cli/bin.ts",
    "src/agent/simulated/main.ts",
    "src/dashboard/main.tsx",
    "{test,bench}/**/main.ts",
    "test/fakes/*.ts",
    "scripts/*.{ts,mjs}",
  ],
  project: ["**/*.{ts,tsx,mjs}"],
  // Programs of the system that are run by name.
  ignoreBinaries: ["mkfifo", "mount", "umount", "systemd-notify"],
  // Started by scripts/check-deploy.ts, in a way that can't be seen.
  ignoreDependencies: ["publint"],
  // A type beside the function that takes it is documentation, whether or not somebody else names it.
  ignoreExportsUsedInFile: { interface: true, type: true },
};

export default config;
