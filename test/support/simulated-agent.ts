/** Starts simulated agents for a test, with folders of their own. */
import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { COMPILE_CACHE } from "../../src/agent/simulated/command.ts";
import { AppServerClient, type ClientOptions, type Params } from "../fakes/app-server-client.ts";

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

/** A tool as it is declared on thread/start. */
export function declareTool(name: string): Params {
  return { type: "function", name, description: name, inputSchema: { type: "object" } };
}

/** Starts a process whose home is `<dir>/home`, in the directory `cwd`. The handshake is left to the caller. */
export async function launchSimulated(dir: string, cwd: string, launch: Launch = {}): Promise<AppServerClient> {
  const env: Record<string, string> = {
    PATH: process.env["PATH"] ?? "",
    HOME: dir,
    SYMPHONY_SIMULATED_HOME: join(dir, "home"),
    NODE_COMPILE_CACHE: COMPILE_CACHE,
  };
  if (launch.tickets !== undefined) {
    const script = join(dir, "script.json");
    await writeFile(script, JSON.stringify({ tickets: launch.tickets }));
    env["SYMPHONY_SIMULATED_SCRIPT"] = script;
  }
  const answer = launch.answer === undefined ? {} : { answer: launch.answer };
  return new AppServerClient({ command: [process.execPath, ENTRY], cwd, env, ...answer });
}
