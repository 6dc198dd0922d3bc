/** Whether the agent starts, which one it is, whether it is logged in, and whether its sandbox works here. */
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createCodexBackend } from "../../agent/codex/backend.ts";
import { checkAgentCommand } from "../../agent/codex/command-check.ts";
import type { AgentCheck } from "../../agent/port.ts";
import { errorMessage, isAppError } from "../../domain/errors.ts";
import type { Settings } from "../../domain/settings.ts";
import { createLocalHost } from "../../host/local.ts";
import type { Clock } from "../../lib/clock.ts";
import type { Log } from "../../lib/log.ts";
import { fail, ok, skip, warn, type Check } from "./check.ts";

export interface AgentInput {
  readonly settings: Settings;
  readonly clock: Clock;
  readonly log: Log;
  readonly env: NodeJS.ProcessEnv;
  readonly clientVersion: string;
}

/** Starts the agent once, in an empty folder, and ends it. */
export async function checkAgentHere({
  settings,
  clock,
  log,
  env,
  clientVersion,
}: AgentInput): Promise<readonly Check[]> {
  const host = createLocalHost({ log, clock });
  const unknown = [skip("agent login", "the agent doesn't start"), skip("agent sandbox", "the agent doesn't start")];
  const backend = createCodexBackend({ host, clock, log, clientVersion, daemonEnv: env });
  const cwd = await mkdtemp(join(tmpdir(), "symphony-doctor-"));
  try {
    await checkAgentCommand(host, settings, env);
    const found = await backend.check({
      settings,
      cwd,
      runMarker: `doctor-${process.pid}`,
      spawned: () => undefined,
      signal: new AbortController().signal,
    });
    return [ok("agent", `${settings.codex.command} starts, version ${found.version ?? "unknown"}`), ...readings(found)];
  } catch (error) {
    const isAbsent = isAppError(error) && error.code === "codex_not_found";
    const mend = isAbsent
      ? "install it (npm install --global @openai/codex), or set codex.command to how it is started"
      : "start codex.command by hand as this user, in an empty folder, and see what it says";
    return [fail("agent", errorMessage(error), mend), ...unknown];
  } finally {
    await backend.close();
    await rm(cwd, { recursive: true, force: true });
  }
}

function readings({ login, sandbox }: AgentCheck): readonly Check[] {
  return [
    login.state === "missing"
      ? fail("agent login", login.message, "run `codex login` as this user")
      : known("agent login", login),
    sandbox.state === "broken" ? fail("agent sandbox", sandbox.message, null) : known("agent sandbox", sandbox),
  ];
}

function known(name: string, { state, message }: AgentCheck["login"] | AgentCheck["sandbox"]): Check {
  return state === "ok" ? ok(name, message) : warn(name, `unknown: ${message}`, null);
}
