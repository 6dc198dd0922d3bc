/** The environment of the agent's process: an allow-list, never the tracker's secrets (contract: codex.env, codex.env_inherit). */
import type { Settings } from "../../domain/settings.ts";
import { withoutSecrets, type Environment } from "../../host/environment.ts";
import { MARKER_VARIABLE } from "../../host/login-shell.ts";

export type DaemonEnv = Environment;

const CORE_NAMES = new Set([
  "HOME",
  "PATH",
  "USER",
  "LOGNAME",
  "SHELL",
  "LANG",
  "TERM",
  "TZ",
  "TMPDIR",
  "SSH_AUTH_SOCK",
  "HTTP_PROXY",
  "HTTPS_PROXY",
  "ALL_PROXY",
  "NO_PROXY",
  "http_proxy",
  "https_proxy",
  "all_proxy",
  "no_proxy",
]);
const CORE_PREFIXES = ["LC_", "CODEX_", "OPENAI_"];

export interface EnvironmentInput {
  readonly daemonEnv: DaemonEnv;
  readonly settings: Settings;
  readonly runMarker: string;
}

/** Everything that the agent's process sees; nothing else is inherited. */
export function agentEnvironment({ daemonEnv, settings, runMarker }: EnvironmentInput): Record<string, string> {
  const { codex, secrets } = settings;
  const mentioned = mentionedNames(codex.command);
  const wanted = (name: string): boolean => codex.envInherit === "all" || isCore(name) || mentioned.has(name);
  const inherited = Object.entries(daemonEnv).filter(([name]) => wanted(name));
  return {
    ...withoutSecrets({ ...Object.fromEntries(inherited), ...codex.env }, secrets),
    [MARKER_VARIABLE]: runMarker,
  };
}

/** The environment of our own short git and file commands in a workspace: core names alone. */
export function scriptEnvironment(input: EnvironmentInput): Record<string, string> {
  const env = agentEnvironment(input);
  return Object.fromEntries(Object.entries(env).filter(([name]) => isCore(name) || name === MARKER_VARIABLE));
}

/** The names of the `$NAME`s and `${NAME}`s in a shell string. */
export function mentionedNames(command: string): ReadonlySet<string> {
  return new Set([...command.matchAll(/\$\{?([A-Za-z_][A-Za-z0-9_]*)/g)].map((match) => match[1] ?? ""));
}

function isCore(name: string): boolean {
  return CORE_NAMES.has(name) || CORE_PREFIXES.some((prefix) => name.startsWith(prefix));
}
