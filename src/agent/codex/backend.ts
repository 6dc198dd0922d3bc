/** The app-server backend: one process per session. */
import { SessionStartError, type AgentBackend, type AgentSession, type SessionRequest } from "../port.ts";
import { checkAgent } from "./check.ts";
import { CodexSession, type SessionDeps } from "./session.ts";
import { VersionWatch } from "./versions.ts";

/** Sessions of `codex app-server`, or of any program that speaks its protocol. */
export function createCodexBackend(deps: SessionDeps): AgentBackend {
  const sessions = new Set<CodexSession>();
  const versions = new VersionWatch(deps.log);
  let warnedOfShared = false;

  async function open(request: SessionRequest): Promise<AgentSession> {
    if (request.settings.codex.process === "shared" && !warnedOfShared) {
      warnedOfShared = true;
      deps.log.warn("codex.process: shared is not available; every run has a process of its own");
    }
    const session = new CodexSession(deps, request, () => sessions.delete(session));
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
      await Promise.all([...sessions].map((session) => session.close()));
    },
  };
}
