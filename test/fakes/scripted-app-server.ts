/** An app-server in memory whose every answer is the test's: for what a well-behaved server never does. */
import { PassThrough } from "node:stream";
import type { AgentProcess, Host, ProcessExit, ScriptRequest, SpawnRequest } from "../../src/host/port.ts";
import { until } from "../support/until.ts";

type Params = Readonly<Record<string, unknown>>;

interface Message {
  readonly id?: number | string;
  readonly method?: string;
  readonly params?: Params;
  readonly result?: unknown;
  readonly error?: unknown;
}

/** What a handler answers with. */
export type Answer =
  | { readonly result: unknown }
  | { readonly error: { readonly code: number; readonly message: string } }
  /** No answer at all. */
  | "silence";

/** `server` may be told to send more: it follows the answer. */
type Handler = (params: Params, server: ScriptedAppServer) => Answer;

export const THREAD = "thread-1";

/** An error as the real server words it: everything is -32600. */
export function refusal(message: string, code = -32_600): Answer {
  return { error: { code, message } };
}

/**
 * One per test. Answers go to the process that was asked, everything else to the newest one that the host spawned. By default it
 * greets, starts threads, and starts turns without ever ending them.
 */
export class ScriptedAppServer {
  readonly received: Message[] = [];
  readonly spawned: SpawnRequest[] = [];
  readonly scripts: ScriptRequest[] = [];
  readonly #handlers = new Map<string, Handler>([
    ["initialize", () => ({ result: { userAgent: "symphony/0.171.0 (test)" } })],
    ["thread/start", () => ({ result: { thread: { id: THREAD }, model: "gpt-5.5" } })],
    ["thread/resume", ({ threadId }) => ({ result: { thread: { id: threadId } } })],
    ["turn/start", (_params, server) => server.startTurn()],
    [
      "turn/interrupt",
      ({ turnId }, server) => server.after({ result: {} }, () => server.endTurn(String(turnId), "interrupted")),
    ],
    ["thread/backgroundTerminals/clean", () => ({ result: {} })],
  ]);
  #process = newProcess();
  #turns = 0;
  #asked = 0;
  #ended = 0;
  readonly #queued: (() => void)[] = [];

  readonly host: Host = {
    name: "scripted",
    spawn: (request) => Promise.resolve(this.#spawn(request)),
    runScript: (request) => {
      this.scripts.push(request);
      return Promise.resolve({ exitCode: 0, timedOut: false, aborted: false, output: "" });
    },
    reap: () => Promise.resolve(0),
    reapAll: () => Promise.resolve(0),
  };

  /** How many of the spawned processes have not ended. */
  get running(): number {
    return this.spawned.length - this.#ended;
  }

  /** Replaces the answer to a method. */
  on(method: string, handler: Handler): this {
    this.#handlers.set(method, handler);
    return this;
  }

  /** Answers a method differently the first times; the last answer stays. */
  onEach(method: string, answers: readonly Handler[]): this {
    let at = 0;
    return this.on(method, (params, server) => {
      const handler = answers[Math.min(at, answers.length - 1)];
      at += 1;
      return handler?.(params, server) ?? "silence";
    });
  }

  /** Does something once the answer is on its way. */
  after(answer: Answer, then: () => void): Answer {
    this.#queued.push(then);
    return answer;
  }

  /** The default answer to turn/start, with a fresh id: turn-1, turn-2. */
  startTurn(): Answer {
    this.#turns += 1;
    const id = `turn-${this.#turns}`;
    return this.after({ result: { turn: { id, status: "inProgress" } } }, () =>
      this.notify("turn/started", { turn: { id } }),
    );
  }

  endTurn(id: string, status: string, error: unknown = null): void {
    this.notify("turn/completed", { turn: { id, status, error } });
  }

  /** A notification about the session's own thread, unless `params` name another. */
  notify(method: string, params: Params = {}): void {
    this.raw(`${JSON.stringify({ method, params: { threadId: THREAD, ...params } })}\n`);
  }

  /** Asks the client; the answer is found by `answerTo`. Ids count from 0, as the real server's. */
  ask(method: string, params: Params = {}): number {
    const id = this.#asked;
    this.#asked += 1;
    this.raw(`${JSON.stringify({ id, method, params: { threadId: THREAD, ...params } })}\n`);
    return id;
  }

  raw(text: string): void {
    this.#process.stdout.write(text);
  }

  /** As a pipe hands them over: cut anywhere. */
  bytes(chunk: Uint8Array): void {
    this.#process.stdout.write(chunk);
  }

  /** The process ends by itself. */
  exit(exit: ProcessExit, stderr = ""): void {
    this.#process.stderr = stderr;
    this.#process.stdout.end();
    this.#process.end.resolve(exit);
  }

  /** Requests and notifications of one method that the client has sent. */
  calls(method: string): readonly Params[] {
    return this.received.filter((message) => message.method === method).map(({ params }) => params ?? {});
  }

  /** Waits until the client has sent that many of a method. */
  async untilCalled(method: string, times = 1): Promise<void> {
    await until(`${method} is sent ${times} times`, () => this.calls(method).length >= times);
  }

  /** The client's answers to request `id`; waits for the first. */
  async answerTo(id: number): Promise<readonly Message[]> {
    const answers = (): Message[] =>
      this.received.filter((message) => message.method === undefined && message.id === id);
    await until(`request ${id} is answered`, () => answers().length > 0);
    return answers();
  }

  #spawn(request: SpawnRequest): AgentProcess {
    this.spawned.push(request);
    const process = newProcess();
    this.#process = process;
    let rest = "";
    process.stdin.setEncoding("utf8").on("data", (text: string) => {
      const lines = (rest + text).split("\n");
      rest = lines.pop() ?? "";
      for (const line of lines) this.#take(JSON.parse(line) as Message, process.stdout);
    });
    void process.end.promise.then(() => (this.#ended += 1));
    const pid = 1000 + this.spawned.length;
    const identity = { pid, processGroup: pid, startTime: "1", marker: request.marker };
    request.record?.(identity);
    return {
      identity,
      stdin: process.stdin,
      stdout: process.stdout,
      exited: process.end.promise,
      stderrTail: () => process.stderr,
      stop: () => {
        process.stdout.end();
        process.end.resolve({ code: 0, signal: null });
        return Promise.resolve();
      },
    };
  }

  #take(message: Message, asker: PassThrough): void {
    this.received.push(message);
    if (message.method === undefined || message.id === undefined) return;
    const handler = this.#handlers.get(message.method);
    const answer = handler?.(message.params ?? {}, this) ?? refusal(`unknown variant \`${message.method}\``);
    if (answer !== "silence") asker.write(`${JSON.stringify({ id: message.id, ...answer })}\n`);
    for (const then of this.#queued.splice(0)) then();
  }
}

function newProcess(): {
  readonly stdin: PassThrough;
  readonly stdout: PassThrough;
  readonly end: PromiseWithResolvers<ProcessExit>;
  stderr: string;
} {
  return { stdin: new PassThrough(), stdout: new PassThrough(), end: Promise.withResolvers(), stderr: "" };
}
