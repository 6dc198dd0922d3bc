/** The command line: what `symphony` and its commands take. Each command's own file is loaded only when it is asked for. */
import { existsSync } from "node:fs";
import { resolve } from "node:path";
import { Argument, Command, CommanderError, InvalidArgumentError, Option } from "commander";
import { errorMessage, isAppError } from "../domain/errors.ts";
import type { LogLevel } from "../lib/log.ts";
import { parseDuration } from "./duration.ts";
import type { Shell } from "./completion.ts";
import { addControls } from "./control-commands.ts";
import { commandGroup, daemonCommand, nearestOptions, positiveCount, type Given } from "./options.ts";
import { packageVersion } from "./package-version.ts";
import { addSetup } from "./setup-commands.ts";
import { plainLine } from "./terminal-text.ts";

/** Exit codes of contract.md; a signal's are in stop-signals.ts. */
const EXIT = { done: 0, failed: 1, usage: 2 } as const;

/** Written out, so that `--help` doesn't load the logger. */
const LOG_LEVELS = ["trace", "debug", "info", "warn", "error", "silent"] as const satisfies readonly LogLevel[];

/** Runs one command line, without node and script; answers the exit code. */
export async function main(argv: readonly string[]): Promise<number> {
  let code: number = EXIT.done;
  const program = buildProgram((exitCode) => {
    code = exitCode;
  });
  try {
    await program.parseAsync(argv, { from: "user" });
    return code;
  } catch (error) {
    if (error instanceof CommanderError) return error.exitCode === 0 ? EXIT.done : EXIT.usage;
    complain(error, program.opts<Given>().logLevel);
    return EXIT.failed;
  }
}

/** One clear line (one for each problem of a workflow file); the stack is for who asks for it. */
function complain(error: unknown, logLevel: LogLevel | undefined): void {
  const lines = errorMessage(error)
    .split("\n")
    .filter((line) => line.trim() !== "");
  const [first = "none given", ...others] = lines;
  const opening = isAppError(error)
    ? first
    : `unexpected error: ${first} (--log-level debug before the command shows where)`;
  for (const line of [opening, ...others]) process.stderr.write(`symphony: ${plainLine(line)}\n`);
  const wantsStack = logLevel === "debug" || logLevel === "trace";
  if (wantsStack && error instanceof Error) process.stderr.write(`${error.stack ?? ""}\n`);
}

function buildProgram(done: (exitCode: number) => void): Command {
  const program = new Command("symphony")
    .description("Works through a team's ticket backlog with coding agents. Without a command: the daemon.")
    .version(packageVersion())
    .argument("[workflow]", "path of the workflow file", "./WORKFLOW.md")
    .option(
      "--state-dir <dir>",
      "where ledger and lock are kept (default: by state.dir, else below ~/.local/state/symphony)",
    )
    .addOption(new Option("--log-level <level>", "what is logged on stderr").choices(LOG_LEVELS).default("info"))
    .option("--log-file <file>", "log to this file as well")
    .addOption(
      new Option("--port <port>", "serve the API there, 0 = any free port (default: server.port)").argParser(
        portNumber,
      ),
    )
    .option("--host <address>", "for the API (default: server.host, else 127.0.0.1)")
    .enablePositionalOptions()
    .exitOverride()
    .configureOutput({ outputError: (text, write) => write(usageLine(text)) })
    .action(async (workflow: string) => {
      await refuseMistypedCommand(program, workflow);
      const given = program.opts<Given>();
      const { runDaemon } = await import("./run.ts");
      done(
        await runDaemon({
          workflowPath: resolve(workflow),
          stateDir: given.stateDir ?? null,
          logLevel: given.logLevel ?? "info",
          logFile: given.logFile ?? null,
          port: given.port ?? null,
          host: given.host ?? null,
        }),
      );
    });
  addReports(program, done);
  addLedger(program, done);
  addControls(program, done);
  addWork(program, done);
  addDemo(program, done);
  addSetup(program, done);
  addProtocol(program, done);
  addCompletion(program, done);
  return program;
}

/** A lone word that is no file was meant as a command: what a typing error asks for is not a workflow file of that name. */
async function refuseMistypedCommand(program: Command, word: string): Promise<void> {
  if (!/^[a-z][a-z-]*$/.test(word) || existsSync(word)) return;
  const { nearestName } = await import("../workflow/nearest-name.ts");
  const near = nearestName(
    word,
    program.commands.map((command) => command.name()),
  );
  const guess = near === null ? "" : `; did you mean ${near}?`;
  program.error(`there is no command ${word}, and no workflow file of that name${guess}`, { exitCode: EXIT.usage });
}

/** commander's complaint, which may bring a guess on a second line, as one line of ours. */
function usageLine(text: string): string {
  return `symphony: ${plainLine(text).replace(/^error: /, "")} (see symphony --help)\n`;
}

/** Commands that read the ledger, beside a running daemon or without one. */
function addReports(program: Command, done: (exitCode: number) => void): void {
  daemonCommand(program, "runs")
    .description("what was run, newest first")
    .option("--issue <identifier>", "only the runs of one issue")
    .addOption(new Option("--limit <count>", "at most this many").argParser(positiveCount))
    .option("--wide", "errors whole, however long")
    .action(async (_options, command: Command) => {
      const given = nearestOptions(command);
      const { runs } = await import("./runs.ts");
      const { issue = null, limit = null, json = false, wide = false } = given;
      done(runs({ ledger: await ledgerPath(given), json, issue, limit, wide }));
    });
  daemonCommand(program, "usage")
    .description("turns, tokens and time so far")
    .addOption(new Option("--by <what>", "one row for each").choices(["issue", "day"]).default("issue"))
    .action(async (_options, command: Command) => {
      const given = nearestOptions(command);
      const { usage } = await import("./usage.ts");
      const { by = "issue", json = false, workflow = "./WORKFLOW.md" } = given;
      // A state directory alone says nothing about the workflow that it belongs to.
      const isWorkflowMeant = given.stateDir === undefined || command.getOptionValueSource("workflow") === "cli";
      const { findPrices } = await import("../workflow/prices.ts");
      done(usage({ ledger: await ledgerPath(given), json, by, prices: isWorkflowMeant ? findPrices(workflow) : {} }));
    });
}

/** Looking after the ledger: safe beside a running daemon, which other ways of copying or shrinking its file are not. */
function addLedger(program: Command, done: (exitCode: number) => void): void {
  const ledger = commandGroup(program, "ledger").description("look after the ledger, beside a running daemon too");
  const given = async (command: Command): Promise<{ ledger: string; json: boolean }> => {
    const options = nearestOptions(command);
    return { ledger: await ledgerPath(options), json: options.json === true };
  };
  daemonCommand(ledger, "backup")
    .description("copy it to a new file that is whole by itself")
    .argument("<file>", "where to; nothing is overwritten")
    .action(async (file: string, _options, command: Command) => {
      const { ledgerBackup } = await import("./ledger.ts");
      done(ledgerBackup(await given(command), file));
    });
  daemonCommand(ledger, "check")
    .description("read all of it; exit code 1 when something is wrong")
    .action(async (_options, command: Command) => {
      const { ledgerCheck } = await import("./ledger.ts");
      done(ledgerCheck(await given(command)));
    });
  daemonCommand(ledger, "prune")
    .description("delete the details of old runs; runs and token counts stay")
    .addOption(
      new Option("--older-than <span>", "of runs that ended longer ago: 12h, 30d, 8w")
        .argParser(span)
        .default(null, "90d"),
    )
    .action(async (_options, command: Command) => {
      const { ledgerPrune } = await import("./ledger.ts");
      done(ledgerPrune(await given(command), nearestOptions(command).olderThan ?? null));
    });
}

async function ledgerPath({
  workflow = "./WORKFLOW.md",
  stateDir = null,
}: {
  workflow?: string;
  stateDir?: string | null;
}): Promise<string> {
  const { findStateDirectory } = await import("../workflow/state-directory.ts");
  const { stateFiles } = await import("../ledger/state-files.ts");
  return stateFiles(findStateDirectory(workflow, { flag: stateDir, env: process.env })).ledger;
}

function addWork(program: Command, done: (exitCode: number) => void): void {
  program
    .command("work")
    .description("work one ticket in the foreground: 0 done, 1 failed, 3 blocked")
    .argument("<issue>", "its identifier")
    .argument("[workflow]", "path of the workflow file", "./WORKFLOW.md")
    .option("--state-dir <dir>", "the state directory itself, whatever the workflow says")
    .addOption(new Option("--log-level <level>", "what is logged on stderr").choices(LOG_LEVELS).default("warn"))
    .option("--json", "progress on stderr, and one JSON object as the answer")
    .action(async (issue: string, workflow: string, _options, command: Command) => {
      const { stateDir = null, json = false } = nearestOptions(command);
      const logLevel = command.opts<Given>().logLevel ?? "warn";
      const { work } = await import("./work.ts");
      done(await work({ issue, workflowPath: resolve(workflow), stateDir, logLevel, json }));
    });
}

function addDemo(program: Command, done: (exitCode: number) => void): void {
  program
    .command("demo")
    .description("six tickets worked to Done on a board of its own, by a simulated agent: no model, no network")
    .option("--json", "progress on stderr, and one JSON object as the answer; the ledger is kept")
    .option(
      "--keep",
      "keep everything, and go on there the next time; on a terminal, or with --port, it runs until Ctrl-C",
    )
    .option("--dir <dir>", "where to keep it (implies --keep)")
    .addOption(new Option("--port <port>", "serve the API there, 0 = any free port").argParser(portNumber))
    .option("--host <address>", "for the API (default: 127.0.0.1)")
    .action(async (_options, command: Command) => {
      const { json = false, keep = false, dir = null, port = null, host = null } = nearestOptions(command);
      const { demo } = await import("./demo.ts");
      done(await demo({ json, keep: keep || dir !== null, dir, port, host }));
    });
}

function span(text: string): number {
  const spanMs = parseDuration(text);
  if (spanMs === null) throw new InvalidArgumentError("It must be hours, days or weeks: 12h, 30d, 8w.");
  return spanMs;
}

function addCompletion(program: Command, done: (exitCode: number) => void): void {
  program
    .command("completion")
    .description("a script that completes commands and options in your shell")
    .addArgument(new Argument("<shell>", "which one").choices(["bash", "zsh", "fish"] satisfies readonly Shell[]))
    .action(async (shell: Shell) => {
      const { completionScript } = await import("./completion.ts");
      process.stdout.write(completionScript(program, shell));
      done(EXIT.done);
    });
}

function addProtocol(program: Command, done: (exitCode: number) => void): void {
  commandGroup(program, "protocol")
    .description("the agent's protocol")
    .command("check")
    .description("what moved in an installed codex of what the daemon sends and reads; 1 when anything did")
    .option("--codex <path>", "the program", "codex")
    .option("--json", "one JSON value and nothing else")
    .action(async (_options, command: Command) => {
      const { codex = "codex", json = false } = nearestOptions(command);
      const { checkProtocol } = await import("./protocol.ts");
      done(await checkProtocol({ codex, json }));
    });
}

const MAX_PORT = 65_535;

function portNumber(text: string): number {
  const port = Number(text);
  if (text.trim() === "" || !Number.isInteger(port) || port < 0 || port > MAX_PORT) {
    throw new InvalidArgumentError(`It must be a whole number from 0 to ${MAX_PORT}.`);
  }
  return port;
}
