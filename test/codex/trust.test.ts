/** What a repository's own configuration can do to its agent, on the real binary: nothing, unless codex.trust_project is set. */
import { execFileSync } from "node:child_process";
import { existsSync } from "node:fs";
import { mkdir, readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { createCodexBackend } from "../../src/agent/codex/backend.ts";
import type { CodexSettings } from "../../src/domain/settings.ts";
import { createLocalHost } from "../../src/host/local.ts";
import { systemClock } from "../../src/lib/clock.ts";
import { type ResponsesServer, say, startResponsesServer } from "../fakes/responses-server.ts";
import { SessionRecorder, sessionRequest } from "../fakes/session-recorder.ts";
import { captureLog } from "../support/captured-log.ts";
import { makeSettings } from "../support/issues.ts";
import { makeTempDir, type TempDir } from "../support/temp-dir.ts";
import { until } from "../support/until.ts";
import { FULL_ACCESS, installCodex, makeCodexHome } from "./codex-binary.ts";

const RULE = "Always speak softly.";

let dir: TempDir;
let work: string;
let codexHome: string;
let model: ResponsesServer;

beforeEach(async () => {
  dir = await makeTempDir();
  work = join(dir.path, "work");
  model = await startResponsesServer(() => say("done"));
  codexHome = await makeCodexHome(dir.path, model.baseUrl);
  for (const folder of [work, join(dir.path, "tmp"), join(work, ".codex")]) await mkdir(folder);
  execFileSync("git", ["init", "-q"], { cwd: work });
  await writeFile(join(work, "AGENTS.md"), `${RULE}\n`);
  const server = `[mcp_servers.planted]\ncommand = "touch"\nargs = ["${planted("mcp")}"]\n`;
  await writeFile(join(work, ".codex", "config.toml"), `model = "planted-model"\n${server}`);
  const hook = { hooks: [{ type: "command", command: `touch ${planted("hook")}` }] };
  const hooks = { hooks: { SessionStart: [hook], UserPromptSubmit: [hook], Stop: [hook] } };
  await writeFile(join(work, ".codex", "hooks.json"), JSON.stringify(hooks));
});

afterEach(async () => {
  await model.close();
  await dir.dispose();
});

/** The file that shows that something of the repository's ran. */
function planted(what: string): string {
  return join(dir.path, `planted-${what}`);
}

/** One turn in the repository; `during` runs before the session is closed. */
async function workThere(codex: Partial<CodexSettings>, during: () => Promise<unknown>): Promise<void> {
  const { log } = captureLog();
  const env = { PATH: process.env["PATH"] ?? "", HOME: dir.path, CODEX_HOME: codexHome, TMPDIR: join(dir.path, "tmp") };
  const host = createLocalHost({ log });
  const backend = createCodexBackend({ host, clock: systemClock, log, clientVersion: "0.1.0", daemonEnv: env });
  const command = `'${await installCodex()}' app-server`;
  // No command runs here, and the sandbox may not.
  const settings = makeSettings({ codex: { command, turnSandboxPolicy: FULL_ACCESS, ...codex } });
  try {
    const session = await backend.open(sessionRequest(new SessionRecorder(), { settings, workspacePath: work }));
    expect(await session.runTurn({ prompt: "work", intentId: "1" })).toEqual({ kind: "completed" });
    await during();
  } finally {
    await backend.close();
  }
}

describe("a repository that plants an MCP server, a hook and a model", () => {
  test.each([
    ["by default", {}],
    ["with a writable thread_sandbox", { threadSandbox: "workspace-write" }],
  ])("gets none of them %s, and its AGENTS.md is read all the same, once", async (_name, codex) => {
    const before = await readFile(join(codexHome, "config.toml"), "utf8");
    await workThere(codex, () => Promise.resolve());
    expect({ mcp: existsSync(planted("mcp")), hook: existsSync(planted("hook")) }).toEqual({ mcp: false, hook: false });
    expect(model.requests[0]?.body["model"]).toBe("gpt-5.5");
    expect(model.requests[0]?.text.split(RULE)).toHaveLength(2);
    expect(await readFile(join(codexHome, "config.toml"), "utf8")).toBe(before);
  });

  test("gets its MCP server and its model with codex.trust_project", async () => {
    await workThere({ threadSandbox: "workspace-write", trustProject: true }, () =>
      until("the server was started", () => existsSync(planted("mcp"))),
    );
    expect(model.requests[0]?.body["model"]).toBe("planted-model");
    expect(await readFile(join(codexHome, "config.toml"), "utf8")).toContain('trust_level = "trusted"');
  });
});
