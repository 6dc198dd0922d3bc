/** One thread of an app-server: opened, worked with turn by turn, closed. */
import type { AgentEventBody } from "../../domain/events.ts";
import type { QuestionAnswer } from "../../domain/inbox.ts";
import type { Log } from "../../lib/log.ts";
import { SessionStartError, type AgentSession, type SessionRequest, type TurnEnd, type TurnRequest } from "../port.ts";
import type { ThreadBinding } from "../thread-binding.ts";
import { readAgentsMd } from "./agents-md.ts";
import type { ChannelOptions, SessionChannel } from "./channel.ts";
import type { SessionConnection } from "./connection.ts";
import { failureOfRequest } from "./failures.ts";
import { writableGitDirs } from "./git-dirs.ts";
import type { Greeting } from "./handshake.ts";
import { OpenWork } from "./items.ts";
import { makeOwnTemp, removeOwnTemp } from "./own-temp.ts";
import { closeOnAbort, type LaunchDeps, type LaunchRequest } from "./launch.ts";
import { bindingOf, overridesOf, type TurnOverrides } from "./overrides.ts";
import { needsExperimentalApi, turnSandboxPolicy, usesGitDirs, wouldTrust } from "./policy.ts";
import { Projector } from "./projector.ts";
import { Questions } from "./questions.ts";
import { RateLimits } from "./rate-limits.ts";
import { Requests } from "./requests.ts";
import { Router } from "./router.ts";
import { openThread } from "./thread.ts";
import { turnStartParams } from "./thread-params.ts";
import { TokenReader } from "./tokens.ts";
import { Turns } from "./turns.ts";

/** A noisy shell must not fill the ledger; all noise is counted. */
const MAX_MALFORMED_EVENTS = 20;

export interface SessionDeps extends LaunchDeps {
  readonly log: Log;
  /** Gets the session its connection, of its own or shared. Rejects with SessionStartError; by then nothing of the session is left. */
  start(request: LaunchRequest): Promise<Started>;
}

/** A connection that was greeted. */
export interface Started extends Greeting {
  readonly connection: SessionConnection;
}

/** What a session works with once it has a connection. */
interface Live {
  readonly connection: SessionConnection;
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
  #replaced: string | null = null;
  #binding: ThreadBinding | null = null;
  #overrides: TurnOverrides = {};
  #agent: Greeting = { version: null, home: null };
  #malformed = 0;
  #temporary: string | null = null;

  constructor(deps: SessionDeps, request: SessionRequest, onClosed: () => void) {
    const { issue } = request;
    const log = deps.log.child({ issue_id: issue.id, issue_identifier: issue.identifier });
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

  get replaced(): string | null {
    return this.#replaced;
  }

  get binding(): ThreadBinding {
    if (this.#binding === null) throw new Error("the session has no thread yet");
    return this.#binding;
  }

  get agentVersion(): string | null {
    return this.#agent.version;
  }

  /** Starts the agent and gets the thread. Rejects with SessionStartError; by then the process tree is gone. */
  async open(): Promise<void> {
    const { settings, workspacePath, runMarker, tools, signal, listener } = this.#request;
    const { connection, version, home } = await this.#deps.start({
      settings,
      cwd: workspacePath,
      runMarker,
      experimentalApi: needsExperimentalApi(settings, tools.length),
      signal,
      handlers: this.#handlers(),
      connected: (made) => this.#attach(made),
      spawned: (identity) => listener.spawned(identity),
    });
    this.#agent = { version, home };
    try {
      using _ = closeOnAbort(connection, signal);
      await this.#openThread();
    } catch (error) {
      await connection.stop();
      throw new SessionStartError(failureOfRequest("thread/start", error, settings));
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

  #attach(connection: SessionConnection): void {
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

  async #follow(channel: SessionChannel, turns: Turns): Promise<void> {
    turns.connectionLost(await channel.whenClosed);
    this.#questions.closeAll("gone");
  }

  async #openThread(): Promise<void> {
    const { clock, log } = this.#deps;
    const { connection, router, turns } = this.#connected();
    const { channel } = connection;
    const { home } = this.#agent;
    const request = this.#request;
    const developerInstructions = (): Promise<string | null> => this.#developerInstructions();
    const temporary = await makeOwnTemp(request.settings, request.workspacePath, this.#deps.daemonEnv);
    this.#temporary = temporary;
    const thread = await openThread({ channel, clock, log, home, temporary, developerInstructions }, request);
    const { threadId, resumed, replaced } = thread;
    turns.bind(threadId);
    this.#threadId = threadId;
    this.#resumed = resumed;
    this.#replaced = replaced;
    this.#binding = bindingOf(request, thread, this.#agent);
    this.#overrides = overridesOf(request, thread, this.#binding);
    const model = this.#overrides.model ?? thread.model;
    this.#emit({ kind: "session_started", threadId, resumed, model, agentVersion: this.agentVersion });
    if (replaced !== null) {
      const bound = request.threadId ?? "";
      this.#emit({ kind: "warning", text: `thread ${bound} was left for a fresh one: ${replaced}` });
    }
    // Now what came before the thread was known: it belongs to a session that has started.
    router.bind(thread.threadId, thread);
  }

  runTurn(turn: TurnRequest): Promise<TurnEnd> {
    return this.#connected().turns.run({
      method: "turn/start",
      params: async () => {
        const sandboxPolicy = await this.#sandboxPolicy();
        const wanted = { ...this.#overrides, ...turn };
        return turnStartParams({ session: this.#request, threadId: this.#threadId, turn: wanted, sandboxPolicy });
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
    if (this.#temporary !== null) await removeOwnTemp(this.#temporary);
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
    const gitDirs = usesGitDirs(settings) ? await writableGitDirs(workspacePath) : [];
    return turnSandboxPolicy(settings, workspacePath, { gitDirs, temporary: this.#temporary });
  }

  async #developerInstructions(): Promise<string | null> {
    const { settings, developerInstructions: own = "" } = this.#request;
    const isUnread = wouldTrust(settings) && !settings.codex.trustProject;
    const repository = isUnread ? await readAgentsMd(this.#request.workspacePath) : null;
    return [repository ?? "", own].filter((text) => text !== "").join("\n\n") || null;
  }
}
