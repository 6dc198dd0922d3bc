/** Who the simulated agent says it is, and where it keeps its files. */
import { homedir, tmpdir } from "node:os";
import { join } from "node:path";

/** The version of the app-server protocol that is imitated. */
export const CLI_VERSION = "0.171.0";
export const MODEL = "simulated";
export const MODEL_PROVIDER = "simulated";
/** Settings that clients are shown, and that mean nothing here. */
export const COLLABORATION_MODE = {
  mode: "default",
  settings: { model: MODEL, reasoning_effort: null, developer_instructions: null },
} as const;
export const MULTI_AGENT_MODE = "explicitRequestOnly";

/** `<client>/<version> ...`, as clients read the version from it. */
export function userAgent(clientName: string, clientVersion: string): string {
  return `symphony-simulated-agent/${CLI_VERSION} (${process.platform}; ${process.arch}) simulated (${clientName}; ${clientVersion})`;
}

/** `$SYMPHONY_SIMULATED_HOME`, else a folder of its own in `$CODEX_HOME`, else in the user's state directory. */
export function simulatedHome(env: NodeJS.ProcessEnv): string {
  const own = env["SYMPHONY_SIMULATED_HOME"];
  if (own !== undefined && own !== "") return own;
  const codexHome = env["CODEX_HOME"];
  if (codexHome !== undefined && codexHome !== "") return join(codexHome, "simulated-agent");
  const home = env["HOME"] ?? homedir();
  return home === ""
    ? join(tmpdir(), "symphony-simulated-agent")
    : join(home, ".local", "state", "symphony", "simulated-agent");
}
