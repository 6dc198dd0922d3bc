/** What a client sees of a session, without what differs by nature: ids, times, texts, and how a text is cut into pieces. */
import { isRecord } from "../../src/agent/simulated/wire.ts";
import type { Received } from "../fakes/app-server-client.ts";

/** About the machine or the account, not about the session. */
const BESIDE = ["configWarning", "remoteControl/status/changed", "warning", "mcpServer/startupStatus/updated"];

function word(value: unknown): string {
  return typeof value === "string" ? ` ${value}` : "";
}

function flags(value: unknown): string {
  return Array.isArray(value) && value.length > 0 ? ` ${value.join()}` : "";
}

function describe(message: Received): string {
  if (message.kind === "response") return `response ${message.method}${message.error === null ? "" : " refused"}`;
  const { item, status, turn, tokenUsage, willRetry } = message.params;
  const parts = [
    isRecord(item) ? `${word(item["type"])}${word(item["status"])}` : "",
    isRecord(status) ? word(status["type"]) + flags(status["activeFlags"]) : "",
    isRecord(turn) ? `${word(turn["status"])} ${String(turn["itemsView"])}` : "",
    isRecord(tokenUsage) ? ` ${JSON.stringify(tokenUsage["total"])}` : "",
    typeof willRetry === "boolean" ? ` willRetry=${willRetry}` : "",
  ];
  return `${message.kind} ${message.method}${parts.join("")}`;
}

/**
 * One line per message; pieces of one text count once. Left out is the notice that a thread no longer waits for an answer: the real
 * server sends it before or after the end of the item that was asked about, as it happens.
 */
export function outline(received: readonly Received[]): string[] {
  const lines: string[] = [];
  let asked = false;
  for (const message of received) {
    const line = describe(message);
    if (BESIDE.includes(message.method) || (line.endsWith("elta") && lines.at(-1) === line)) continue;
    if (message.method === "serverRequest/resolved") asked = true;
    if (asked && line.endsWith("changed active")) asked = false;
    else lines.push(line);
  }
  return lines;
}

/** The names of a value's fields, all the way down; lists by their first entry. */
function fieldsOf(value: unknown, path = ""): string[] {
  if (Array.isArray(value)) return value.length === 0 ? [] : fieldsOf(value[0], `${path}[]`);
  if (!isRecord(value)) return [];
  return Object.entries(value).flatMap(([key, entry]) => [`${path}.${key}`, ...fieldsOf(entry, `${path}.${key}`)]);
}

/** Which fields each sort of message has, by the message's line in the outline. */
export function fieldsByMessage(received: readonly Received[]): Record<string, string[]> {
  const fields: Record<string, string[]> = {};
  for (const message of received) {
    const line = describe(message).replace(/ \{.*\}/, "");
    if (BESIDE.includes(message.method)) continue;
    fields[line] ??= fieldsOf(message.kind === "response" ? message.result : message.params).toSorted();
  }
  return fields;
}
