/** One line to one JSON-RPC message, told apart by `method` and by the presence of `id` (the server's own ids start at 0). */
import { asObject, bounded, numberAt, stringAt, type JsonObject } from "./reading.ts";

export type RequestId = number | string;

/** The error member of a reply. */
export interface WireError {
  readonly code: number;
  readonly message: string;
  readonly data: unknown;
}

export type Incoming =
  | { readonly kind: "request"; readonly id: RequestId; readonly method: string; readonly params: unknown }
  | { readonly kind: "notification"; readonly method: string; readonly params: unknown }
  | { readonly kind: "result"; readonly id: RequestId; readonly result: unknown }
  | { readonly kind: "error"; readonly id: RequestId; readonly error: WireError }
  | { readonly kind: "blank" }
  | { readonly kind: "noise"; readonly sample: string };

/** A reply that says no. A class of its own: these are the other side's words, not ours. */
export class RpcError extends Error {
  override readonly name = "RpcError";
  readonly code: number;
  readonly data: unknown;

  constructor(code: number, message: string, data?: unknown) {
    super(message);
    this.code = code;
    this.data = data;
  }
}

/** JSON-RPC's own codes, for the answers that we give. */
const METHOD_NOT_FOUND = -32601;
export const INTERNAL_ERROR = -32603;

/** The answer to a method that we don't know: at once, and the session goes on. */
export function unknownMethod(method: string): RpcError {
  return new RpcError(METHOD_NOT_FOUND, `${method} is not supported by this client`);
}

const SAMPLE_CHARS = 200;
/** A shell's escape sequence without a newline glues itself to the first message; it is never longer than this. */
const PREFIX_CHARS = 4096;
const PREFIX_TRIES = 8;

/** Reads a line. Anything that is no message is noise; a message behind a glued prefix is found. */
export function parseLine(line: string): Incoming {
  if (line.trim() === "") return { kind: "blank" };
  return findMessage(line) ?? { kind: "noise", sample: bounded(line, SAMPLE_CHARS) };
}

function findMessage(line: string): Incoming | null {
  let tries = 0;
  for (
    let at = line.indexOf("{");
    at !== -1 && at < PREFIX_CHARS && tries < PREFIX_TRIES;
    at = line.indexOf("{", at + 1)
  ) {
    tries += 1;
    const message = asMessage(at === 0 ? line : line.slice(at));
    if (message !== null) return message;
  }
  return null;
}

function asMessage(text: string): Incoming | null {
  let parsed: unknown;
  try {
    parsed = JSON.parse(text);
  } catch {
    // Not JSON from here on: noise, which the caller reports.
    return null;
  }
  const message = asObject(parsed);
  return message === null ? null : classify(message);
}

function classify(message: JsonObject): Incoming | null {
  const method = stringAt(message, "method");
  const id = idOf(message);
  if (method !== null) {
    const params = message["params"];
    return id === null ? { kind: "notification", method, params } : { kind: "request", id, method, params };
  }
  if (id === null) return null;
  const error = message["error"];
  if (error === undefined || error === null) return { kind: "result", id, result: message["result"] };
  return {
    kind: "error",
    id,
    error: {
      code: numberAt(error, "code") ?? INTERNAL_ERROR,
      message: stringAt(error, "message") ?? "no message",
      data: asObject(error)?.["data"],
    },
  };
}

function idOf(message: JsonObject): RequestId | null {
  const id = message["id"];
  return typeof id === "number" || typeof id === "string" ? id : null;
}
