/** One app-server process with one thread: opened, worked with turn by turn, closed. */
import type { AgentEventBody } from "../../domain/events.ts";
import type { QuestionAnswer } from "../../domain/inbox.ts";
import type { Log } from "../../lib/log.ts";
import { SessionStartError, type AgentSession, type SessionRequest, type TurnEnd, type TurnRequest } from "../port.ts";
import { readAgentsMd } from "./agents-md.ts";
import type { Channel, ChannelOptions } from "./channel.ts";
import type { Connection } from "./connection.ts";
import { scriptEnvironment } from "./environment.ts";
import { failureOfRequest, failureOfThreadInUse } from "./failures.ts";
import { writableGitDirs } from "./git-dirs.ts";
import { OpenWork } from "./items.ts";
import { closeOnAbort, launch, type LaunchDeps } from "./launch.ts";
import { turnSandboxPolicy, usesGitDirs, wouldTrust } from "./policy.ts";
import { Projector } from "./projector.ts";
import { Questions } from "./questions.ts";
import { RateLimits } from "./rate-limits.ts";
import { Requests } from "./requests.ts";
import { Router } from "./router.ts";
import { openThread, ThreadInUseError } from "./thread.ts";
import { turnStartParams } from "./thread-params.ts";
import { TokenReader } from "./tokens.ts";
import { Turns } from "./turns.ts";

/** A noisy shell must not fill the ledger; all noise is counted. */
const MAX_MALFORMED_EVENTS = 20;

export interface SessionDeps extends LaunchDeps {
  readonly log: Log;
}

/** What a session works with once it has a connection. */
interface Live {
  readonly connection: Connection;
  readonly turns: Turns;
  readonly router: Router;
}

/** Made before its connection, which needs its handlers; `open` ties the two together. Fails as SessionStartError until it is open. */
export class CodexSession implements AgentSession {
  readonly #deps: SessionDeps;
  readonly #request: SessionRequest;
  /** Nothing of the session is left. */
  readonly #onClosed: () => void;
  readonly #work = new OpenWork();
  readonly #limits = new RateLimits();
  readonly #questions: Questions;
  readonly #requests: Requests;
  #live: Live | null = null;
  #threadId = "";
  #resumed = false;
  #agentVersion: string | null = null;
  #malformed = 0;

  constructor(deps: SessionDeps, request: SessionRequest, onClosed: () => void) {
    const { id, identifier } = request.issue;
    const log = deps.log.child({ issue_id: id, issue_identifier: identifier });
    this.#deps = { ...deps, log };
    this.#request = request;
    this.#onClosed = onClosed;
    this.#questions = new Questions({
      clock: deps.clock,
      announce: (question) => request.listener.question(question),
      acknowledged: (id) => request.listener.answered(id),
      expired: (question) => this.#live?.turns.giveUpOn(question),
    });
    this.#requests = new Requests({
      session: request,
      clock: deps.clock,
      log,
      questions: this.#questions,
      emit: (event) => this.#emit(event),
      opened: (threadId, key) => this.#noteWork(() => this.#work.open(threadId, key)),
      closed: (threadId, key) => this.#noteWork(() => this.#work.close(threadId, key)),
      isTurnRunning: () => this.#live?.turns.isRunning ?? false,
    });
  }

  get threadId(): string {
    return this.#threadId;
  }

  get resumed(): boolean {
    return this.#resumed;
  }

  get agentVersion(): string | null {
    return this.#agentVersion;
  }

  /** Starts the agent and gets the thread. Rejects with SessionStartError; by then the process tree is gone. */
  async open(): Promise<void> {
    const { settings, workspacePath, runMarker, tools, signal, listener } = this.#request;
    const { connection, version } = await launch(this.#deps, {
      settings,
      cwd: workspacePath,
      runMarker,
      toolCount: tools.length,
      signal,
      handlers: this.#handlers(),
      connected: (made) => this.#attach(made),
      spawned: (identity) => listener.spawned(identity),
    });
    this.#agentVersion = version;
    try {
      using _ = closeOnAbort(connection, signal);
      await this.#openThread();
    } catch (error) {
      await connection.stop();
      const inUse = error instanceof ThreadInUseError;
      throw new SessionStartError(
        inUse ? failureOfThreadInUse(error) : failureOfRequest("thread/start", error, settings),
      );
    }
  }

  #handlers(): Omit<ChannelOptions, "write" | "clock"> {
    return {
      onNotification: (method, params) => this.#live?.router.route(method, params),
      onRequest: (method, params, id) => {
        this.#live?.router.noteLife();
        return this.#requests.handle(method, params, id);
      },
      onNoise: (sample) => this.#noise(sample),
      onFault: (error) => this.#deps.log.error({ err: error }, "handling a message of the agent failed"),
    };
  }

  #attach(connection: Connection): void {
    const { clock, log } = this.#deps;
    const { listener, settings } = this.#request;
    const { channel } = connection;
    const emit = (event: AgentEventBody): void => this.#emit(event);
    const turns = new Turns({
      channel,
      clock,
      log,
      settings,
      emit,
      openCount: () => this.#work.count,
      resetsAt: () => this.#limits.resetsAt(clock.now()),
      settled: () => this.#noteWork(() => this.#endOfTurn()),
    });
    const parts = {
      turns,
      requests: this.#requests,
      questions: this.#questions,
      work: this.#work,
      limits: this.#limits,
    };
    const own = { tokens: new TokenReader(), projector: new Projector() };
    const router = new Router({ ...parts, ...own, clock, emit, alive: (open) => listener.alive(open) });
    this.#live = { connection, turns, router };
    void this.#follow(channel, turns);
  }

  async #follow(channel: Channel, turns: Turns): Promise<void> {
    turns.connectionLost(await channel.whenClosed);
    this.#questions.closeAll("gone");
  }

  async #openThread(): Promise<void> {
    const { clock, log } = this.#deps;
    const { connection, router, turns } = this.#connected();
    const { channel } = connection;
    const thread = await openThread(
      { channel, clock, log, developerInstructions: () => this.#developerInstructions() },
      this.#request,
    );
    turns.bind(thread.threadId);
    this.#threadId = thread.threadId;
    this.#resumed = thread.resumed;
    this.#emit({ kind: "session_started", ...thread, agentVersion: this.#agentVersion });
    // Now what came before the thread was known: it belongs to a session that has started.
    router.bind(thread.threadId, thread);
  }

  runTurn(turn: TurnRequest): Promise<TurnEnd> {
    return this.#connected().turns.run({
      method: "turn/start",
      params: async () => {
        const sandboxPolicy = await this.#sandboxPolicy();
        return turnStartParams({ session: this.#request, threadId: this.#threadId, turn, sandboxPolicy });
      },
    });
  }

  compact(): Promise<TurnEnd> {
    const params = (): Promise<unknown> => Promise.resolve({ threadId: this.#threadId });
    return this.#connected().turns.run({ method: "thread/compact/start", params });
  }

  steer(text: string): Promise<void> {
    return this.#connected().turns.steer(text);
  }

  interrupt(): Promise<void> {
    return this.#connected().turns.interrupt();
  }

  answer(questionId: string, answer: QuestionAnswer): boolean {
    return this.#questions.answer(questionId, answer);
  }

  async close(): Promise<void> {
    this.#live?.turns.abandon();
    const connection = this.#live?.connection;
    await connection?.stop();
    this.#deps.log.debug({ thread_id: this.#threadId, ...connection?.channel.counts }, "agent session closed");
    this.#onClosed();
  }

  #connected(): Live {
    if (this.#live === null) throw new Error("the session has no connection yet");
    return this.#live;
  }

  #emit(event: AgentEventBody): void {
    this.#request.listener.event(event);
  }

  #noise(sample: string): void {
    this.#malformed += 1;
    if (this.#malformed <= MAX_MALFORMED_EVENTS) this.#emit({ kind: "malformed", sample });
  }

  #noteWork(change: () => void): void {
    change();
    this.#live?.router.noteLife();
  }

  #endOfTurn(): void {
    this.#work.clear();
    this.#questions.closeAll(this.#live?.connection.channel.closed === null ? "there" : "gone");
  }

  /** Git directories are looked up before every turn: the agent may have cloned or moved its repository in the one before. */
  async #sandboxPolicy(): Promise<unknown> {
    const { settings, workspacePath } = this.#request;
    return turnSandboxPolicy(
      settings,
      workspacePath,
      usesGitDirs(settings) ? await writableGitDirs(workspacePath) : [],
    );
  }

  async #developerInstructions(): Promise<string | null> {
    const { settings } = this.#request;
    return wouldTrust(settings) && !settings.codex.trustProject ? readAgentsMd(this.#scriptRequest()) : null;
  }

  #scriptRequest(): Parameters<typeof readAgentsMd>[0] {
    const { settings, workspacePath, runMarker } = this.#request;
    const { host, daemonEnv } = this.#deps;
    return { host, workspacePath, marker: runMarker, env: scriptEnvironment({ daemonEnv, settings, runMarker }) };
  }
}
