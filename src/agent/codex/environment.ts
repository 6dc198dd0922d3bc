/** The environment of the agent's process: an allow-list, never the tracker's secrets (contract: codex.env, codex.env_inherit). */
import type { Secret, Settings } from "../../domain/settings.ts";

export type DaemonEnv = Readonly<Record<string, string | undefined>>;

/** Carried by everything that a run starts, so that it is found again after a crash. */
const RUN_MARKER_NAME = "SYMPHONY_RUN_MARKER";

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

/** A shorter secret inside a longer value is as likely chance as a leak; an equal one is always taken out. */
const MIN_EMBEDDED_SECRET_CHARS = 8;

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
  const env: Record<string, string> = {};
  for (const [name, value] of Object.entries({ ...daemonEnv, ...codex.env })) {
    if (value === undefined || !(wanted(name) || name in codex.env)) continue;
    if (!isSecret(name, value, secrets)) env[name] = value;
  }
  env[RUN_MARKER_NAME] = runMarker;
  return env;
}

/** The environment of our own short git and file commands in a workspace: core names alone. */
export function scriptEnvironment(input: EnvironmentInput): Record<string, string> {
  const env = agentEnvironment(input);
  return Object.fromEntries(Object.entries(env).filter(([name]) => isCore(name) || name === RUN_MARKER_NAME));
}

/** The names of the `$NAME`s and `${NAME}`s in a shell string. */
export function mentionedNames(command: string): ReadonlySet<string> {
  return new Set([...command.matchAll(/\$\{?([A-Za-z_][A-Za-z0-9_]*)/g)].map((match) => match[1] ?? ""));
}

function isCore(name: string): boolean {
  return CORE_NAMES.has(name) || CORE_PREFIXES.some((prefix) => name.startsWith(prefix));
}

function isSecret(name: string, value: string, secrets: readonly Secret[]): boolean {
  return secrets.some(
    (secret) =>
      secret.envNames.includes(name) ||
      (secret.value !== "" && value === secret.value) ||
      (secret.value.length >= MIN_EMBEDDED_SECRET_CHARS && value.includes(secret.value)),
  );
}
