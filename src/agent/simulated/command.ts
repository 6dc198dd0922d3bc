/** The shell command that starts the simulated agent, for `codex.command`. */
import { packageFile } from "../../lib/package-file.ts";

export interface SimulatedAgentOptions {
  /** Absolute path of the script file; without one the built-in behaviour applies. */
  readonly script?: string;
  /** Absolute path of the folder for its threads and run counts. */
  readonly home?: string;
}

function quote(text: string): string {
  return `'${text.replaceAll("'", `'\\''`)}'`;
}

/**
 * Run from source, Node strips the types of every file at each start, which takes several times as long as the rest. It keeps the
 * result in this folder, as other tools keep theirs; where it can't, nothing but the time is lost.
 */
export const COMPILE_CACHE = packageFile("node_modules/.cache/simulated-agent");

/** A shell string: this Node and the agent's entry (source or built), the options as environment in front. */
export function simulatedAgentCommand(options: SimulatedAgentOptions = {}): string {
  const fromSource = import.meta.url.endsWith(".ts");
  const entry = packageFile(fromSource ? "src/agent/simulated/main.ts" : "dist/agent/simulated/main.js");
  const words = [quote(process.execPath), quote(entry)];
  if (options.home !== undefined) words.unshift(`SYMPHONY_SIMULATED_HOME=${quote(options.home)}`);
  if (options.script !== undefined) words.unshift(`SYMPHONY_SIMULATED_SCRIPT=${quote(options.script)}`);
  if (fromSource) words.unshift(`NODE_COMPILE_CACHE=${quote(COMPILE_CACHE)}`);
  return words.join(" ");
}
