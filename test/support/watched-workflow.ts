/** A WORKFLOW.md under a real watcher and a clock of the test's own, with everything that the watcher tells. */
import { join } from "node:path";

import { WorkflowWatcher, type WorkflowWatcherDeps } from "../../src/workflow/reload.ts";
import { captureLog, type CapturedLog } from "./captured-log.ts";
import { ManualClock } from "./manual-clock.ts";
import { makeTempDir, type TempDir } from "./temp-dir.ts";
import { until } from "./until.ts";
import { loadOptions, workflowText, writeWorkflow } from "./workflow-files.ts";

/** How long a changed file must stay as it is. */
const SETTLE_MS = 100;

interface ErrorLine {
  readonly level: number;
  readonly msg: string;
  readonly error: string;
  readonly code: string;
}

/** A file that polls every `interval` milliseconds. */
export function polling(interval: number | string, body = "Work."): string {
  return workflowText(`polling: {interval_ms: ${interval}}`, body);
}

/** Made by {@link watchWorkflow}; disposing it stops the watcher and removes the folder. */
export class WatchedWorkflow implements AsyncDisposable {
  readonly dir: TempDir;
  readonly path: string;
  readonly clock = new ManualClock();
  readonly log: CapturedLog = captureLog();
  /** `change <interval>`, `broken <message without the folder>` and `mended`, in order. */
  readonly heard: string[] = [];
  watcher: WorkflowWatcher;

  constructor(dir: TempDir) {
    this.dir = dir;
    this.path = join(dir.path, "WORKFLOW.md");
    this.watcher = this.make();
  }

  /** Another watcher of the same file, heard as well. */
  make(overrides: Partial<WorkflowWatcherDeps> = {}): WorkflowWatcher {
    const { path, clock, heard } = this;
    const made = new WorkflowWatcher({
      ...loadOptions({ ROOT: "/srv" }),
      path,
      clock,
      log: this.log.log,
      ...overrides,
    });
    made.observe({
      onChange: (settings) => heard.push(`change ${settings.polling.intervalMs}`),
      onBroken: (message) => heard.push(`broken ${message.replaceAll(`${this.dir.path}/`, "")}`),
      onMended: () => heard.push("mended"),
    });
    return made;
  }

  /** Stops the watcher and starts one that is made otherwise. */
  async replace(overrides: Partial<WorkflowWatcherDeps>): Promise<void> {
    await this.watcher.stop();
    this.watcher = this.make(overrides);
    await this.watcher.start();
  }

  write(content: string): void {
    writeWorkflow(this.dir.path, content);
  }

  /** Lets time pass, with the real reads in between, until `condition` holds. */
  async passUntil(what: string, condition: () => boolean): Promise<void> {
    await until(what, async () => {
      await this.clock.advance(100);
      return condition();
    });
  }

  /** Asks for a look, and lets time pass only for the file to settle: however slow the disk is, nothing else falls due. */
  async check(): Promise<void> {
    const { clock } = this;
    let isDone = false;
    const done = this.watcher.checkNow().then(() => (isDone = true));
    await until("the look is over", async () => {
      const wait = (clock.nextDueAt() ?? Infinity) - clock.now();
      if (!isDone && wait <= SETTLE_MS) await clock.advance(wait);
      return isDone;
    });
    await done;
  }

  /** Three seconds of looking; answers how much was heard meanwhile. */
  async heardIdly(): Promise<number> {
    const before = this.heard.length;
    for (let poll = 0; poll < 3; poll += 1) {
      await this.clock.advance(1000);
      await this.check();
    }
    return this.heard.length - before;
  }

  errors(): readonly ErrorLine[] {
    return this.log
      .lines()
      .map((line) => JSON.parse(line) as ErrorLine)
      .filter((line) => line.level >= 50);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.watcher.stop();
    await this.dir.dispose();
  }
}

/** Writes a first good file and starts to watch it. */
export async function watchWorkflow(): Promise<WatchedWorkflow> {
  const watched = new WatchedWorkflow(await makeTempDir());
  watched.write(polling(1));
  await watched.watcher.start();
  return watched;
}
