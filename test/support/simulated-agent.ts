/** Simulated agents for a test: real processes with folders of their own, and what they said. */
import { mkdir, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { COMPILE_CACHE } from "../../src/agent/simulated/command.ts";
import { isRecord } from "../../src/agent/simulated/wire.ts";
import { AppServerClient, type ClientOptions, type Params } from "../fakes/app-server-client.ts";
import { makeTempDir } from "./temp-dir.ts";

const ENTRY = fileURLToPath(new URL("../../src/agent/simulated/main.ts", import.meta.url));

export interface Launch {
  /** The `tickets` of a script; absent = no script. */
  readonly tickets?: unknown;
  readonly answer?: ClientOptions["answer"];
}

/** A successful answer to item/tool/call. */
export function toolReply(text: string, success = true): Params {
  return { contentItems: [{ type: "inputText", text }], success };
}

/** The `tickets` of a script with one run of the ticket ENG-7, a list of steps per turn. */
export function oneRun(...turns: readonly (readonly Params[])[]): unknown {
  return { "ENG-7": { runs: [{ turns: turns.map((steps) => ({ steps })) }] } };
}

/** A folder for a ticket, a home for its agents, and the agents. */
export class SimulatedBench {
  readonly dir: string;
  readonly cwd: string;
  readonly #clients: AppServerClient[] = [];
  readonly #dispose: () => Promise<void>;

  private constructor(dir: string, cwd: string, dispose: () => Promise<void>) {
    this.dir = dir;
    this.cwd = cwd;
    this.#dispose = dispose;
  }

  static async make(ticket: string): Promise<SimulatedBench> {
    const dir = await makeTempDir();
    const cwd = join(dir.path, ticket);
    await mkdir(cwd);
    return new SimulatedBench(dir.path, cwd, () => dir.dispose());
  }

  /** Starts a process and says nothing to it. */
  async spawn(launch: Launch = {}): Promise<AppServerClient> {
    const env: Record<string, string> = {
      PATH: process.env["PATH"] ?? "",
      HOME: this.dir,
      SYMPHONY_SIMULATED_HOME: join(this.dir, "home"),
      NODE_COMPILE_CACHE: COMPILE_CACHE,
    };
    if (launch.tickets !== undefined) {
      const script = join(this.dir, "script.json");
      await writeFile(script, JSON.stringify({ tickets: launch.tickets }));
      env["SYMPHONY_SIMULATED_SCRIPT"] = script;
    }
    const answer = launch.answer === undefined ? {} : { answer: launch.answer };
    const client = new AppServerClient({ command: [process.execPath, ENTRY], cwd: this.cwd, env, ...answer });
    this.#clients.push(client);
    return client;
  }

  /** Starts a process and shakes hands. */
  async launch(launch: Launch = {}): Promise<AppServerClient> {
    const client = await this.spawn(launch);
    await client.initialize();
    return client;
  }

  /** Starts a process with a thread that is offered the tools, and answers both. */
  async start(launch: Launch = {}, tools: readonly string[] = []): Promise<[AppServerClient, string]> {
    const client = await this.launch(launch);
    const schema = { type: "object" };
    const dynamicTools = tools.map((name) => ({ type: "function", name, description: name, inputSchema: schema }));
    const params = { cwd: this.cwd, sandbox: "workspace-write", dynamicTools };
    return [client, await client.thread("thread/start", params)];
  }

  async dispose(): Promise<void> {
    for (const client of this.#clients) await client[Symbol.asyncDispose]();
    await this.#dispose();
  }
}

/** The whole messages of the agent, in order. */
export function messages(client: AppServerClient): string[] {
  return client.received.flatMap((message) => {
    const item = message.kind === "notification" && message.method === "item/completed" ? message.params["item"] : null;
    return isRecord(item) && item["type"] === "agentMessage" ? [String(item["text"])] : [];
  });
}

/** The newest totals, as `[input, cached, output, reasoning]`. */
export function totals(client: AppServerClient): number[] {
  const last = client.received.findLast((message) => message.method === "thread/tokenUsage/updated");
  const usage = last?.kind === "notification" ? last.params["tokenUsage"] : null;
  const total = isRecord(usage) && isRecord(usage["total"]) ? usage["total"] : {};
  return ["inputTokens", "cachedInputTokens", "outputTokens", "reasoningOutputTokens"].map((key) => Number(total[key]));
}

/** The params of the agent's requests, in order. */
export function toolCalls(client: AppServerClient): Params[] {
  return client.received.flatMap((message) => (message.kind === "request" ? [message.params] : []));
}
