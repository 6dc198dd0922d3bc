/** What a command was given, its own options and those that stand before it. */
import { InvalidArgumentError, type Command } from "commander";
import type { LogLevel } from "../lib/log.ts";

/** Options as commander hands them over; those of the program come along with a command's own. */
export interface Given {
  readonly workflow?: string;
  readonly stateDir?: string;
  readonly logLevel?: LogLevel;
  readonly logFile?: string;
  readonly port?: number;
  readonly host?: string;
  readonly json?: boolean;
  readonly issue?: string;
  readonly limit?: number;
  readonly by?: "issue" | "day";
  readonly keep?: boolean;
  readonly dir?: string;
  readonly codex?: string;
  readonly wide?: boolean;
  readonly wait?: boolean;
  readonly watch?: boolean;
  readonly follow?: boolean;
  readonly decline?: boolean;
  readonly text?: string;
  /** Milliseconds. */
  readonly olderThan?: number | null;
}

/** commander lets an outer option win over the command's own of the same name; here the one nearest to the command does. */
export function nearestOptions(command: Command): Given {
  const given: [string, unknown][] = [];
  for (let at: Command | null = command; at !== null; at = at.parent) {
    for (const [name, value] of Object.entries(at.opts())) {
      if (at.getOptionValueSource(name) === "cli") given.unshift([name, value]);
    }
  }
  return Object.assign(command.optsWithGlobals<Given>(), Object.fromEntries(given));
}

/** A command that only has others below it: without one of them it can't be understood. */
export function commandGroup(program: Command, name: string): Command {
  const group = program.command(name).usage("[options] <command>");
  return group.argument("[command...]").action(async ([word]: readonly string[]) => {
    const names = group.commands.map((command) => command.name());
    if (word === undefined) return group.error(`${name} needs a command: ${names.join(", ")}`, { exitCode: 2 });
    const { nearestName } = await import("../workflow/nearest-name.ts");
    const near = nearestName(word, names);
    const mend = near === null ? `it has ${names.join(", ")}` : `did you mean ${near}?`;
    return group.error(`${name} has no command ${word}; ${mend}`, { exitCode: 2 });
  });
}

/** A command that finds its daemon or ledger by the workflow, or by the state directory itself. */
export function daemonCommand(program: Command, name: string): Command {
  return program
    .command(name)
    .option("-w, --workflow <path>", "of the daemon that is meant", "./WORKFLOW.md")
    .option("--state-dir <dir>", "the state directory itself, whatever the workflow says")
    .option("--json", "one JSON value and nothing else");
}

/** An option's whole number from 1. */
export function positiveCount(text: string): number {
  const count = Number(text);
  if (!Number.isInteger(count) || count < 1) throw new InvalidArgumentError("It must be a whole number from 1.");
  return count;
}
