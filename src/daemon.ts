/** The composition root: builds every service, starts them in order, stops them in reverse; a failed start unwinds what was begun. */
import { createCodexBackend } from "./agent/codex/backend.ts";
import { checkAgentCommand } from "./agent/codex/command-check.ts";
import type { Settings } from "./domain/settings.ts";
import { createLocalHost } from "./host/local.ts";
import { ApiServer } from "./http/server.ts";
import { reachableSocketPath } from "./http/socket-path.ts";
import { loadToken } from "./http/token.ts";
import { daemonView } from "./http/view.ts";
import type { WebhookRoute } from "./http/webhook.ts";
import { openLedger } from "./ledger/ledger.ts";
import { lockDaemon } from "./ledger/lock.ts";
import { meetNeighbours } from "./ledger/neighbours.ts";
import { openLedgerReader } from "./ledger/queries.ts";
import { stateFiles, type StateFiles } from "./ledger/state-files.ts";
import type { Clock } from "./lib/clock.ts";
import type { SecretLog } from "./lib/log.ts";
import { Redactor } from "./lib/redact.ts";
import type { Service } from "./lib/service.ts";
import { Notifier } from "./orchestrator/notify/notifier.ts";
import { Orchestrator } from "./orchestrator/orchestrator.ts";
import { SessionMirror } from "./orchestrator/session-mirror.ts";
import { takeSessionEvent } from "./orchestrator/session-prompts.ts";
import { Trackers } from "./orchestrator/trackers.ts";
import type { OperatorCommand } from "./scheduler/events.ts";
import type { Carried } from "./tracker/registry.ts";
import { createTracker, createWebhook, trackerDescriptors } from "./tracker/registry.ts";
import { describeScope } from "./tracker/scope.ts";
import { WorkflowWatcher } from "./workflow/reload.ts";
import { stateDirectory } from "./workflow/state-directory.ts";
import { SalvageRetention } from "./workspace/salvage-retention.ts";
import { createWorkspaces } from "./workspace/workspace.ts";

export interface DaemonOptions {
  readonly workflowPath: string;
  /** `--state-dir`; null = by settings and environment (docs/settings.md). */
  readonly stateDir: string | null;
  /** `--port` and `--host`; null = by settings. */
  readonly port: number | null;
  readonly host: string | null;
  /** The identifier of the one ticket that is started; all are where it isn't given. */
  readonly only?: string | null;
  /** The daemon's own environment: `$VAR`s, and what children may inherit of it. */
  readonly env: Readonly<Record<string, string | undefined>>;
  /** What the agent is told as the client's version. */
  readonly version: string;
  readonly clock: Clock;
  readonly log: SecretLog;
}

interface Built {
  readonly orchestrator: Orchestrator;
  readonly notifier: Notifier;
  readonly server: ApiServer;
  readonly files: StateFiles;
  readonly settings: Settings;
}

/** What a started daemon offers to those around it, and how it is taken down. */
interface Started extends Built {
  readonly cleanup: AsyncDisposableStack;
}

/** A daemon for one WORKFLOW.md. */
export class Daemon implements Service {
  readonly #options: DaemonOptions;
  #started: Started | null = null;
  #stopping: Promise<void> | null = null;

  constructor(options: DaemonOptions) {
    // A copy: every look into the process's own environment asks the system, and each start of an agent looks at all of it.
    this.#options = { ...options, env: { ...options.env } };
  }

  /** Throws before {@link start} has resolved. */
  get orchestrator(): Orchestrator {
    return this.#running().orchestrator;
  }

  /** Where ledger, lock and socket are. */
  get files(): StateFiles {
    return this.#running().files;
  }

  /** Where the API is served over TCP; null without a port. */
  get url(): string | null {
    return this.#running().server.url;
  }

  /** The dashboard with the right to act, for the operator's eyes alone; null without a port. */
  get dashboardUrl(): string | null {
    return this.#running().server.dashboardUrl;
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
    await started.notifier.start();
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
async function build(options: DaemonOptions, unwind: AsyncDisposableStack): Promise<Built> {
  const { clock, log, env } = options;
  const redactor = new Redactor();
  const learnSecrets = (settings: Settings): void => {
    const values = settings.secrets.map((secret) => secret.value);
    redactor.add(values);
    log.addSecrets(values);
  };
  const carried: Carried = {};
  const trackers = new Trackers({ clock, create: (settings) => createTracker({ settings, clock, log, carried }) });
  unwind.defer(() => trackers.close());
  const admit = async (settings: Settings): Promise<void> => {
    learnSecrets(settings);
    await trackers.bind(settings);
  };
  const path = options.workflowPath;
  const workflow = new WorkflowWatcher({ path, descriptors: trackerDescriptors, env, clock, log, admit });
  const { settings } = workflow.load();
  await admit(settings);
  await checkAgentCommand(createLocalHost({ log, clock }), settings, env);
  const files = stateFiles(stateDirectory(settings, { flag: options.stateDir, env }));
  const { orchestrator, notifier } = await buildOrchestrator(options, { workflow, trackers, files, redactor }, unwind);
  const server = await serveApi(options, { orchestrator, files, settings, workflow, trackers }, unwind);
  // Before the server: whoever asks during a drain is answered, and may act on what still runs.
  unwind.defer(() => orchestrator.stop());
  // Never taken off: ends of runs are shown while the orchestrator stops, too.
  orchestrator.observe(
    new SessionMirror({
      sessions: () => trackers.current.tracker.sessions,
      claims: () => orchestrator.state.claims,
      pageUrl: (identifier) => server.pageOf(identifier),
      redact: (text) => redactor.text(text),
    }),
  );
  return { orchestrator, notifier, files, settings, server };
}

interface Parts {
  readonly workflow: WorkflowWatcher;
  readonly trackers: Trackers;
  readonly files: StateFiles;
  readonly redactor: Redactor;
}

/** Takes the locks and opens the ledger; from here on this daemon is the one owner of its state. */
async function buildOrchestrator(
  { clock, log, env, version, only = null }: DaemonOptions,
  { workflow, trackers, files, redactor }: Parts,
  unwind: AsyncDisposableStack,
): Promise<Pick<Built, "orchestrator" | "notifier">> {
  const { settings } = workflow.current();
  unwind.use(lockDaemon(files, settings.workflowPath));
  const redact = (text: string): string => redactor.text(text);
  const ledger = openLedger({ path: files.ledger, clock, log, redact });
  unwind.defer(() => ledger.close());
  unwind.use(meetNeighbours({ env, ledgerId: ledger.id, scope: await describeScope(settings), log }));
  const salvageDir = files.salvage;
  const host = createLocalHost({ log, clock, owner: ledger.id });
  const workspaces = createWorkspaces({ host, ledgerId: ledger.id, log, clock, baseEnv: env, salvageDir });
  await workspaces.checkRoot(settings.workspace.root);
  const retention = new SalvageRetention({ dir: salvageDir, clock, log });
  unwind.defer(() => retention.stop());
  await retention.start();
  const backend = createCodexBackend({ host, clock, log, clientVersion: version, daemonEnv: env });
  unwind.defer(() => backend.close());
  const parts = { ledger, host, workspaces, backend, trackers, workflow, only };
  const orchestrator = new Orchestrator({ clock, log, redact, picturesDir: files.pictures, ...parts });
  const now = { settings: () => workflow.current().settings, state: () => orchestrator.state };
  const notifier = new Notifier({ clock, log, redact, ...now });
  orchestrator.observe({ changed: () => notifier.changed() });
  unwind.defer(() => notifier.stop());
  return { orchestrator, notifier };
}

/** The control socket always, TCP where a port is set: `--port` wins over `server.port`. */
async function serveApi(
  options: DaemonOptions,
  {
    orchestrator,
    files,
    settings,
    workflow,
    trackers,
  }: Pick<Built, "orchestrator" | "files" | "settings"> & Pick<Parts, "workflow" | "trackers">,
  unwind: AsyncDisposableStack,
): Promise<ApiServer> {
  const port = options.port ?? settings.server.port;
  const host = options.host ?? settings.server.host ?? "127.0.0.1";
  const tokenFile = settings.server.tokenFile ?? files.token;
  const reader = openLedgerReader(files.ledger, options.clock);
  unwind.defer(() => reader.close());
  const server = new ApiServer({
    view: daemonView({
      orchestrator,
      ledger: reader,
      clock: options.clock,
      version: options.version,
      settings: () => workflow.current().settings,
    }),
    log: options.log,
    socketPath: reachableSocketPath(files.socket, options.env),
    tcp:
      port === null
        ? null
        : { host, port, token: await loadToken(tokenFile), openRefresh: settings.server.openRefresh },
    webhook: await webhookRoute(options, { orchestrator, settings, trackers }, port !== null),
  });
  unwind.defer(() => server.stop());
  await server.start();
  return server;
}

/** Deliveries come over TCP alone: without a port a secret is a mistake worth a warning. */
async function webhookRoute(
  { clock, log }: DaemonOptions,
  { orchestrator, settings, trackers }: Pick<Built, "orchestrator" | "settings"> & Pick<Parts, "trackers">,
  hasPort: boolean,
): Promise<WebhookRoute | null> {
  const webhook = await createWebhook({ settings, clock, log });
  if (webhook === null) return null;
  if (!hasPort) log.warn("server.webhooks.linear.secret has no effect without a port; set server.port or give --port");
  const sessionDeps = {
    log,
    claims: () => orchestrator.state.claims,
    operate: (command: OperatorCommand) => orchestrator.operate(command),
    sessions: () => trackers.current.tracker.sessions,
  };
  return {
    webhook,
    clock,
    wake: () => orchestrator.post({ kind: "tracker_changed" }),
    session: (event) => takeSessionEvent(event, sessionDeps),
  };
}
