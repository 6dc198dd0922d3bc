/** The orchestrator as a service: boots from the ledger, keeps loop, effects and runs together, and stops in order. */
import { channel } from "node:diagnostics_channel";
import type { AgentBackend } from "../agent/port.ts";
import { removePictures } from "../agent/pictures/gather.ts";
import type { RunJournal } from "../agent/run-port.ts";
import type { AgentEvent } from "../domain/events.ts";
import type { DurableChange, DurableState } from "../domain/claim.ts";
import type { IssueId, RunId } from "../domain/ids.ts";
import type { ModelTokens, TokenCounts } from "../domain/tokens.ts";
import type { Host, ProcessIdentity } from "../host/port.ts";
import type { LedgerReader } from "../ledger/queries.ts";
import type { Clock } from "../lib/clock.ts";
import type { Log } from "../lib/log.ts";
import type { Service } from "../lib/service.ts";
import type { Event, OperatorCommand, OperatorResult } from "../scheduler/events.ts";
import type { State } from "../scheduler/state.ts";
import type { MalformedTicket } from "../tracker/port.ts";
import type { WorkflowWatcher } from "../workflow/reload.ts";
import type { Workspaces } from "../workspace/workspace.ts";
import { AgentWatch } from "./agent-check.ts";
import { AgentEvents, type EventJournal } from "./agent-events.ts";
import { BudgetWatch } from "./budget-watch.ts";
import { Effects } from "./effects.ts";
import { issueJson } from "./issue-view.ts";
import { LiveRuns } from "./live.ts";
import { Loop } from "./loop.ts";
import { operate } from "./operate.ts";
import { reapEarlier, reapOrphans } from "./recover.ts";
import type { RunEventStream } from "./run-feed.ts";
import { Runs } from "./runs.ts";
import { buildSnapshot } from "./snapshot.ts";
import type { Trackers } from "./trackers.ts";

/** What the orchestrator needs of the ledger. */
export interface OrchestratorLedger extends RunJournal, EventJournal {
  readonly id: string;
  loadState(): DurableState;
  commit(change: DurableChange): void;
  liveProcesses(): readonly { readonly runId: RunId; readonly identity: ProcessIdentity }[];
  processesOf(issueId: IssueId): readonly { readonly runId: RunId; readonly identity: ProcessIdentity }[];
  totals(): { readonly tokens: TokenCounts; readonly endedMs: number };
  tokensOfIssue(issueId: IssueId): readonly ModelTokens[];
  tokensOfDay(at: number): readonly ModelTokens[];
  callsInDoubt(issueId: IssueId): readonly string[];
}

export interface OrchestratorDeps {
  /** The identifier of the one ticket that is started; all are where it isn't given. */
  readonly only?: string | null;
  readonly clock: Clock;
  readonly log: Log;
  readonly ledger: OrchestratorLedger;
  readonly host: Host;
  readonly workspaces: Workspaces;
  readonly backend: AgentBackend;
  readonly trackers: Trackers;
  readonly workflow: WorkflowWatcher;
  /** Where pictures of descriptions are kept while their runs go on; what is there at a start is an earlier daemon's. */
  readonly picturesDir: string;
  /** Takes known secret values out of a text that is shown. */
  redact(text: string): string;
}

/** Called after the state moved, and for each agent event; must be quick and must not throw. */
export interface Observer {
  changed?(): void;
  agentEvent?(runId: RunId, issueId: IssueId, event: AgentEvent): void;
}

/** For tracers: what agents do (docs/operating.md). */
const agentEvents = channel("symphony:agent");

export class Orchestrator implements Service {
  readonly #deps: OrchestratorDeps;
  readonly #live: LiveRuns;
  readonly #agentEvents: AgentEvents;
  readonly #budgets: BudgetWatch;
  readonly #agent: AgentWatch;
  readonly #loop: Loop;
  readonly #runs: Runs;
  readonly #effects: Effects;
  readonly #observers = new Set<Observer>();
  /** What came before the ledger's claims were restored: a poll that doesn't know them would start a ticket twice. */
  #early: Event[] | null = [];
  #started = false;

  constructor(deps: OrchestratorDeps) {
    this.#deps = deps;
    const { clock, log, ledger, host, workspaces, backend, trackers, workflow } = deps;
    const post = (event: Event): void => this.#loop.post(event);
    const redact = (text: string): string => deps.redact(text);
    this.#live = new LiveRuns(ledger.totals(), redact);
    const identifierOf = (issueId: IssueId): string => this.state.claims.get(issueId)?.issue.identifier ?? issueId;
    this.#agentEvents = new AgentEvents({ ledger, redact, identifierOf });
    this.#budgets = new BudgetWatch({ clock, log, ledger, post, budget: () => workflow.current().settings.budget });
    const settings = () => workflow.current().settings;
    this.#agent = new AgentWatch({ backend, clock, log, ledgerId: ledger.id, settings, post });
    this.#runs = new Runs({
      workspaces,
      backend,
      clock,
      log,
      post,
      journal: ledger,
      reapEarlier: (issueId, current) => reapEarlier({ host, ledger }, issueId, current),
      budgets: this.#budgets,
      live: this.#live,
      onAgentEvent: (runId, issueId, event) => this.#onAgentEvent(runId, issueId, event),
    });
    this.#effects = new Effects({
      clock,
      log,
      ledgerId: ledger.id,
      picturesDir: deps.picturesDir,
      trackers,
      workspaces,
      post,
      runs: this.#runs,
      state: () => this.#loop.state,
      workflow: () => workflow.current(),
      checkWorkflow: () => workflow.checkNow(),
      callsInDoubt: (issueId) => ledger.callsInDoubt(issueId),
    });
    this.#loop = new Loop({
      clock,
      log,
      settings: () => workflow.current().settings,
      commit: (change) => ledger.commit(change),
      perform: (effect) => this.#effects.perform(effect),
      beforeTimer: () => this.#runs.flushActivity(),
      changed: () => this.#changed(),
    });
  }

  get state(): State {
    return this.#loop.state;
  }

  /** Tickets that the tracker's last listing left out as malformed. */
  get malformed(): readonly MalformedTicket[] {
    return this.#deps.trackers.current.tracker.malformed?.() ?? [];
  }

  /** Why decisions can't be kept; null where they can. */
  get ledgerError(): { readonly message: string } | null {
    return this.#loop.ledgerError;
  }

  /** Ends what an earlier daemon left running, restores its claims, and dispatches from then on. */
  async start(): Promise<void> {
    if (this.#started) return;
    this.#started = true;
    const { workflow, ledger } = this.#deps;
    await reapOrphans(this.#deps);
    await removePictures(this.#deps.picturesDir);
    const durable = ledger.loadState();
    this.#loop.post({ kind: "boot", durable, only: this.#deps.only ?? null, agentLook: true });
    this.#agent.look();
    const early = this.#early ?? [];
    this.#early = null;
    for (const event of early) this.#loop.post(event);
    this.#budgets.start((durable.pauses.get("budget")?.until ?? 0) > this.#deps.clock.now());
    workflow.observe({
      onChange: () => {
        this.post({ kind: "settings_changed" });
        this.#budgets.settingsChanged();
        this.#agent.look();
      },
      onBroken: (message) => this.post({ kind: "workflow_broken", message }),
      onMended: () => this.post({ kind: "workflow_mended" }),
    });
    await workflow.start();
  }

  post(event: Event): void {
    if (this.#early === null) this.#loop.post(event);
    else this.#early.push(event);
  }

  /**
   * What a person asks for, decided and committed before this returns, and what the person is told about it. While the ledger can't be
   * written, only what stops something is taken.
   */
  operate(command: OperatorCommand): OperatorResult {
    return operate(this.#early === null ? this.#loop : null, command);
  }

  /** Adds an observer; the answer removes it. */
  observe(observer: Observer): () => void {
    this.#observers.add(observer);
    return () => this.#observers.delete(observer);
  }

  /** What agents do from now on, as typed events; see {@link RunEventStream} for what becomes of a slow reader. */
  listen(): RunEventStream {
    return this.#agentEvents.listen();
  }

  snapshot(): Readonly<Record<string, unknown>> {
    const { clock, workflow, trackers } = this.#deps;
    const { settings, loadedAt } = workflow.current();
    return buildSnapshot({
      now: clock.now(),
      state: this.#loop.state,
      live: this.#live,
      agent: this.#agent.status,
      limits: { maxAgents: settings.agent.maxConcurrentAgents, maxTurns: settings.agent.maxTurns },
      budget: this.#budgets.today(),
      trackerKind: settings.tracker.kind,
      malformed: this.malformed,
      trackerUsage: trackers.current.tracker.usage?.() ?? null,
      workflow: { path: settings.workflowPath, revision: settings.revision, loadedAt, lastError: workflow.lastError },
      ledgerError: this.#loop.ledgerError,
      invariantBreaches: this.#loop.breaches,
    });
  }

  /** One claimed issue as the API shows it; null when no claim has this identifier. */
  issue(identifier: string, ledger: LedgerReader): Readonly<Record<string, unknown>> | null {
    return issueJson(identifier, { now: this.#deps.clock.now(), state: this.#loop.state, live: this.#live, ledger });
  }

  /** Drains: turns may end within `shutdown.drain_ms`, then they are interrupted. Resolves when no run and no read is left. */
  async stop(): Promise<void> {
    if (!this.#started) return;
    this.post({ kind: "shutdown" });
    await this.#settle();
  }

  /** Interrupts every run at once; a {@link stop} that is waiting resolves all the sooner. */
  kill(): void {
    this.post({ kind: "stop_runs" });
  }

  async #settle(): Promise<void> {
    await Promise.all([this.#agent.stop(), this.#runs.idle()]);
    await this.#deps.workflow.stop();
    await this.#effects.stop();
    this.#loop.flush();
    this.#loop.stop();
    this.#agentEvents.end();
  }

  #changed(): void {
    for (const observer of this.#observers) observer.changed?.();
  }

  #onAgentEvent(runId: RunId, issueId: IssueId, event: AgentEvent): void {
    this.#agentEvents.take(runId, issueId, event);
    if (agentEvents.hasSubscribers) agentEvents.publish({ runId, issueId, event });
    for (const observer of this.#observers) observer.agentEvent?.(runId, issueId, event);
  }
}
