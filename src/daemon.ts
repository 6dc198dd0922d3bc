/** The composition root: builds every service, starts them in order, stops them in reverse; a failed start unwinds what was begun. */
import { createCodexBackend } from "./agent/codex/backend.ts";
import { checkAgentCommand } from "./agent/codex/command-check.ts";
import type { Settings } from "./domain/settings.ts";
import { createLocalHost } from "./host/local.ts";
import { openLedger } from "./ledger/ledger.ts";
import { lockDaemon } from "./ledger/lock.ts";
import { stateFiles, type StateFiles } from "./ledger/state-files.ts";
import type { Clock } from "./lib/clock.ts";
import type { SecretLog } from "./lib/log.ts";
import type { Service } from "./lib/service.ts";
import { Orchestrator } from "./orchestrator/orchestrator.ts";
import { Trackers } from "./orchestrator/trackers.ts";
import { createTracker, trackerDescriptors } from "./tracker/registry.ts";
import { WorkflowWatcher } from "./workflow/reload.ts";
import { stateDirectory } from "./workflow/state-directory.ts";
import { createWorkspaces } from "./workspace/workspace.ts";

export interface DaemonOptions {
  readonly workflowPath: string;
  /** `--state-dir`; null = by settings and environment (docs/settings.md). */
  readonly stateDir: string | null;
  /** The daemon's own environment: `$VAR`s, and what children may inherit of it. */
  readonly env: Readonly<Record<string, string | undefined>>;
  /** What the agent is told as the client's version. */
  readonly version: string;
  readonly clock: Clock;
  readonly log: SecretLog;
}

/** What a started daemon offers to those around it. */
interface Started {
  readonly orchestrator: Orchestrator;
  readonly files: StateFiles;
  readonly settings: Settings;
  readonly cleanup: AsyncDisposableStack;
}

/** A daemon for one WORKFLOW.md. */
export class Daemon implements Service {
  readonly #options: DaemonOptions;
  #started: Started | null = null;
  #stopping: Promise<void> | null = null;

  constructor(options: DaemonOptions) {
    this.#options = options;
  }

  /** Throws before {@link start} has resolved. */
  get orchestrator(): Orchestrator {
    return this.#running().orchestrator;
  }

  /** Where ledger, lock and socket are. */
  get files(): StateFiles {
    return this.#running().files;
  }

  /** The settings that it started with. */
  get settings(): Settings {
    return this.#running().settings;
  }

  /** Validates, takes the lock, opens the ledger, recovers, and begins to poll. Rejects with an AppError, and nothing is left behind. */
  async start(): Promise<void> {
    if (this.#started !== null) return;
    await using unwind = new AsyncDisposableStack();
    const started = await build(this.#options, unwind);
    await started.orchestrator.start();
    this.#started = { ...started, cleanup: unwind.move() };
  }

  /** Drains: running turns may end within `shutdown.drain_ms`, then they are interrupted. Resolves when all is closed. */
  async stop(): Promise<void> {
    if (this.#started === null) return;
    const { cleanup } = this.#started;
    this.#stopping ??= cleanup.disposeAsync();
    await this.#stopping;
  }

  /** Interrupts every run at once, so that a {@link stop} on its way ends soon. */
  kill(): void {
    this.#started?.orchestrator.kill();
  }

  #running(): Started {
    if (this.#started === null) throw new Error("the daemon has not started");
    return this.#started;
  }
}

/** Everything that can be wrong with a configuration is found before the state directory is touched. */
async function build(options: DaemonOptions, unwind: AsyncDisposableStack): Promise<Omit<Started, "cleanup">> {
  const { clock, log, env, version } = options;
  const workflow = new WorkflowWatcher({ path: options.workflowPath, descriptors: trackerDescriptors, env, clock, log });
  const { settings } = workflow.load();
  log.addSecrets(settings.secrets.map((secret) => secret.value));
  const trackers = new Trackers({ clock, create: (next) => createTracker({ settings: next, clock, log }) });
  unwind.defer(() => trackers.close());
  await trackers.bind(settings);
  const host = createLocalHost({ log, clock });
  await checkAgentCommand(host, settings, env);
  const files = stateFiles(stateDirectory(settings, { flag: options.stateDir, env }));
  unwind.use(lockDaemon(files, settings.workflowPath));
  const ledger = openLedger({ path: files.ledger, clock, log });
  unwind.defer(() => ledger.close());
  const backend = createCodexBackend({ host, clock, log, clientVersion: version, daemonEnv: env });
  unwind.defer(() => backend.close());
  const workspaces = createWorkspaces({ host, ledgerId: ledger.id, log, clock, baseEnv: env });
  await workspaces.checkRoot(settings.workspace.root);
  const orchestrator = new Orchestrator({ clock, log, ledger, host, workspaces, backend, trackers, workflow });
  unwind.defer(() => workflow.stop());
  unwind.defer(() => orchestrator.stop());
  return { orchestrator, files, settings };
}
