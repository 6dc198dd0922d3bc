/** Looks before the first run whether `codex.command` names a program that bash finds, so that a typing error is one line at start. */
import { constants } from "node:fs";
import { access, stat } from "node:fs/promises";
import { delimiter, dirname, isAbsolute, join } from "node:path";
import { AppError } from "../../domain/errors.ts";
import type { Settings } from "../../domain/settings.ts";
import type { Host } from "../../host/port.ts";
import { scriptEnvironment, type DaemonEnv } from "./environment.ts";

const CHECK_TIMEOUT_MS = 20_000;
/** bash's own code for a command that isn't there. */
const NOT_FOUND_EXIT = 127;

/** Assignments and `exec` before the program's name, which may be quoted as a whole. */
const FIRST_WORD =
  /^\s*(?:[A-Za-z_]\w*=(?:'[^']*'|"[^"$`\\]*"|[^\s'"$`;|&()<>\\]*)\s+)*(?:exec\s+)?(?:'([^']+)'|"([^"$`\\]+)"|([^\s'"$`;|&()<>{}\\*?!]+))(?=[\s;|&]|$)/;

/** The program that a shell string starts; null where only a shell could tell. */
export function programOf(command: string): string | null {
  const match = FIRST_WORD.exec(command);
  return match?.[1] ?? match?.[2] ?? match?.[3] ?? null;
}

/** Whether it is a file that can be executed, by its absolute path or in a directory of the search path. */
async function isOnPath(program: string, searchPath: string): Promise<boolean> {
  if (program.includes("/")) return isAbsolute(program) && (await isExecutable(program));
  for (const directory of searchPath.split(delimiter)) {
    if (isAbsolute(directory) && (await isExecutable(join(directory, program)))) return true;
  }
  return false;
}

async function isExecutable(path: string): Promise<boolean> {
  try {
    await access(path, constants.X_OK);
    return (await stat(path)).isFile();
  } catch {
    // Not there, or not ours to execute.
    return false;
  }
}

/** Throws AppError codex_not_found. What only a shell could tell, and a shell that doesn't answer in time, is let pass. */
export async function checkAgentCommand(host: Host, settings: Settings, daemonEnv: DaemonEnv): Promise<void> {
  const { command } = settings.codex;
  const program = programOf(command);
  // What the daemon finds itself, bash finds as well: a profile only adds to the path. That saves a login shell at each start.
  if (program === null || (await isOnPath(program, daemonEnv["PATH"] ?? ""))) return;
  const marker = "command-check";
  const { exitCode } = await host.runScript({
    script: `command -v -- "$SYMPHONY_PROGRAM" >/dev/null || exit ${NOT_FOUND_EXIT}`,
    // A relative path in the command is the workspace's affair; this folder is only somewhere to stand.
    cwd: dirname(settings.workflowPath),
    env: { ...scriptEnvironment({ daemonEnv, settings, runMarker: marker }), SYMPHONY_PROGRAM: program },
    timeoutMs: CHECK_TIMEOUT_MS,
    marker,
  });
  if (exitCode !== NOT_FOUND_EXIT || program.startsWith("./") || program.startsWith("../")) return;
  throw new AppError(
    "codex_not_found",
    `codex.command: "${command}": bash finds no program "${program}"; install it, or set codex.command to its path`,
    { command, program },
  );
}
