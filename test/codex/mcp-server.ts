/** A small MCP server on stdio with one tool, which asks a person for a colour and says what it got. */
import { createInterface } from "node:readline";
import { isRecord } from "../../src/agent/simulated/wire.ts";

const ASK_ID = "ask-1";
let callId: unknown = null;

function send(message: Readonly<Record<string, unknown>>): void {
  process.stdout.write(`${JSON.stringify({ jsonrpc: "2.0", ...message })}\n`);
}

const TOOL = {
  name: "paint",
  description: "Paints.",
  inputSchema: { type: "object", properties: {} },
  // A tool that only reads is run without the app-server's own approval.
  annotations: { readOnlyHint: true },
};
const QUESTION = {
  message: "Which colour?",
  requestedSchema: { type: "object", properties: { colour: { type: "string" } }, required: ["colour"] },
};

function onRequest(id: unknown, method: unknown, params: unknown): void {
  if (method === "initialize") {
    const protocolVersion = isRecord(params) ? params["protocolVersion"] : "2025-06-18";
    const serverInfo = { name: "painter", version: "1.0.0" };
    send({ id, result: { protocolVersion, capabilities: { tools: {} }, serverInfo } });
  } else if (method === "tools/list") {
    send({ id, result: { tools: [TOOL] } });
  } else if (method === "tools/call") {
    callId = id;
    send({ id: ASK_ID, method: "elicitation/create", params: QUESTION });
  } else {
    send({ id, error: { code: -32_601, message: "no such method" } });
  }
}

createInterface({ input: process.stdin }).on("line", (line) => {
  const message: unknown = JSON.parse(line);
  if (!isRecord(message)) return;
  const { id, method, params } = message;
  if (method !== undefined && id !== undefined) onRequest(id, method, params);
  else if (id === ASK_ID) {
    const text = `the person said ${JSON.stringify(message["result"])}`;
    send({ id: callId, result: { content: [{ type: "text", text }] } });
  }
});
