/** The simulated agent against the real app-server: what a client sees is the same, message by message and field by field. */
import { mkdir, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { describe, expect, test } from "vitest";
import { AppServerClient } from "../fakes/app-server-client.ts";
import { say, startResponsesServer } from "../fakes/responses-server.ts";
import { makeTempDir } from "../support/temp-dir.ts";
import { installCodex, makeCodexHome } from "./codex-binary.ts";
import { type Scenario, scenarios, spoken } from "./scenarios.ts";
import { fieldsByMessage, outline } from "./transcript.ts";

const SIMULATED = fileURLToPath(new URL("../../src/agent/simulated/main.ts", import.meta.url));

type Which = "real" | "simulated";

/** Plays a scenario and answers what the client received, over all its processes. */
async function play(scenario: Scenario, which: Which): Promise<AppServerClient["received"]> {
  await using dir = await makeTempDir();
  const cwd = join(dir.path, "work");
  await mkdir(cwd);
  const base = { PATH: process.env["PATH"] ?? "", HOME: dir.path };
  const clients: AppServerClient[] = [];
  const { model } = scenario;
  const server = await startResponsesServer(
    ({ index }) => model[Math.min(index, model.length - 1)] ?? say("nothing more"),
  );
  const command: [string, ...string[]] =
    which === "real" ? [await installCodex(), "app-server"] : [process.execPath, SIMULATED];
  const script = join(dir.path, "script.json");
  const turns = scenario.script.map((steps) => ({ steps }));
  await writeFile(
    script,
    JSON.stringify({ tickets: { "*": { runs: [{ turns }, { turns: [{ steps: [spoken] }] }] } } }),
  );
  const simulated = { SYMPHONY_SIMULATED_HOME: join(dir.path, "home"), SYMPHONY_SIMULATED_SCRIPT: script };
  const env =
    which === "real"
      ? { ...base, CODEX_HOME: await makeCodexHome(dir.path, server.baseUrl) }
      : { ...base, ...simulated };
  const answer =
    scenario.answer ?? ((): unknown => ({ success: true, contentItems: [{ type: "inputText", text: "fine" }] }));
  const connect = (): AppServerClient => {
    const client = new AppServerClient({ command, cwd, env, answer });
    clients.push(client);
    return client;
  };
  try {
    await scenario.drive({ scenario, connect, cwd });
  } finally {
    for (const client of clients) await client[Symbol.asyncDispose]();
    await server.close();
  }
  return clients.flatMap((client) => client.received);
}

/** Figures of a response that no script can set are invented, and differ. */
function withoutInventedTotals(lines: readonly string[]): string[] {
  return lines.map((line) => line.replace(/(tokenUsage\/updated) \{.*\}/, "$1"));
}

describe("the simulated agent shows a client what the real app-server shows", () => {
  for (const [name, scenario] of Object.entries(scenarios)) {
    test(`for ${name}`, async () => {
      const real = await play(scenario, "real");
      const simulated = await play(scenario, "simulated");
      const invents = name === "a compaction" || name === "a steered turn";
      const compare = invents ? withoutInventedTotals : (lines: string[]): string[] => lines;
      expect(compare(outline(simulated))).toEqual(compare(outline(real)));
      expect(fieldsByMessage(simulated)).toEqual(fieldsByMessage(real));
    });
  }
});
