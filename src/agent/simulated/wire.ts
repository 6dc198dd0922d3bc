/** Newline-delimited JSON-RPC from the server's side: lines in, lines out, and the server's own requests. Knows no processes. */
import { StringDecoder } from "node:string_decoder";

export type RequestId = number | string;

/** The `error` member of a response. */
export interface RpcFailure {
  readonly code: number;
  readonly message: string;
  readonly data?: unknown;
}

/** What a client answered to one of our requests. */
export type ClientAnswer =
  { readonly ok: true; readonly result: unknown } | { readonly ok: false; readonly error: RpcFailure };

export interface WireHandlers {
  request(id: RequestId, method: string, params: unknown): void;
  notification(method: string): void;
  /** A line that is no JSON object; the real server logs it and gives no reply (measured on app-server 0.171.0). */
  noise(line: string): void;
}

/** True for a JSON object. */
export function isRecord(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

function isRequestId(value: unknown): value is RequestId {
  return typeof value === "number" || typeof value === "string";
}

function readFailure(value: unknown): RpcFailure {
  if (!isRecord(value)) return { code: -32603, message: "an error without a body" };
  const { code, message } = value;
  return {
    code: typeof code === "number" ? code : -32603,
    message: typeof message === "string" ? message : "an error without a message",
  };
}

/** One connection. Requests of ours count from 0 on their own, so they collide with the client's ids, as the real server's do. */
export class Wire {
  readonly #write: (line: string) => void;
  readonly #handlers: WireHandlers;
  readonly #decoder = new StringDecoder("utf8");
  readonly #pending = new Map<RequestId, (answer: ClientAnswer) => void>();
  #rest = "";
  #nextId = 0;

  constructor(write: (line: string) => void, handlers: WireHandlers) {
    this.#write = write;
    this.#handlers = handlers;
  }

  /** Takes bytes as they come; a character may be cut anywhere. */
  feed(chunk: Buffer): void {
    const lines = (this.#rest + this.#decoder.write(chunk)).split("\n");
    this.#rest = lines.pop() ?? "";
    for (const line of lines) this.#take(line);
  }

  notify(method: string, params: Readonly<Record<string, unknown>>): void {
    this.#send({ method, params, emittedAtMs: Date.now() });
  }

  respond(id: RequestId, result: unknown): void {
    this.#send({ id, result });
  }

  refuse(id: RequestId, error: RpcFailure): void {
    this.#send({ error, id });
  }

  /** Sends a request to the client. There is no deadline: an unanswered one waits for ever, as measured. */
  call(method: string, params: Readonly<Record<string, unknown>>): { id: RequestId; answer: Promise<ClientAnswer> } {
    const id = this.#nextId++;
    const { promise, resolve } = Promise.withResolvers<ClientAnswer>();
    this.#pending.set(id, resolve);
    this.#send({ method, id, params });
    return { id, answer: promise };
  }

  #send(message: Readonly<Record<string, unknown>>): void {
    this.#write(`${JSON.stringify(message)}\n`);
  }

  #take(line: string): void {
    let message: unknown;
    try {
      message = JSON.parse(line);
    } catch {
      this.#handlers.noise(line);
      return;
    }
    if (!isRecord(message)) {
      this.#handlers.noise(line);
      return;
    }
    const { id, method } = message;
    if (typeof method === "string" && isRequestId(id)) this.#handlers.request(id, method, message["params"]);
    else if (typeof method === "string") this.#handlers.notification(method);
    else if (isRequestId(id)) this.#settle(id, message);
    else this.#handlers.noise(line);
  }

  #settle(id: RequestId, message: Readonly<Record<string, unknown>>): void {
    const resolve = this.#pending.get(id);
    if (resolve === undefined) return;
    this.#pending.delete(id);
    if ("error" in message) resolve({ ok: false, error: readFailure(message["error"]) });
    else resolve({ ok: true, result: message["result"] });
  }
}
