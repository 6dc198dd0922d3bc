/** The app-server backend: a process for each session, or one that many share. */
import type { Log } from "../../lib/log.ts";
import { SessionStartError, type AgentBackend, type AgentSession, type SessionRequest } from "../port.ts";
import { checkAgent } from "./check.ts";
import { launch, type LaunchDeps, type LaunchRequest } from "./launch.ts";
import { CodexSession, type Started } from "./session.ts";
import { SharedProcesses } from "./shared-processes.ts";
import { VersionWatch } from "./versions.ts";

export interface CodexBackendDeps extends LaunchDeps {
  readonly log: Log;
}

/** Sessions of `codex app-server`, or of any program that speaks its protocol. */
export function createCodexBackend(deps: CodexBackendDeps): AgentBackend {
  const sessions = new Set<CodexSession>();
  const versions = new VersionWatch(deps.log);
  const shared = new SharedProcesses(deps);

  function start(request: LaunchRequest): Promise<Started> {
    return request.settings.codex.process === "shared" ? shared.join(request) : launch(deps, request);
  }

  async function open(request: SessionRequest): Promise<AgentSession> {
    const session = new CodexSession({ ...deps, start }, request, () => sessions.delete(session));
    sessions.add(session);
    try {
      await session.open();
      versions.note(session.agentVersion);
      return session;
    } catch (error) {
      await session.close();
      if (error instanceof SessionStartError) {
        request.listener.event({ kind: "startup_failed", message: error.message });
      }
      throw error;
    }
  }

  return {
    name: "codex",
    open,
    async check(request) {
      const found = await checkAgent(deps, request);
      versions.note(found.version);
      return found;
    },
    async close() {
      await Promise.all([...[...sessions].map((session) => session.close()), shared.close()]);
    },
  };
}
