/** The app-server's methods, as far as an orchestrator uses them: shapes, order and refusals as measured on 0.171.0. */
import { Actions } from "./actions.ts";
import { archiveMethods } from "./archive.ts";
import { type Behaviour, commandEnvironment } from "./behaviour.ts";
import type { Commands } from "./commands.ts";
import { Dispatcher, type Method, type Reply } from "./dispatcher.ts";
import { runExec } from "./exec.ts";
import { uuidV7 } from "./ids.ts";
import { COLLABORATION_MODE } from "./identity.ts";
import {
  optionalText,
  type Params,
  readApprovalPolicy,
  readCommandVariables,
  readInput,
  readSandboxMode,
  readSandboxPolicy,
  readToolNames,
  requiredText,
  RpcError,
} from "./params.ts";
import type { RolloutStore, ThreadMeta } from "./rollout.ts";
import { resumedSandbox, Thread, turnView } from "./thread.ts";
import { Turn } from "./turn.ts";
import { compacted, inventTokens } from "./usage.ts";
import type { Wire } from "./wire.ts";

export interface ServerDeps {
  readonly home: string;
  readonly store: RolloutStore;
  readonly commands: Commands;
  readonly behaviour: Promise<Behaviour>;
  /** Writes one line to the client. */
  write(line: string): void;
  /** Ends the process as a crash would: with this code, nothing said and nothing tidied. */
  exit(code: number): void;
  /** For people; never part of the protocol. */
  log(text: string): void;
}

/** What thread/resume answers beyond thread/start. */
const RESUME_EXTRAS = {
  collaborationMode: COLLABORATION_MODE,
  initialTurnsPage: null,
  itemsBackwardsCursor: null,
  turnsBackwardsCursor: null,
};

export class Server {
  readonly #deps: ServerDeps;
  readonly #dispatcher: Dispatcher;
  readonly #wire: Wire;
  readonly #threads = new Map<string, Thread>();
  readonly #active = new Map<string, Turn>();

  constructor(deps: ServerDeps) {
    this.#deps = deps;
    this.#dispatcher = new Dispatcher({
      home: deps.home,
      methods: this.#methods(),
      write: (line) => deps.write(line),
      log: (text) => deps.log(text),
    });
    this.#wire = this.#dispatcher.wire;
  }

  #methods(): Readonly<Record<string, Method>> {
    return {
      "thread/start": (params) => this.#startThread(params),
      "thread/resume": (params) => this.#resumeThread(params),
      "thread/read": (params) => this.#readThread(params),
      "thread/turns/list": (params) => this.#listTurns(params),
      "thread/loaded/list": () => ({ result: { data: [...this.#threads.keys()], nextCursor: null } }),
      "thread/name/set": (params) => this.#nameThread(params),
      ...archiveMethods({
        ...this.#deps,
        threads: this.#threads,
        active: this.#active,
        stored: (threadId) => this.#stored(threadId),
      }),
      "thread/compact/start": (params) => this.#compact(params),
      "thread/backgroundTerminals/list": (params) => this.#listTerminals(params),
      "thread/backgroundTerminals/clean": (params) => this.#cleanTerminals(params),
      "turn/start": (params) => this.#startTurn(params),
      "turn/steer": (params) => this.#steerTurn(params),
      "turn/interrupt": (params) => this.#interruptTurn(params),
      "command/exec": async (params) => ({ result: await runExec(params) }),
      "account/read": () => ({
        result: { account: null, userId: null, requiresOpenaiAuth: false, workspaceRouting: null },
      }),
      "account/rateLimits/read": () => {
        throw new RpcError("codex account authentication required to read rate limits");
      },
    };
  }

  feed(chunk: Buffer): void {
    this.#wire.feed(chunk);
  }

  #startThread(params: Params): Reply {
    const toolNames = readToolNames(params, this.#dispatcher.experimental);
    const meta: ThreadMeta = {
      id: uuidV7(),
      cwd: optionalText(params, "cwd") ?? process.cwd(),
      approvalPolicy: readApprovalPolicy(params) ?? "on-request",
      sandbox: readSandboxMode(params) ?? { type: "readOnly", networkAccess: false },
      toolNames,
      name: null,
      ticket: null,
      originator: this.#dispatcher.clientName,
      createdAt: Math.floor(Date.now() / 1000),
    };
    const thread = new Thread(this.#wire, this.#deps.store, meta);
    thread.commandVariables = readCommandVariables(params);
    this.#threads.set(thread.id, thread);
    const started = { thread: thread.view() };
    return { result: thread.sessionView(), after: () => this.#wire.notify("thread/started", started) };
  }

  #resumeThread(params: Params): Reply {
    const threadId = requiredText(params, "threadId");
    const thread = this.#threads.get(threadId) ?? this.#load(threadId);
    if (!thread.materialized) throw new RpcError(`no rollout found for thread id ${threadId}`);
    const sandbox = readSandboxMode(params);
    const approvalPolicy = readApprovalPolicy(params);
    const cwd = optionalText(params, "cwd");
    thread.update({
      ...(sandbox === null ? {} : { sandbox }),
      ...(approvalPolicy === null ? {} : { approvalPolicy }),
      ...(cwd === null ? {} : { cwd }),
    });
    thread.commandVariables = { ...thread.commandVariables, ...readCommandVariables(params) };
    const full = params["excludeTurns"] !== true;
    if (full) {
      const summary = "Full-history hydration is deprecated for paginated threads; use `excludeTurns: true`.";
      this.#wire.notify("deprecationNotice", { summary, details: null });
    }
    thread.setStatus("idle");
    const turns = full ? thread.turns.map((turn) => turnView(turn, "full", turn.items)) : [];
    const after = (): void => {
      thread.repeatUsage();
      thread.notify("thread/goal/cleared", {});
    };
    return { result: { ...thread.sessionView(turns), ...RESUME_EXTRAS }, after };
  }

  #load(threadId: string): Thread {
    const thread = this.#stored(threadId);
    this.#deps.store.acquire(threadId);
    this.#threads.set(threadId, thread);
    return thread;
  }

  #stored(threadId: string): Thread {
    const stored = this.#deps.store.read(threadId);
    const meta = { ...stored.meta, sandbox: resumedSandbox(stored.meta.sandbox) };
    const thread = new Thread(this.#wire, this.#deps.store, meta);
    thread.restore(stored.turns, stored.usage);
    return thread;
  }

  #loaded(params: Params): Thread {
    const threadId = requiredText(params, "threadId");
    const thread = this.#threads.get(threadId);
    if (thread === undefined) throw new RpcError(`thread not found: ${threadId}`);
    return thread;
  }

  #readThread(params: Params): Reply {
    const threadId = requiredText(params, "threadId");
    const thread = this.#threads.get(threadId);
    if (thread === undefined) throw new RpcError(`thread not loaded: ${threadId}`);
    const turns = params["includeTurns"] === true ? thread.turns.map((turn) => turnView(turn, "full", turn.items)) : [];
    return { result: { thread: thread.view(turns), readState: null } };
  }

  #listTurns(params: Params): Reply {
    const thread = this.#loaded(params);
    if (!thread.materialized) {
      throw new RpcError(
        `thread ${thread.id} is not materialized yet; thread/turns/list is unavailable before first user message`,
      );
    }
    const limit = typeof params["limit"] === "number" ? params["limit"] : 20;
    const newest = thread.turns.toReversed().slice(0, limit);
    const data = newest.map((turn) => {
      const message = turn.items.findLast((item) => item.type === "agentMessage");
      const user = turn.items.find((item) => item.type === "userMessage");
      return turnView(
        turn,
        "summary",
        [user, message].filter((item) => item !== undefined),
      );
    });
    return { result: { data, nextCursor: null, backwardsCursor: null } };
  }

  #nameThread(params: Params): Reply {
    const thread = this.#loaded(params);
    const name = requiredText(params, "name");
    thread.update({ name });
    return { result: {}, after: () => thread.notify("thread/name/updated", { threadName: name }) };
  }

  #compact(params: Params): Reply {
    const thread = this.#loaded(params);
    const turn = new Turn(thread, [], null);
    const work = async (): Promise<void> => {
      const item = turn.open({ type: "contextCompaction", id: uuidV7() });
      turn.repeatUsage();
      turn.respond(inventTokens(thread.responses, 0));
      thread.responses = 0;
      turn.setUsage(compacted(thread.usage, inventTokens(0, 0).input));
      turn.complete(item);
    };
    return { result: {}, after: () => this.#run(turn, work, true) };
  }

  #listTerminals(params: Params): Reply {
    const data = this.#deps.commands.list(this.#loaded(params).id);
    return { result: { data, nextCursor: null } };
  }

  #cleanTerminals(params: Params): Reply {
    void this.#deps.commands.clean(this.#loaded(params).id);
    return { result: {} };
  }

  async #startTurn(params: Params): Promise<Reply> {
    const thread = this.#loaded(params);
    const texts = readInput(params);
    const clientId = optionalText(params, "clientUserMessageId");
    const sandbox = readSandboxPolicy(params);
    const approvalPolicy = readApprovalPolicy(params);
    const behaviour = await this.#deps.behaviour;
    const running = this.#active.get(thread.id);
    if (running !== undefined) {
      // Measured: turn/start while a turn is active steers it and answers with the active turn.
      return { result: { turn: running.view() }, after: () => running.steer(texts, clientId) };
    }
    this.#overrideSettings(thread, sandbox, approvalPolicy, optionalText(params, "cwd"));
    const turn = new Turn(thread, texts, clientId);
    const plan = behaviour.plan(thread.id, thread.meta, turn.prompt);
    this.#active.set(thread.id, turn);
    if (thread.meta.ticket === null) thread.update({ ticket: plan.words.ticket });
    const env = { ...thread.commandVariables, ...commandEnvironment(plan) };
    const actions = new Actions({ turn, wire: this.#wire, env, ...this.#deps });
    return { result: { turn: turn.view() }, after: () => this.#run(turn, () => plan.perform(actions)) };
  }

  /** Overrides stick for later turns, and a change is announced before the response (measured). */
  #overrideSettings(thread: Thread, sandbox: Params | null, approvalPolicy: unknown, cwd: string | null): void {
    const before = JSON.stringify(thread.settingsView());
    thread.update({
      ...(sandbox === null ? {} : { sandbox }),
      ...(approvalPolicy === null ? {} : { approvalPolicy }),
      ...(cwd === null ? {} : { cwd }),
    });
    const now = thread.settingsView();
    if (JSON.stringify(now) !== before) thread.notify("thread/settings/updated", { threadSettings: now });
  }

  /** Starts the work in a later turn of the event loop, so that an interrupt sent at once is refused as measured. */
  #run(turn: Turn, work: () => Promise<void>, compaction = false): void {
    this.#active.set(turn.thread.id, turn);
    setImmediate(() => {
      // Its thread may have been archived meanwhile.
      if (this.#active.get(turn.thread.id) === turn) void this.#runToEnd(turn, work, compaction);
    });
  }

  async #runToEnd(turn: Turn, work: () => Promise<void>, compaction: boolean): Promise<void> {
    await turn.run(work, compaction);
    if (this.#active.get(turn.thread.id) === turn) this.#active.delete(turn.thread.id);
  }

  #activeTurn(thread: Thread, verb: "steer" | "interrupt", expected: string): Turn {
    const turn = this.#active.get(thread.id);
    if (turn === undefined || !turn.active) throw new RpcError(`no active turn to ${verb}`);
    if (turn.id === expected) return turn;
    const quote = verb === "steer" ? "`" : "";
    throw new RpcError(`expected active turn id ${quote}${expected}${quote} but found ${quote}${turn.id}${quote}`);
  }

  #steerTurn(params: Params): Reply {
    const expected = requiredText(params, "expectedTurnId");
    const texts = readInput(params);
    const turn = this.#activeTurn(this.#loaded(params), "steer", expected);
    if (texts.length === 0) throw new RpcError("input must not be empty");
    return { result: { turnId: turn.id }, after: () => turn.steer(texts, null) };
  }

  #interruptTurn(params: Params): Reply {
    const expected = requiredText(params, "turnId");
    const turn = this.#activeTurn(this.#loaded(params), "interrupt", expected);
    turn.stop();
    return { result: {}, after: () => turn.interrupted() };
  }
}
