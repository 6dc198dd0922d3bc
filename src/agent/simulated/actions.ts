/** What a simulated agent can do in a turn: speak, run commands, write files and call tools, each as one model response. */
import { systemClock } from "../../lib/clock.ts";
import type { CommandEnd, Commands, RunningCommand } from "./commands.ts";
import { planWrite } from "./file-change.ts";
import { shortId } from "./ids.ts";
import type { Item } from "./rollout.ts";
import type { Turn } from "./turn.ts";
import { inventTokens, type ResponseTokens } from "./usage.ts";
import { isRecord, type Wire } from "./wire.ts";

/** Undefined = invent figures, null = report none. */
export type TokensWish = ResponseTokens | null | undefined;

export interface SayOptions {
  readonly tokens?: TokensWish;
  /** How many deltas the text is cut into. */
  readonly chunks?: number;
  readonly everyMs?: number;
  readonly phase?: "commentary" | "final_answer" | null;
}

export interface ToolCall {
  readonly tool: string;
  readonly arguments: unknown;
}

export interface ToolOutcome {
  readonly success: boolean;
  readonly text: string;
}

/** `outputDelta` carries up to 8 kB (measured). */
const DELTA_CHARS = 8_192;

export interface ActionDeps {
  readonly turn: Turn;
  readonly wire: Wire;
  readonly commands: Commands;
  /** Added to the environment of shell commands. */
  readonly env: Readonly<Record<string, string>>;
  /** Ends the process as a crash would. */
  exit(code: number): void;
}

export class Actions {
  readonly turn: Turn;
  readonly #deps: ActionDeps;

  constructor(deps: ActionDeps) {
    this.turn = deps.turn;
    this.#deps = deps;
  }

  get cwd(): string {
    return this.turn.thread.meta.cwd;
  }

  get toolNames(): readonly string[] {
    return this.turn.thread.meta.toolNames;
  }

  respond(tokens: TokensWish, text = ""): void {
    if (tokens === null) return;
    this.turn.respond(tokens ?? inventTokens(this.turn.thread.responses, text.length));
  }

  /** Streams a message. Cut by a steer, the item stays open and no usage is reported, as measured. */
  async say(text: string, options: SayOptions = {}): Promise<void> {
    const base = {
      type: "agentMessage",
      moderation: null,
      id: shortId("msg"),
      text: "",
      phase: options.phase ?? null,
      memoryCitation: null,
      delivery: null,
      questions: null,
    };
    const item = this.turn.open(base);
    const size = Math.max(1, Math.ceil(text.length / (options.chunks ?? 2)));
    const cut = this.turn.cutSignal;
    for (let at = 0; at < text.length; at += size) {
      if (options.everyMs !== undefined) await this.pause(options.everyMs);
      if (cut.aborted) return;
      this.turn.emit("item/agentMessage/delta", { itemId: item.id, delta: text.slice(at, at + size) });
    }
    this.turn.complete({ ...item, text });
    this.respond(options.tokens, text);
  }

  think(text: string): void {
    const item = this.turn.open({ type: "reasoning", id: shortId("rs"), summary: [], content: [] });
    const place = { itemId: item.id, summaryIndex: 0 };
    this.turn.emit("item/reasoning/summaryPartAdded", place);
    this.turn.emit("item/reasoning/summaryTextDelta", { ...place, delta: text });
    this.turn.complete({ ...item, summary: [text] });
  }

  /** Waits; ends early when the turn is steered, rejects when it is interrupted. */
  async pause(ms: number): Promise<void> {
    const cut = this.turn.cutSignal;
    await this.turn.until(systemClock.sleep(ms, cut).catch(() => undefined));
  }

  /** Silence until somebody steers or interrupts. */
  async hang(): Promise<void> {
    const cut = this.turn.cutSignal;
    const held = Promise.withResolvers<void>();
    cut.addEventListener("abort", () => held.resolve(), { once: true });
    await this.turn.until(held.promise);
  }

  /** Runs a command. An interrupt leaves it running; its item is completed when it ends (measured). */
  async shell(command: string, tokens: TokensWish, background = false): Promise<CommandEnd | null> {
    const blank = commandItem(command, this.cwd);
    const running = this.#start(command, blank.id);
    const item = this.turn.open({ ...blank, processId: String(running.pid) });
    const late = this.#finish(running, item);
    if (background) {
      this.respond(tokens, command);
      return null;
    }
    const end = await this.turn.until(late, () => this.respond(tokens, command));
    this.respond(tokens, command);
    return end;
  }

  /** Runs a command whose item is open already, because a person was asked about it first. */
  async runAccepted(command: string, item: Item): Promise<void> {
    const running = this.#start(command, item.id);
    await this.turn.until(this.#finish(running, { ...item, processId: String(running.pid) }));
  }

  #start(command: string, itemId: string): RunningCommand {
    const { turn } = this;
    return this.#deps.commands.run({
      threadId: turn.thread.id,
      itemId,
      command,
      cwd: this.cwd,
      env: this.#deps.env,
      onOutput: (text) => {
        for (let at = 0; at < text.length; at += DELTA_CHARS) {
          turn.emit("item/commandExecution/outputDelta", { itemId, delta: text.slice(at, at + DELTA_CHARS) });
        }
      },
    });
  }

  async #finish(running: RunningCommand, item: Item): Promise<CommandEnd> {
    const end = await running.ended;
    const status = end.exitCode === 0 ? "completed" : "failed";
    const { exitCode, durationMs, output: aggregatedOutput } = end;
    this.turn.completeLate({ ...item, status, aggregatedOutput, exitCode, durationMs });
    return end;
  }

  /** Writes a file inside the thread's directory. */
  async writeFile(path: string, content: string, append: boolean, tokens: TokensWish): Promise<void> {
    const change = await planWrite({ cwd: this.cwd, path, content, append });
    const item = this.turn.open({
      type: "fileChange",
      id: shortId("call"),
      changes: [change.view],
      status: "inProgress",
    });
    await this.turn.until(change.apply());
    this.turn.complete({ ...item, status: "completed" });
    this.turn.setDiff(change.view.diff);
    this.respond(tokens, content);
  }

  /** Calls tools side by side, as one response does. A name that wasn't offered never reaches the client (measured). */
  async callTools(calls: readonly ToolCall[], tokens: TokensWish): Promise<readonly ToolOutcome[]> {
    const report = (): void => this.respond(tokens, JSON.stringify(calls));
    const outcomes = await this.turn.until(Promise.all(calls.map((call) => this.#callTool(call))), report);
    report();
    return outcomes;
  }

  async #callTool(call: ToolCall): Promise<ToolOutcome> {
    if (!this.toolNames.includes(call.tool)) return { success: false, text: `unsupported call: ${call.tool}` };
    const startedAt = Date.now();
    const callId = shortId("call");
    const fields = { namespace: null, tool: call.tool, arguments: call.arguments };
    const pending = { status: "inProgress", contentItems: null, success: null, durationMs: null };
    const item = this.turn.open({ type: "dynamicToolCall", id: callId, ...fields, ...pending });
    const { answer } = this.#deps.wire.call("item/tool/call", {
      threadId: this.turn.thread.id,
      turnId: this.turn.id,
      callId,
      ...fields,
    });
    const settle = (reply: ToolReply): void => {
      const status = reply.success ? "completed" : "failed";
      this.turn.complete({ ...item, status, ...reply, durationMs: Date.now() - startedAt });
    };
    const reply = readToolReply(await this.turn.until(answer, () => settle({ success: false, contentItems: [] })));
    settle(reply);
    return { success: reply.success, text: replyText(reply.contentItems) };
  }

  /** A crash in the middle of the turn. */
  exit(code: number): void {
    this.#deps.exit(code);
  }

  /** Shows that the thread waits for a person. */
  waitFor(flag: "waitingOnApproval" | "waitingOnUserInput"): void {
    this.turn.thread.setStatus("active", [flag]);
  }

  /** Sends a server request that policy or a person answers; null for an error. Unanswered, it waits for ever, as measured. */
  async request(method: string, params: Readonly<Record<string, unknown>>, hooks: RequestHooks = {}): Promise<unknown> {
    const { thread, id: turnId } = this.turn;
    const { id, answer } = this.#deps.wire.call(method, { threadId: thread.id, turnId, ...params });
    const resolved = (): void => thread.notify("serverRequest/resolved", { requestId: id });
    const reply = await this.turn.until(answer, () => {
      hooks.interrupted?.();
      this.turn.afterEnd(resolved);
    });
    resolved();
    const result = reply.ok ? reply.result : null;
    hooks.answered?.(result);
    thread.setStatus("active");
    return result;
  }
}

/** What happens around the answer of a request. */
export interface RequestHooks {
  /** Before the thread stops waiting. */
  answered?(result: unknown): void;
  interrupted?(): void;
}

/** The item of a command that hasn't started. */
export function commandItem(command: string, cwd: string): Item {
  return {
    type: "commandExecution",
    id: shortId("call"),
    pluginId: null,
    scriptPath: null,
    command: `/bin/bash -c ${quote(command)}`,
    cwd,
    processId: null,
    source: "unifiedExecStartup",
    status: "inProgress",
    commandActions: [{ type: "unknown", command }],
    aggregatedOutput: null,
    exitCode: null,
    durationMs: null,
  };
}

function quote(text: string): string {
  return `'${text.replaceAll("'", `'\\''`)}'`;
}

interface ToolReply {
  readonly success: boolean;
  readonly contentItems: readonly unknown[];
}

function inputText(value: string): readonly unknown[] {
  return [{ type: "inputText", text: value }];
}

/** What the model sees of a reply, in the real server's words. */
function readToolReply(answer: Awaited<ReturnType<Wire["call"]>["answer"]>): ToolReply {
  if (!answer.ok) return { success: false, contentItems: inputText("dynamic tool request failed") };
  const { result } = answer;
  if (!isRecord(result) || !Array.isArray(result["contentItems"]) || typeof result["success"] !== "boolean") {
    return { success: false, contentItems: inputText("dynamic tool response was invalid") };
  }
  return { success: result["success"], contentItems: result["contentItems"] };
}

function replyText(items: readonly unknown[]): string {
  const texts = items.map((item) => (isRecord(item) && typeof item["text"] === "string" ? item["text"] : ""));
  return texts.join("\n");
}
