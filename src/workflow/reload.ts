/** Live reload: keeps the newest good WORKFLOW.md in force, and says so when the file on disk is a worse one. */
import { resolve } from "node:path";

import { errorMessage, isAppError } from "../domain/errors.ts";
import type { Settings } from "../domain/settings.ts";
import type { Clock, Timer } from "../lib/clock.ts";
import type { Log } from "../lib/log.ts";
import type { Service } from "../lib/service.ts";
import { loadWorkflow, parseWorkflow, type LoadedWorkflow, type LoadOptions } from "./load.ts";
import type { PromptTemplate } from "./template.ts";
import { revisionOf, sightWorkflowFile, stampOf } from "./workflow-file.ts";

/** The revision in force. */
export interface AppliedWorkflow {
  readonly settings: Settings;
  readonly prompt: PromptTemplate;
  /** Names the file's content. */
  readonly revision: string;
  /** Epoch ms. */
  readonly loadedAt: number;
}

/** Why the file on disk is not in force. */
export interface WorkflowFault {
  readonly message: string;
  /** Epoch ms of its first sight. */
  readonly at: number;
}

/** Called synchronously; must not throw. `current()` already has the new revision. */
export interface WorkflowListener {
  onChange?(settings: Settings): void;
  /** The file can't be used as it is; the last good revision stays in force. Called for each distinct message. */
  onBroken?(message: string): void;
  /** What is on disk is in force again. */
  onMended?(): void;
}

export interface WorkflowWatcherDeps extends LoadOptions {
  readonly path: string;
  readonly clock: Clock;
  readonly log: Log;
  /** A last say about a revision that has passed every check, such as building its tracker; a rejection breaks it. */
  admit?(settings: Settings): Promise<void>;
}

/** fs.watch goes deaf after an atomic rename, and misses network file systems; section 6.2 asks for about a second. */
const POLL_MS = 1000;
/** A changed file must look the same twice, this far apart: editors that write in place show half of it in between. */
const SETTLE_MS = 100;
/** A file that never stops changing is read as it is. */
const SETTLE_LOOKS = 20;
/** A dispatch doesn't wait longer for a slow disk; the look itself goes on. */
const CHECK_WAIT_MS = 2000;

/** One look at the file: its bytes, or why there are none. `content` is the same for two looks that saw the same. */
interface Look {
  readonly content: string;
  readonly stamp: string;
  readonly bytes: Uint8Array | null;
  readonly error: unknown;
}

/**
 * States: not loaded (only {@link load} or {@link start} leaves it), good (`lastError` null), broken (a fault, and the last good
 * revision still in force). A look moves good to broken when the content on disk is refused, and broken to good when it passes, or
 * is the one in force. Looks run one after the other.
 */
export class WorkflowWatcher implements Service {
  readonly #deps: WorkflowWatcherDeps;
  readonly #path: string;
  readonly #listeners = new Set<WorkflowListener>();
  readonly #abort = new AbortController();
  readonly #logged = new Set<string>();
  #applied: AppliedWorkflow | null = null;
  #fault: WorkflowFault | null = null;
  #stamp: string | null = null;
  #timer: Timer | null = null;
  #looks: Promise<void> = Promise.resolve();
  #isStarted = false;

  constructor(deps: WorkflowWatcherDeps) {
    this.#deps = deps;
    this.#path = resolve(deps.path);
  }

  /** Reads the file for the first time and puts it in force. Throws what `loadWorkflow` throws. */
  load(): AppliedWorkflow {
    return (this.#applied ??= this.#accept(loadWorkflow(this.#path, this.#deps)));
  }

  /** The revision in force. Throws before the first load. */
  current(): AppliedWorkflow {
    if (this.#applied === null) throw new Error("the workflow has not been loaded");
    return this.#applied;
  }

  /** Null while what is on disk is in force. */
  get lastError(): WorkflowFault | null {
    return this.#fault;
  }

  /** Adds a listener; the answer removes it. */
  observe(listener: WorkflowListener): () => void {
    this.#listeners.add(listener);
    return () => this.#listeners.delete(listener);
  }

  /** Loads the file unless that is done, and looks at it once a second from then on. */
  async start(): Promise<void> {
    this.load();
    if (this.#isStarted || this.#abort.signal.aborted) return;
    this.#isStarted = true;
    this.#arm();
  }

  async stop(): Promise<void> {
    this.#timer?.cancel();
    this.#abort.abort(new Error("the workflow watcher has stopped"));
    await this.#waitFor(this.#looks);
  }

  /**
   * Looks at the file before a dispatch; a change made before the call is in force (or refused) when it resolves. Reads only when the
   * file's stat has changed. Resolves after {@link CHECK_WAIT_MS} at the latest, and never rejects.
   */
  async checkNow(): Promise<void> {
    await this.#waitFor(this.#enqueue(() => this.#lookIfTouched()));
  }

  #arm(): void {
    if (this.#abort.signal.aborted) return;
    this.#timer = this.#deps.clock.setTimer(POLL_MS, () => {
      // Reads and hashes: a stat alone misses edits within the file system's own time step.
      void this.#enqueue(() => this.#look()).then(() => this.#arm());
    });
  }

  #enqueue(look: () => Promise<void>): Promise<void> {
    this.#looks = this.#looks.then(look).catch((error: unknown) => {
      if (!this.#abort.signal.aborted) this.#deps.log.error({ err: error }, "looking at the workflow file failed");
    });
    return this.#looks;
  }

  async #waitFor(work: Promise<void>): Promise<void> {
    const enough = new AbortController();
    const limit = this.#deps.clock.sleep(CHECK_WAIT_MS, enough.signal).catch(() => undefined);
    await Promise.race([work, limit]);
    enough.abort();
  }

  /** A broken file is always read: what was wrong may have been around it, such as a folder that wasn't there. */
  async #lookIfTouched(): Promise<void> {
    if (this.#fault === null && (await stampOf(this.#path)) === this.#stamp) return;
    await this.#look();
  }

  async #look(): Promise<void> {
    if (this.#abort.signal.aborted) return;
    const look = await this.#settled();
    if (this.#abort.signal.aborted) return;
    this.#stamp = look.stamp;
    if (look.content === this.#applied?.revision) this.#mend();
    else await this.#judge(look);
  }

  /** The file once it has stopped changing. Content that is known already needs no second look. */
  async #settled(): Promise<Look> {
    let look = await this.#see();
    for (let looks = 1; looks < SETTLE_LOOKS; looks += 1) {
      if (look.content === this.#applied?.revision || this.#logged.has(look.content)) return look;
      await this.#deps.clock.sleep(SETTLE_MS, this.#abort.signal);
      const again = await this.#see();
      if (again.content === look.content) return again;
      look = again;
    }
    return look;
  }

  async #see(): Promise<Look> {
    try {
      const { stamp, bytes } = await sightWorkflowFile(this.#path);
      return { content: revisionOf(bytes), stamp, bytes, error: null };
    } catch (error) {
      return { content: errorMessage(error), stamp: await stampOf(this.#path), bytes: null, error };
    }
  }

  async #judge(look: Look): Promise<void> {
    try {
      if (look.bytes === null) throw look.error;
      const loaded = parseWorkflow(this.#path, look.bytes, this.#deps);
      await this.#deps.admit?.(loaded.settings);
      if (this.#abort.signal.aborted) return;
      this.#applied = this.#accept(loaded);
    } catch (error) {
      this.#breakWith(error, look.content);
      return;
    }
    const { settings, revision } = this.#applied;
    this.#deps.log.info({ workflow: this.#path, revision }, "workflow reloaded");
    for (const listener of this.#listeners) listener.onChange?.(settings);
    this.#mend();
  }

  #accept({ settings, prompt, warnings }: LoadedWorkflow): AppliedWorkflow {
    for (const warning of warnings) this.#deps.log.warn({ workflow: this.#path, warning }, "workflow warning");
    return { settings, prompt, revision: settings.revision, loadedAt: this.#deps.clock.now() };
  }

  #breakWith(error: unknown, content: string): void {
    const message = errorMessage(error);
    // One line per distinct content, however often the file goes to and fro; another reason for the same content is news too.
    const news = `${content} ${message}`;
    if (!this.#logged.has(news)) {
      const fields = { workflow: this.#path, code: isAppError(error) ? error.code : "internal", error: message };
      this.#deps.log.error(fields, "workflow refused; the last good one stays in force and nothing new starts");
    }
    this.#logged.add(content).add(news);
    if (this.#fault?.message === message) return;
    this.#fault = { message, at: this.#deps.clock.now() };
    for (const listener of this.#listeners) listener.onBroken?.(message);
  }

  #mend(): void {
    if (this.#fault === null) return;
    this.#fault = null;
    this.#logged.clear();
    this.#deps.log.info({ workflow: this.#path, revision: this.#applied?.revision }, "workflow mended");
    for (const listener of this.#listeners) listener.onMended?.();
  }
}
