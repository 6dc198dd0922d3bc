/** The look at the agent beside the first poll: its version, its login, and whether a sandboxed command can run here at all. */
import type { AgentBackend, AgentCheck } from "../agent/port.ts";
import { errorMessage } from "../domain/errors.ts";
import type { Settings } from "../domain/settings.ts";
import type { Clock } from "../lib/clock.ts";
import type { Log } from "../lib/log.ts";
import type { Event } from "../scheduler/events.ts";

export interface AgentWatchDeps {
  readonly backend: AgentBackend;
  readonly clock: Clock;
  readonly log: Log;
  /** Part of the look's marker, so that no two daemons share one. */
  readonly ledgerId: string;
  settings(): Settings;
  post(event: Event): void;
}

/** The last look, and when it ended. */
export interface AgentStatus extends AgentCheck {
  readonly checkedAt: number | null;
}

const NOT_YET = { state: "unknown", message: "not checked yet" } as const;

/**
 * Looks when the daemon starts, and again when the agent's settings change. Nothing starts before the first look has told of the
 * login (`agent_checked`), or has failed; polls go on meanwhile, and no later look is waited for.
 */
export class AgentWatch {
  readonly #deps: AgentWatchDeps;
  readonly #abort = new AbortController();
  readonly #marker: string;
  #status: AgentStatus = { version: null, login: NOT_YET, sandbox: NOT_YET, warnings: [], checkedAt: null };
  #lookedFor: string | null = null;
  #looking: Promise<void> = Promise.resolve();

  constructor(deps: AgentWatchDeps) {
    this.#deps = deps;
    this.#marker = `check-${deps.ledgerId}`;
  }

  get status(): AgentStatus {
    return this.#status;
  }

  /** Looks in the background, unless this agent with these settings was looked at already. */
  look(): void {
    const { codex } = this.#deps.settings();
    const wanted = JSON.stringify(codex);
    if (wanted === this.#lookedFor || this.#abort.signal.aborted) return;
    this.#lookedFor = wanted;
    this.#looking = this.#looking.then(() => this.#look());
  }

  /** Ends a look that is under way; its process is gone when this resolves. */
  async stop(): Promise<void> {
    this.#abort.abort(new Error("the daemon stops"));
    await this.#looking;
  }

  async #look(): Promise<void> {
    const { backend, clock, log, settings, post } = this.#deps;
    const { signal } = this.#abort;
    if (signal.aborted) return;
    const now = settings();
    // Told once in any case, however the look ends: dispatch waits for it.
    let isTold = false;
    const tellLogin = ({ state, message }: AgentCheck["login"]): void => {
      if (isTold || signal.aborted) return;
      isTold = true;
      post({ kind: "agent_checked", login: state, message });
    };
    try {
      const found = await backend.check({
        settings: now,
        cwd: now.workspace.root,
        runMarker: this.#marker,
        // Nothing to write: what a killed daemon leaves is found by its ledger.
        spawned: () => undefined,
        loginFound: tellLogin,
        signal,
      });
      if (signal.aborted) return;
      this.#status = { ...found, checkedAt: clock.now() };
      tellLogin(found.login);
      this.#tell(found);
    } catch (error) {
      if (signal.aborted) return;
      const unknown = { state: "unknown", message: `the agent can't be looked at: ${errorMessage(error)}` } as const;
      tellLogin(unknown);
      this.#status = { version: null, login: unknown, sandbox: unknown, warnings: [], checkedAt: clock.now() };
      log.warn({ err: error }, "the agent can't be looked at");
    }
  }

  #tell({ version, login, sandbox, warnings }: AgentCheck): void {
    const { log } = this.#deps;
    log.info({ version, login: login.state, sandbox: sandbox.state }, "agent checked");
    if (sandbox.state === "broken") {
      log.warn({ reason: sandbox.message }, "the agent's sandbox doesn't work here; its commands will fail");
    }
    for (const reason of warnings) log.warn({ reason }, "the agent works otherwise than it may seem");
  }
}
