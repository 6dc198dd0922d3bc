#!/usr/bin/env node
/**
 * The agent of a chaos round: the simulated one, which also writes down what it can see of its environment; on a ticket that is
 * marked as stubborn it ignores the end of its input, a closed output, and every signal that can be ignored.
 */
import { appendFileSync, existsSync, readFileSync, writeFileSync } from "node:fs";
import { basename, join } from "node:path";
import { Behaviour } from "../../../src/agent/simulated/behaviour.ts";
import { Commands } from "../../../src/agent/simulated/commands.ts";
import { RolloutStore } from "../../../src/agent/simulated/rollout.ts";
import { parseScript } from "../../../src/agent/simulated/script.ts";
import { Server } from "../../../src/agent/simulated/server.ts";

const POLITE_SIGNALS = ["SIGTERM", "SIGINT", "SIGHUP"] as const;
const KEEP_ALIVE_MS = 60_000;

function main(chaosDir: string): void {
  // It was for this process; commands shall not see it.
  delete process.env["NODE_COMPILE_CACHE"];
  const ticket = basename(process.cwd());
  const home = join(chaosDir, "agents");
  const scriptPath = join(chaosDir, "script.json");
  const isStubborn = existsSync(join(chaosDir, "stubborn", ticket));
  const { pid } = process;
  appendFileSync(join(chaosDir, "journal"), `agent ${ticket} ${process.env["SYMPHONY_RUN_MARKER"] ?? "-"} ${pid}\n`);
  writeFileSync(join(chaosDir, "seen", String(pid)), JSON.stringify(process.env));
  const commands = new Commands();
  const store = new RolloutStore(home);
  const script = parseScript(readFileSync(scriptPath, "utf8"), scriptPath);
  const server = new Server({
    home,
    store,
    commands,
    behaviour: Promise.resolve(new Behaviour(home, { path: scriptPath, script })),
    write: (line) => process.stdout.write(line),
    exit: (code) => process.exit(code),
    log: (text) => process.stderr.write(`${text}\n`),
  });
  const end = (): void => {
    if (isStubborn) return;
    commands.killAll();
    store.release();
    process.exit(0);
  };
  if (isStubborn) setInterval(() => undefined, KEEP_ALIVE_MS);
  for (const signal of POLITE_SIGNALS) process.on(signal, end);
  process.stdin.on("data", (chunk: Buffer) => server.feed(chunk));
  process.stdin.on("end", end);
  process.stdout.on("error", end);
  process.stderr.on("error", end);
}

main(process.env["CHAOS_DIR"] ?? ".");
