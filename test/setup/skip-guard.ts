/** Fails a whole run in which a test was skipped, narrowed out or only planned: green must mean that everything ran. */
import type { Reporter, TestCase, Vitest } from "vitest/node";

/** A run that was narrowed by name on the command line is somebody at work on one test, and is left alone. */
export class SkipGuard implements Reporter {
  #narrowed = false;
  readonly #skipped: string[] = [];

  onInit(vitest: Vitest): void {
    this.#narrowed = vitest.config.testNamePattern !== undefined;
  }

  onTestRunStart(): void {
    this.#skipped.length = 0;
  }

  onTestCaseResult(testCase: TestCase): void {
    if (testCase.result().state === "skipped") {
      this.#skipped.push(`${testCase.module.relativeModuleId}: ${testCase.fullName}`);
    }
  }

  onTestRunEnd(): void {
    if (this.#narrowed || this.#skipped.length === 0) return;
    process.exitCode = 1;
    process.stderr.write(`\nSkipped tests fail the run:\n${this.#skipped.map((name) => `  ${name}\n`).join("")}`);
  }
}
