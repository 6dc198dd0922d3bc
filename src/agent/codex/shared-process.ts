/** One app-server process that many sessions share, from its start to its end. */
import { randomUUID } from "node:crypto";
import { AppError } from "../../domain/errors.ts";
import type { Settings } from "../../domain/settings.ts";
import type { ProcessIdentity } from "../../host/port.ts";
import type { Timer } from "../../lib/clock.ts";
import type { Log } from "../../lib/log.ts";
import { failureOfRequest, failureOfTurn } from "./failures.ts";
import { launch, type Launched, type LaunchDeps, type LaunchRequest } from "./launch.ts";
import type { RequestMethod } from "./manifest.ts";
import { readNotice } from "./notices.ts";
import { SharedPart } from "./shared-part.ts";
import { SharedRoutes } from "./shared-routes.ts";

/** Sixteen is what was measured; more of them would wait for each other's requests, and fail together. */
export const THREADS_PER_PROCESS = 16;
/** Until a process that nobody uses is ended: the retries and continuations of its runs still find it. */
const IDLE_MS = 60_000;
/** After that it takes no new sessions: an upgraded codex is in use by then, and nothing that leaks in it goes on for days. */
const MAX_AGE_MS = 3_600_000;
/** An unload takes 40 to 400 ms (measured), with a turn and commands under way. */
const UNLOAD_MS = 15_000;

export interface SharedProcessDeps extends LaunchDeps {
  readonly log: Log;
}

export interface SharedProcessOptions {
  /** What the process is started with; the runs that share it agree on that. */
  readonly settings: Settings;
  /** Nothing of it is left. */
  ended(process: SharedProcess): void;
}

/** Lives until it ends by itself, nobody has used it for a while, it can't be trusted to have let go of a thread, or it is stopped. */
export class SharedProcess {
  readonly #deps: SharedProcessDeps;
  readonly #options: SharedProcessOptions;
  readonly #routes = new SharedRoutes((method, params, deadlineMs) => this.#ask(method, params, deadlineMs));
  readonly #abort = new AbortController();
  readonly #launched: Promise<Launched>;
  readonly #startedAt: number;
  #live: Launched | null = null;
  /** It serves its sessions to their end, and takes no new ones. */
  #retired = false;
  #idle: Timer | null = null;
  #stopping: Promise<void> | null = null;

  constructor(deps: SharedProcessDeps, options: SharedProcessOptions) {
    this.#deps = deps;
    this.#options = options;
    this.#startedAt = deps.clock.now();
    this.#launched = this.#launch();
    // Whoever joined is told.
    this.#launched.catch(() => {
      this.#retired = true;
      options.ended(this);
    });
  }

  get hasRoom(): boolean {
    if (this.#retired || this.#stopping !== null) return false;
    const isOpen = (this.#live?.connection.channel.closed ?? null) === null;
    const isYoung = this.#deps.clock.now() - this.#startedAt < MAX_AGE_MS;
    return isOpen && isYoung && this.#routes.parts.size < THREADS_PER_PROCESS;
  }

  /** Takes a place at once. */
  join({ runMarker, handlers }: Pick<LaunchRequest, "runMarker" | "handlers">): SharedPart {
    this.#idle?.cancel();
    const part = new SharedPart({
      runMarker,
      handlers,
      ask: (method, params, deadlineMs) => this.#ask(method, params, deadlineMs),
      counts: () => this.#live?.connection.channel.counts ?? { noise: 0, stray: 0, faults: 0, overloaded: 0 },
      claim: (claimant, threadId) => this.#routes.claim(claimant, threadId),
    });
    this.#routes.add(part);
    return part;
  }

  /** Resolves when the process was greeted. Rejects with SessionStartError. */
  ready(): Promise<Launched> {
    return this.#launched;
  }

  /** Ends what works for the part, and gives its place free. Never rejects. */
  async leave(part: SharedPart): Promise<void> {
    part.close(new AppError("port_exit", "the session was closed"));
    await this.#unload(part);
    // What left its session in time, and what an agent that was killed could not end.
    await this.#deps.host.reap(commandsOf(part.runMarker, this.#live?.connection.process.identity.startTime));
    this.#routes.remove(part);
    if (this.#routes.parts.size > 0 || this.#stopping !== null) return;
    if (!this.hasRoom) return this.stop();
    this.#idle = this.#deps.clock.setTimer(IDLE_MS, () => void this.stop());
  }

  /** Resolves when nothing of the process tree is left; its sessions fail with the reason. Safe to call again. */
  stop(reason: Error = new AppError("port_exit", "the shared agent process was ended")): Promise<void> {
    this.#stopping ??= this.#stop(reason);
    return this.#stopping;
  }

  async #ask(method: RequestMethod, params: unknown, deadlineMs: number): Promise<unknown> {
    if (this.#live === null) throw new AppError("port_exit", "the agent has not been started");
    try {
      return await this.#live.connection.channel.request(method, params, deadlineMs);
    } catch (error) {
      if (failureOfRequest(method, error, this.#options.settings).class === "auth") this.#retire();
      throw error;
    }
  }

  async #launch(): Promise<Launched> {
    const { settings } = this.#options;
    const { log } = this.#deps;
    const live = await launch(this.#deps, {
      settings,
      cwd: settings.workspace.root,
      runMarker: `shared-${randomUUID()}`,
      // Of the sessions to come, one may need it.
      experimentalApi: true,
      signal: this.#abort.signal,
      handlers: {
        onNotification: (method, params) => this.#heard(method, params),
        onRequest: (method, params, id) => this.#routes.request(method, params, id),
        onNoise: (sample) => this.#routes.noise(sample),
        onFault: (error) => log.error({ err: error }, "handling a message of the agent failed"),
      },
      connected: () => {},
      // No row of a run may name a process of many; what a killed daemon leaves of it is found by the ledger's mark.
      spawned: () => {},
    });
    this.#live = live;
    log.info({ pid: live.connection.process.identity.pid }, "shared agent process started");
    void this.#follow(live);
    return live;
  }

  #heard(method: string, params: unknown): void {
    this.#routes.notification(method, params);
    if (method !== "turn/completed") return;
    const notice = readNotice(method, params);
    const error = notice.kind === "turn_completed" ? notice.turn.error : null;
    if (error !== null && failureOfTurn(error, null).class === "auth") this.#retire();
  }

  /** A process doesn't see a login that is mended later (measured). */
  #retire(): void {
    if (this.#retired) return;
    this.#retired = true;
    this.#deps.log.info("the shared agent process has no valid login; it takes no new sessions");
  }

  async #follow({ connection }: Launched): Promise<void> {
    const reason = await connection.channel.whenClosed;
    if (this.#stopping !== null) return;
    const sessions = this.#routes.parts.size;
    this.#deps.log.warn({ sessions, err: reason }, "the shared agent process has ended");
    await this.stop(reason);
  }

  /** A thread that can't be unloaded may go on working: it takes its process with it, and the other runs are tried again. */
  async #unload(part: SharedPart): Promise<void> {
    await part.whenOpened();
    // A start that failed has ended its own process.
    if (this.#live === null) return;
    if (this.#stopping !== null || this.#live.connection.channel.closed !== null) return this.stop();
    const { threadId } = part;
    try {
      if (part.inDoubt) throw new Error("it is not known which thread was started");
      if (threadId === null) return;
      // Ends its turn, its commands, its sub-agents and its MCP servers, and gives it up for other processes (measured).
      await this.#ask("thread/archive", { threadId }, UNLOAD_MS);
    } catch (error) {
      const { log } = this.#deps;
      log.warn({ thread_id: threadId, err: error }, "a thread can't be unloaded; its shared process is ended");
      return this.stop(new AppError("port_exit", "the shared agent process was ended: it didn't let go of a thread"));
    }
    await Promise.all(this.#routes.threadsOf(part).map((id) => this.#unarchive(id)));
  }

  /** Not loading it, which leaves it to be resumed. What is missed here is made up for by the resume. */
  async #unarchive(threadId: string): Promise<void> {
    try {
      await this.#ask("thread/unarchive", { threadId }, UNLOAD_MS);
    } catch (error) {
      this.#deps.log.debug({ thread_id: threadId, err: error }, "a thread was not taken back from the archive");
    }
  }

  async #stop(reason: Error): Promise<void> {
    this.#idle?.cancel();
    for (const part of this.#routes.parts) part.close(reason);
    this.#abort.abort();
    // A start that is under way ends its own process.
    const live = await this.#launched.catch(() => null);
    await live?.connection.stop();
    this.#options.ended(this);
  }
}

/**
 * What is known of a run in a shared process: its commands, by the run's marker. It names no leader: the process itself is nobody's to
 * end by it. `since`: the start time of that process, which no command is older than.
 */
export function commandsOf(runMarker: string, since = ""): ProcessIdentity {
  return { pid: 0, processGroup: 0, startTime: since, marker: runMarker };
}
