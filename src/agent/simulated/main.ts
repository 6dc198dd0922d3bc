#!/usr/bin/env node
/**
 * The simulated agent: an executable that speaks the app-server protocol on stdin and stdout, and works on tickets without any model.
 * It ends when stdin is closed. Described in docs/simulated-agent.md.
 */
import { readFile } from "node:fs/promises";
import { Behaviour } from "./behaviour.ts";
import { Commands } from "./commands.ts";
import { simulatedHome } from "./identity.ts";
import { RolloutStore } from "./rollout.ts";
import { parseScript } from "./script.ts";
import { Server } from "./server.ts";

async function loadBehaviour(home: string, scriptPath: string | undefined): Promise<Behaviour> {
  if (scriptPath === undefined || scriptPath === "") return new Behaviour(home, null);
  const text = await readFile(scriptPath, "utf8");
  return new Behaviour(home, { path: scriptPath, script: parseScript(text, scriptPath) });
}

function refuse(error: unknown): never {
  process.stderr.write(`simulated agent: ${error instanceof Error ? error.message : String(error)}\n`);
  process.exit(1);
}

function main(): void {
  // It was for this process; the commands of a script shall not see it.
  delete process.env["NODE_COMPILE_CACHE"];
  const home = simulatedHome(process.env);
  const store = new RolloutStore(home);
  const commands = new Commands();
  const behaviour = loadBehaviour(home, process.env["SYMPHONY_SIMULATED_SCRIPT"]);
  behaviour.catch(refuse);
  const server = new Server({
    home,
    store,
    commands,
    behaviour,
    exit: (code) => process.exit(code),
    write: (line) => process.stdout.write(line),
    log: (text) => process.stderr.write(`simulated agent: ${text}\n`),
  });
  const end = (): void => {
    commands.killAll();
    store.release();
    process.exit(0);
  };
  process.stdin.on("data", (chunk: Buffer) => server.feed(chunk));
  process.stdin.on("end", end);
  // The client has gone; what was still to be said has no reader.
  process.stdout.on("error", end);
  process.on("SIGTERM", end);
}

main();
