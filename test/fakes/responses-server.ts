/** A small Responses API on loopback for the real codex binary: what the model says is decided by the test, request by request. */
import { once } from "node:events";
import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { isRecord } from "../../src/agent/simulated/wire.ts";
import type { TokenCounts } from "../../src/domain/tokens.ts";
import { addTokens, NO_TOKENS } from "../../src/domain/tokens.ts";

/** One thing in a model's response. */
export type ModelItem =
  | { readonly kind: "message"; readonly text: string }
  | { readonly kind: "reasoning"; readonly text: string }
  | {
      readonly kind: "call";
      readonly name: string;
      readonly arguments: Readonly<Record<string, unknown>>;
      /** Of a tool that codex offers in a group. */
      readonly namespace?: string;
    }
  /** `apply_patch` as the custom tool that it is; `input` is the patch's text. */
  | { readonly kind: "patch"; readonly input: string };

/** What the model server does with one request. */
export type ModelReply =
  | {
      readonly kind: "answer";
      readonly items: readonly ModelItem[];
      readonly usage?: TokenCounts;
      readonly headers?: Readonly<Record<string, string>>;
    }
  | {
      readonly kind: "status";
      readonly status: number;
      readonly body: Readonly<Record<string, unknown>>;
      readonly headers?: Readonly<Record<string, string>>;
    }
  /** The event `response.failed`, with the code that decides how codex reads it. */
  | { readonly kind: "failed"; readonly code: string; readonly message: string }
  /** The stream ends after the items, without `response.completed`. */
  | { readonly kind: "cut"; readonly items: readonly ModelItem[] }
  /** The items are sent, then nothing more, until the server is closed or the client goes away. */
  | { readonly kind: "hang"; readonly items: readonly ModelItem[] };

/** A request as a test wants to look at it. */
export interface ModelRequest {
  /** Counts from 0 over the server's life. */
  readonly index: number;
  readonly body: Readonly<Record<string, unknown>>;
  readonly headers: IncomingMessage["headers"];
  /** Every text of the conversation, in order, joined by new lines: what a prompt or a tool's output can be found in. */
  readonly text: string;
  /** The last user message. */
  readonly lastUserText: string;
  /** Outputs of tools and commands, in order. */
  readonly outputs: readonly string[];
}

export interface ResponsesServer {
  /** `http://127.0.0.1:<port>/v1`. */
  readonly baseUrl: string;
  readonly requests: readonly ModelRequest[];
  /** The sum of the usage in every `response.completed` that was sent. */
  readonly reported: TokenCounts;
  close(): Promise<void>;
}

const DEFAULT_USAGE: TokenCounts = { input: 1000, cachedInput: 600, output: 50, reasoning: 10 };

/** A message. */
export function say(text: string, usage: TokenCounts = DEFAULT_USAGE): ModelReply {
  return { kind: "answer", items: [{ kind: "message", text }], usage };
}

/** One tool call. */
export function callTool(
  name: string,
  args: Readonly<Record<string, unknown>>,
  usage: TokenCounts = DEFAULT_USAGE,
): ModelReply {
  return { kind: "answer", items: [{ kind: "call", name, arguments: args }], usage };
}

/** One shell command. */
export function runCommand(cmd: string, usage: TokenCounts = DEFAULT_USAGE): ModelReply {
  return callTool("exec_command", { cmd }, usage);
}

function textsOf(value: unknown): string[] {
  if (typeof value === "string") return [value];
  if (Array.isArray(value)) return value.flatMap(textsOf);
  if (!isRecord(value)) return [];
  return [value["text"], value["content"], value["output"]].flatMap((part) =>
    part === undefined ? [] : textsOf(part),
  );
}

function readRequest(index: number, headers: IncomingMessage["headers"], raw: string): ModelRequest {
  const body: unknown = JSON.parse(raw);
  if (!isRecord(body)) throw new Error("the request body is no JSON object");
  const input = Array.isArray(body["input"]) ? body["input"].filter(isRecord) : [];
  const users = input.filter((item) => item["type"] === "message" && item["role"] === "user");
  const outputs = input.filter((item) => String(item["type"]).endsWith("_output"));
  return {
    index,
    body,
    headers,
    text: input.flatMap(textsOf).join("\n"),
    lastUserText: textsOf(users.at(-1)).join("\n"),
    outputs: outputs.map((item) => textsOf(item["output"]).join("\n")),
  };
}

/** Starts the server; `decide` is asked once per POST, in order of arrival, and may take its time. */
export async function startResponsesServer(
  decide: (request: ModelRequest) => ModelReply | Promise<ModelReply>,
): Promise<ResponsesServer> {
  const requests: ModelRequest[] = [];
  let reported = NO_TOKENS;
  const answer = async (read: ModelRequest, response: ServerResponse): Promise<void> => {
    const reply = await decide(read);
    if (response.destroyed) return;
    if (reply.kind === "answer" && reply.usage !== undefined) reported = addTokens(reported, reply.usage);
    sendReply(response, reply, read.index);
  };
  const server = createServer((request, response) => {
    let raw = "";
    request.setEncoding("utf8").on("data", (text: string) => (raw += text));
    request.on("end", () => {
      if (request.method !== "POST" || request.url !== "/v1/responses") {
        response.writeHead(404, { "content-type": "application/json" }).end(`{"error":{"message":"no such route"}}`);
        return;
      }
      const read = readRequest(requests.length, request.headers, raw);
      requests.push(read);
      void answer(read, response);
    });
  });
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  const { port } = server.address() as AddressInfo;
  return {
    baseUrl: `http://127.0.0.1:${port}/v1`,
    requests,
    get reported() {
      return reported;
    },
    async close() {
      server.closeAllConnections();
      server.close();
      await once(server, "close");
    },
  };
}

function sendReply(response: ServerResponse, reply: ModelReply, index: number): void {
  if (reply.kind === "status") {
    response.writeHead(reply.status, { "content-type": "application/json", ...reply.headers });
    response.end(JSON.stringify(reply.body));
    return;
  }
  const headers = reply.kind === "answer" ? reply.headers : undefined;
  response.writeHead(200, { "content-type": "text/event-stream", ...headers });
  const id = `resp_${index}`;
  sendEvent(response, "response.created", { response: { id } });
  if (reply.kind === "failed") {
    sendEvent(response, "response.failed", { response: { id, error: { code: reply.code, message: reply.message } } });
    response.end();
    return;
  }
  for (const [position, item] of reply.items.entries()) sendItem(response, item, `${index}_${position}`);
  if (reply.kind === "hang") return;
  if (reply.kind === "answer") {
    const usage = reply.usage === undefined ? {} : { usage: usageBody(reply.usage) };
    sendEvent(response, "response.completed", { response: { id, ...usage } });
  }
  response.end();
}

function usageBody(usage: TokenCounts): Readonly<Record<string, unknown>> {
  return {
    input_tokens: usage.input,
    input_tokens_details: { cached_tokens: usage.cachedInput },
    output_tokens: usage.output,
    output_tokens_details: { reasoning_tokens: usage.reasoning },
    total_tokens: usage.input + usage.output,
  };
}

function sendEvent(response: ServerResponse, type: string, fields: Readonly<Record<string, unknown>>): void {
  response.write(`event: ${type}\ndata: ${JSON.stringify({ type, ...fields })}\n\n`);
}

function sendItem(response: ServerResponse, item: ModelItem, suffix: string): void {
  if (item.kind === "message") {
    const message = { type: "message", role: "assistant", id: `msg_${suffix}` };
    sendEvent(response, "response.output_item.added", { item: { ...message, content: [] } });
    const middle = Math.ceil(item.text.length / 2);
    for (const delta of [item.text.slice(0, middle), item.text.slice(middle)]) {
      if (delta !== "") sendEvent(response, "response.output_text.delta", { delta, item_id: message.id });
    }
    sendDone(response, { ...message, content: [{ type: "output_text", text: item.text }] });
  } else if (item.kind === "reasoning") {
    const reasoning = { type: "reasoning", id: `rs_${suffix}` };
    sendEvent(response, "response.output_item.added", { item: { ...reasoning, summary: [] } });
    const place = { item_id: reasoning.id, summary_index: 0 };
    sendEvent(response, "response.reasoning_summary_part.added", place);
    sendEvent(response, "response.reasoning_summary_text.delta", { ...place, delta: item.text });
    sendDone(response, { ...reasoning, summary: [{ type: "summary_text", text: item.text }] });
  } else if (item.kind === "call") {
    const args = JSON.stringify(item.arguments);
    const group = item.namespace === undefined ? {} : { namespace: item.namespace };
    sendDone(response, {
      type: "function_call",
      call_id: `call_${suffix}`,
      name: item.name,
      arguments: args,
      ...group,
    });
  } else {
    const call = { type: "custom_tool_call", call_id: `call_${suffix}`, name: "apply_patch", input: item.input };
    sendDone(response, call);
  }
}

function sendDone(response: ServerResponse, item: Readonly<Record<string, unknown>>): void {
  sendEvent(response, "response.output_item.done", { item });
}
