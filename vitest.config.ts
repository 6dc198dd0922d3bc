/** Test projects: the everyday suite, and three that need more than Node (the real agent, a browser, patience). */
import { availableParallelism } from "node:os";
import { defineConfig } from "vitest/config";
import { SkipGuard } from "./test/setup/skip-guard.ts";

/** Suites that have a command of their own, each a folder under test/. */
const APART = ["codex", "browser", "chaos"] as const;

/** Far beyond what any of them takes on an idle machine: a time limit is there to end a hang, not to judge speed. */
const UNIT_TIMEOUT_MS = 120_000;
const APART_TIMEOUT_MS = 240_000;

const shared = {
  environment: "node",
  globalSetup: ["test/setup/leak-guard.ts"],
  restoreMocks: true,
  unstubEnvs: true,
};

export default defineConfig({
  test: {
    // More workers than processors: many tests wait for processes of their own, for graces and for deadlines.
    maxWorkers: Math.max(3, availableParallelism()),
    allowOnly: false,
    reporters: ["default", new SkipGuard()],
    experimental: { diagnostics: { isolate: false } },
    projects: [
      {
        test: {
          ...shared,
          name: "unit",
          // A worker for each of a hundred files would cost more than the tests; none of them changes what it imports.
          isolate: false,
          include: ["src/**/*.test.ts", "test/**/*.test.ts", "scripts/**/*.test.ts"],
          exclude: APART.map((name) => `test/${name}/**`),
          testTimeout: UNIT_TIMEOUT_MS,
          hookTimeout: UNIT_TIMEOUT_MS,
        },
      },
      ...APART.map((name) => ({
        test: {
          ...shared,
          name,
          include: [`test/${name}/**/*.test.ts`],
          fileParallelism: false,
          testTimeout: APART_TIMEOUT_MS,
          hookTimeout: APART_TIMEOUT_MS,
        },
      })),
    ],
  },
});
