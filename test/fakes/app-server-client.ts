/** A plain JSON-RPC client for any program that speaks the app-server protocol: keeps everything that came, in order. */
import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { isRecord, type RequestId } from "../../src/agent/simulated/wire.ts";
import { until } from "../support/until.ts";

export type Params = Readonly<Record<string, unknown>>;

/** What the server sent. */
export type Received =
  | {
      readonly kind: "response";
      readonly id: RequestId;
      readonly method: string;
      readonly result: unknown;
      readonly error: unknown;
    }
  | { readonly kind: "request"; readonly id: RequestId; readonly method: string; readonly params: Params }
  | { readonly kind: "notification"; readonly method: string; readonly params: Params };

export interface ClientOptions {
  readonly command: readonly [string, ...string[]];
  readonly cwd: string;
  readonly env: Readonly<Record<string, string>>;
  /** Answers the server's requests; undefined leaves one unanswered. */
  readonly answer?: (method: string, params: Params) => unknown;
  /** Skips what is no message, also in front of one on the same line; otherwise that is an error. */
  readonly tolerant?: boolean;
}

function parseTolerantly(line: string): unknown {
  try {
    return JSON.parse(line.slice(Math.max(0, line.indexOf("{"))));
  } catch {
    return null;
  }
}

/** The `error` of a response, thrown. */
export class RefusedError extends Error {
  override readonly name = "RefusedError";
  readonly code: number;

  constructor(method: string, error: Params) {
    super(`${method}: ${String(error["message"])}`);
    this.code = Number(error["code"]);
  }
}

export class AppServerClient implements AsyncDisposable {
  readonly received: Received[] = [];
  readonly child: ChildProcess;
  readonly #answer: NonNullable<ClientOptions["answer"]>;
  readonly #pending = new Map<RequestId, { method: string; settle: (message: Params) => void }>();
  readonly #exit: Promise<unknown>;
  readonly #tolerant: boolean;
  #rest = "";
  #nextId = 1;
  /** All of stderr. */
  stderr = "";

  constructor(options: ClientOptions) {
    this.#tolerant = options.tolerant === true;
    const [file, ...args] = options.command;
    this.#answer = options.answer ?? (() => undefined);
    const child = spawn(file, args, { cwd: options.cwd, env: options.env, stdio: ["pipe", "pipe", "pipe"] });
    this.child = child;
    this.#exit = once(child, "exit");
    child.stdout.setEncoding("utf8").on("data", (text: string) => this.#feed(text));
    child.stderr.setEncoding("utf8").on("data", (text: string) => (this.stderr += text));
    // The server may be gone already when we write to it.
    child.stdin.on("error", () => undefined);
  }

  #feed(text: string): void {
    const lines = (this.#rest + text).split("\n");
    this.#rest = lines.pop() ?? "";
    for (const line of lines) {
      const message = this.#tolerant ? parseTolerantly(line) : (JSON.parse(line) as unknown);
      if (isRecord(message)) this.#take(message);
    }
  }

  #take(message: Params): void {
    const { id, method } = message;
    const params = isRecord(message["params"]) ? message["params"] : {};
    const hasId = typeof id === "number" || typeof id === "string";
    if (typeof method === "string" && hasId) {
      this.received.push({ kind: "request", id, method, params });
      const result = this.#answer(method, params);
      if (result !== undefined) this.send({ id, result });
    } else if (typeof method === "string") {
      this.received.push({ kind: "notification", method, params });
    } else if (hasId) {
      const pending = this.#pending.get(id);
      this.#pending.delete(id);
      const { result = null, error = null } = message;
      this.received.push({ kind: "response", id, method: pending?.method ?? "", result, error });
      pending?.settle(message);
    }
  }

  send(message: Params): void {
    this.child.stdin?.write(`${JSON.stringify(message)}\n`);
  }

  /** The `result` of a response; rejects with RefusedError. */
  async request(method: string, params: Params): Promise<Params> {
    const id = this.#nextId++;
    const { promise, resolve } = Promise.withResolvers<Params>();
    this.#pending.set(id, { method, settle: resolve });
    this.send({ id, method, params });
    const message = await Promise.race([promise, this.#exit.then(() => null)]);
    if (message === null) throw new Error(`the server ended before it answered ${method}: ${this.stderr}`);
    if (isRecord(message["error"])) throw new RefusedError(method, message["error"]);
    return isRecord(message["result"]) ? message["result"] : {};
  }

  /** initialize and initialized. */
  async initialize(experimentalApi = true): Promise<Params> {
    const clientInfo = { name: "symphony-test", title: "Test", version: "0.0.1" };
    const result = await this.request("initialize", { clientInfo, capabilities: { experimentalApi } });
    this.send({ method: "initialized" });
    return result;
  }

  /** Starts or resumes a thread and answers its id. */
  async thread(method: "thread/start" | "thread/resume", params: Params): Promise<string> {
    const { thread } = await this.request(method, params);
    if (!isRecord(thread)) throw new Error(`${method} answered without a thread`);
    return String(thread["id"]);
  }

  /** Starts a turn and answers its id. */
  async startTurn(threadId: string, text: string, more: Params = {}): Promise<string> {
    const { turn } = await this.request("turn/start", { threadId, input: [{ type: "text", text }], ...more });
    if (!isRecord(turn)) throw new Error("turn/start answered without a turn");
    return String(turn["id"]);
  }

  /** Runs a turn to its end and answers the `turn` of turn/completed. */
  async runTurn(threadId: string, text: string, more: Params = {}): Promise<Params> {
    const turnId = await this.startTurn(threadId, text, more);
    return this.turnEnd(turnId);
  }

  async turnEnd(turnId: string): Promise<Params> {
    const message = await this.seen(
      "turn/completed",
      (params) => isRecord(params["turn"]) && params["turn"]["id"] === turnId,
    );
    const turn = message["turn"];
    return isRecord(turn) ? turn : {};
  }

  /** Waits until a notification or request has come; answers the params of the first one. */
  async seen(method: string, matches: (params: Params) => boolean = () => true): Promise<Params> {
    const found = await until(`${method} has come`, () =>
      this.received.find(
        (message) => message.kind !== "response" && message.method === method && matches(message.params),
      ),
    );
    return found.kind === "response" ? {} : found.params;
  }

  /** Closes stdin and waits for the end; answers the exit code. */
  async close(): Promise<number | null> {
    this.child.stdin?.end();
    await this.#exit;
    return this.child.exitCode;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    if (this.child.exitCode === null && this.child.signalCode === null) {
      this.child.kill("SIGKILL");
      await this.#exit;
    }
  }
}
