/** The shell command that starts the simulated agent, for `codex.command`. */
import { fileURLToPath } from "node:url";

export interface SimulatedAgentOptions {
  /** Absolute path of the script file; without one the built-in behaviour applies. */
  readonly script?: string;
  /** Absolute path of the folder for its threads and run counts. */
  readonly home?: string;
}

function quote(text: string): string {
  return `'${text.replaceAll("'", `'\\''`)}'`;
}

/** A shell string: this Node and the agent's entry beside this file (source or built), the options as environment in front. */
export function simulatedAgentCommand(options: SimulatedAgentOptions = {}): string {
  const extension = import.meta.url.endsWith(".ts") ? "ts" : "js";
  const entry = fileURLToPath(new URL(`./main.${extension}`, import.meta.url));
  const words = [quote(process.execPath), quote(entry)];
  if (options.home !== undefined) words.unshift(`SYMPHONY_SIMULATED_HOME=${quote(options.home)}`);
  if (options.script !== undefined) words.unshift(`SYMPHONY_SIMULATED_SCRIPT=${quote(options.script)}`);
  return words.join(" ");
}
