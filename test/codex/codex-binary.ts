/** The real codex binary, installed on first use into an ignored folder of the project, and homes that keep it offline. */
import { execFile } from "node:child_process";
import { existsSync } from "node:fs";
import { mkdir, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { AppServerClient } from "../fakes/app-server-client.ts";

/** The version that the protocol was measured on. */
const CODEX_VERSION = "0.171.0";

const run = promisify(execFile);
const projectRoot = fileURLToPath(new URL("../../", import.meta.url));
const cache = join(projectRoot, ".cache", `codex-${CODEX_VERSION}`);

const binary = join(cache, "node_modules", ".bin", "codex");
const done = join(cache, "installed");

/** Path of the `codex` command; null when it was never installed. */
export function installedCodex(): string | null {
  return existsSync(done) && existsSync(binary) ? binary : null;
}

/** Path of the `codex` command; the first call ever downloads it (about 424 MB unpacked). */
export async function installCodex(): Promise<string> {
  const installed = installedCodex();
  if (installed !== null) return installed;
  await mkdir(cache, { recursive: true });
  // A package of its own, so that npm doesn't look upwards and take the project's.
  await writeFile(join(cache, "package.json"), `{ "private": true }\n`);
  // Nothing is left in the temporary folder, and nothing is written to the user's own codex home.
  const env = { ...process.env, NODE_DISABLE_COMPILE_CACHE: "1", CODEX_HOME: cache };
  const options = { cwd: cache, env };
  const quiet = ["--no-audit", "--no-fund", "--loglevel=error"];
  await run("npm", ["install", "--prefix", cache, ...quiet, `@openai/codex@${CODEX_VERSION}`], options);
  const { stdout } = await run(binary, ["--version"], options);
  if (!stdout.includes(CODEX_VERSION)) throw new Error(`${binary} says ${stdout.trim()}, expected ${CODEX_VERSION}`);
  await writeFile(done, "");
  return binary;
}

/** A config.toml with which codex talks to `baseUrl` and to nothing else. */
function offlineConfig(baseUrl: string): string {
  const features = ["apps", "plugins", "remote_plugin", "plugin_sharing", "tool_suggest", "skill_search", "memories"];
  const off = [...features, "image_generation", "enable_request_compression", "unbounded_connection_retries"];
  return `model = "gpt-5.5"
model_provider = "fake"
check_for_update_on_startup = false
web_search = "disabled"
[model_providers.fake]
name = "fake"
base_url = "${baseUrl}"
wire_api = "responses"
supports_websockets = false
request_max_retries = 0
stream_max_retries = 1
stream_idle_timeout_ms = 20000
[analytics]
enabled = false
[feedback]
enabled = false
[otel]
exporter = "none"
trace_exporter = "none"
metrics_exporter = "none"
[features]
${off.map((name) => `${name} = false`).join("\n")}
`;
}

/** Makes a CODEX_HOME in `parent`. */
export async function makeCodexHome(parent: string, baseUrl: string): Promise<string> {
  const home = join(parent, "codex-home");
  await mkdir(home, { mode: 0o700 });
  await writeFile(join(home, "config.toml"), offlineConfig(baseUrl));
  return home;
}

/** The turn policy where codex's own sandbox can't run, as in containers without user namespaces: there every command would fail. */
export const FULL_ACCESS = { type: "dangerFullAccess" } as const;

/** Whether a sandboxed command can run here. `env` names a codex home. */
export async function sandboxWorks(env: Readonly<Record<string, string>>): Promise<boolean> {
  const command: [string, ...string[]] = [await installCodex(), "app-server"];
  await using client = new AppServerClient({ command, cwd: tmpdir(), env });
  await client.initialize();
  const probe = { command: ["true"], sandboxPolicy: { type: "workspaceWrite" }, timeoutMs: 10_000 };
  const { exitCode } = await client.request("command/exec", probe);
  await client.close();
  return exitCode === 0;
}
