/** The repository's AGENTS.md, handed over where the app-server won't read it because the repository is not trusted. */
import type { Host } from "../../host/port.ts";

/** As much as the app-server reads itself by default. */
const MAX_BYTES = 32 * 1024;
const TIMEOUT_MS = 10_000;
const BEGIN = "symphony-agents-md-begin";
const END = "symphony-agents-md-end";

/** The override goes first, as in the app-server itself. */
const SCRIPT = [
  "for file in AGENTS.override.md AGENTS.md; do",
  '  if [ -f "$file" ] && [ -s "$file" ]; then',
  `    printf '${BEGIN}\\n'; head -c ${MAX_BYTES} "$file"; printf '\\n${END}\\n'`,
  "    exit 0",
  "  fi",
  "done",
].join("\n");

export interface AgentsMdRequest {
  readonly host: Host;
  readonly workspacePath: string;
  readonly env: Readonly<Record<string, string>>;
  readonly marker: string;
}

/** Its text with a line that says what it is; null when there is none. */
export async function readAgentsMd({ host, workspacePath, env, marker }: AgentsMdRequest): Promise<string | null> {
  const { output } = await host.runScript({ script: SCRIPT, cwd: workspacePath, env, marker, timeoutMs: TIMEOUT_MS });
  const begin = output.indexOf(`${BEGIN}\n`);
  const end = output.lastIndexOf(`\n${END}`);
  if (begin === -1 || end < begin) return null;
  const text = output.slice(begin + BEGIN.length + 1, end).trim();
  return text === "" ? null : `The repository's own instructions (AGENTS.md):\n\n${text}`;
}
