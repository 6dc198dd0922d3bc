/** `symphony doctor [WORKFLOW.md]`: is everything there that a daemon on this workflow needs? Each finding with its mend. */
import { resolve } from "node:path";
import { pino } from "pino";
import { errorMessage } from "../../domain/errors.ts";
import type { Settings } from "../../domain/settings.ts";
import { readLockOwner } from "../../ledger/lock.ts";
import { stateFiles } from "../../ledger/state-files.ts";
import { systemClock } from "../../lib/clock.ts";
import { Redactor } from "../../lib/redact.ts";
import { trackerDescriptors } from "../../tracker/registry.ts";
import { loadWorkflow, type LoadedWorkflow } from "../../workflow/load.ts";
import { stateDirectory } from "../../workflow/state-directory.ts";
import { askDaemon, isNoDaemon } from "../control-client.ts";
import { printJson, printLines } from "../output.ts";
import { packageVersion } from "../package-version.ts";
import { plainLine } from "../terminal-text.ts";
import { checkAgentHere } from "./agent.ts";
import { checkBoard } from "./board.ts";
import { fail, ok, skip, warn, type Check } from "./check.ts";
import { checkClock, checkFolder, checkGit, checkPort, checkSpace } from "./machine.ts";

export interface DoctorOptions {
  readonly workflow: string;
  readonly stateDir: string | null;
  readonly json: boolean;
  readonly env: NodeJS.ProcessEnv;
}

/** Answers 1 when something failed, else 0; warnings are no failure. */
export async function doctor(options: DoctorOptions): Promise<number> {
  const checks = await examine(options);
  const isFine = checks.every(({ status }) => status !== "fail");
  if (options.json) printJson({ ok: isFine, checks });
  else printLines(checks.flatMap(linesOf));
  return isFine ? 0 : 1;
}

function linesOf({ name, status, message, mend }: Check): readonly string[] {
  const [first = "", ...others] = message.split("\n");
  const indent = " ".repeat(6);
  return [
    `${status.padEnd(5)} ${name}: ${plainLine(first)}`,
    ...others.map((line) => `${indent}${plainLine(line)}`),
    ...(mend === null ? [] : [`${indent}-> ${plainLine(mend)}`]),
  ];
}

async function examine(options: DoctorOptions): Promise<readonly Check[]> {
  const { workflow, env } = options;
  let loaded: LoadedWorkflow;
  try {
    loaded = loadWorkflow(resolve(workflow), { descriptors: trackerDescriptors, env });
  } catch (error) {
    return [
      fail("workflow", errorMessage(error), "mend the file; docs/settings.md has every key"),
      skip("everything else", "it depends on the workflow file"),
      await checkGit(),
    ];
  }
  const { settings, warnings } = loaded;
  const redactor = new Redactor();
  redactor.add(settings.secrets.map(({ value }) => value));
  const found = [
    ok("workflow", `${settings.workflowPath}, revision ${settings.revision}`),
    ...warnings.map((text) => warn("workflow", text, null)),
    secretCheck(settings),
    ...(await examineSettings(options, settings)),
  ];
  return found.map((check) => ({ ...check, message: redactor.text(check.message) }));
}

/** That the tracker's secret came, and from where; never what it is. */
function secretCheck({ secrets }: Settings): Check {
  const names = secrets.flatMap(({ envNames }) => envNames);
  if (secrets.length === 0) return ok("secrets", "none are needed");
  return ok(
    "secrets",
    names.length === 0 ? "given" : `given; hooks and agents don't get ${[...new Set(names)].join(", ")}`,
  );
}

async function examineSettings(
  { stateDir, workflow, env }: DoctorOptions,
  settings: Settings,
): Promise<readonly Check[]> {
  const clock = systemClock;
  const { server, tracker, workspace } = settings;
  const directory = stateDirectory(settings, { flag: stateDir, env });
  const daemon = await daemonCheck(workflow, stateDir, directory);
  const { endpoint } = tracker.provider;
  const agent = { settings, clock, log: listen().log, env, clientVersion: packageVersion() };
  const [board, agents, git, time] = await Promise.all([
    checkBoard({ settings, clock, listen }),
    checkAgentHere(agent),
    checkGit(),
    typeof endpoint === "string" ? checkClock(endpoint, clock) : null,
  ]);
  return [
    ...board,
    ...agents,
    git,
    checkFolder("workspaces", "workspace.root", workspace.root),
    checkSpace("space for workspaces", workspace.root),
    checkFolder("state", "state.dir", directory),
    checkSpace("space for state", directory),
    ...(server.port === null ? [] : [await checkPort(server.port, server.host ?? "127.0.0.1", daemon.isRunning)]),
    ...(time === null ? [] : [time]),
    daemon.check,
  ];
}

async function daemonCheck(
  workflow: string,
  stateDir: string | null,
  directory: string,
): Promise<{ isRunning: boolean; check: Check }> {
  try {
    await askDaemon({ workflow, stateDir }, { method: "GET", path: "/api/v1/state" });
    const pid = readLockOwner(stateFiles(directory).lock)?.pid;
    return { isRunning: true, check: ok("daemon", `runs${pid === undefined ? "" : ` with pid ${pid}`}`) };
  } catch (error) {
    if (!isNoDaemon(error)) {
      const mend = "see its log; a daemon that is suspended goes on with kill -CONT, one that hangs is ended with kill";
      return { isRunning: true, check: fail("daemon", errorMessage(error), mend) };
    }
    return {
      isRunning: false,
      check: ok("daemon", "none runs on this workflow; start one with: symphony WORKFLOW.md"),
    };
  }
}

/** A log that nobody reads but for its warnings. */
function listen(): { log: pino.Logger; warnings: readonly string[] } {
  const warnings: string[] = [];
  const keep = (line: string): void => {
    const { msg } = JSON.parse(line) as { msg?: unknown };
    if (typeof msg === "string") warnings.push(msg);
  };
  return { log: pino({ level: "warn" }, { write: keep }), warnings };
}
