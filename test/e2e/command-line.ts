/** The real command as a user starts it: a process of its own, with a home and temporary folder of the test's. */
import { spawn, type ChildProcessByStdio } from "node:child_process";
import { once } from "node:events";
import { readdirSync, readFileSync, readlinkSync } from "node:fs";
import { mkdir, readdir } from "node:fs/promises";
import { join, relative, resolve } from "node:path";
import type { Readable } from "node:stream";
import { makeTempDir, type TempDir } from "../support/temp-dir.ts";

const BIN = resolve(import.meta.dirname, "../../src/cli/bin.ts");

/** Compiled code of the project, so that each of the many starts costs less. */
const COMPILE_CACHE = resolve(import.meta.dirname, "../../node_modules/.cache/node-compile");

/** How a command ended. */
export interface Ending {
  readonly code: number | null;
  readonly signal: NodeJS.Signals | null;
  readonly stdout: string;
  readonly stderr: string;
}

/** A started command. */
export interface RunningCommand {
  readonly pid: number;
  stdout(): string;
  stderr(): string;
  kill(signal: NodeJS.Signals): void;
  readonly ended: Promise<Ending>;
  /** Resolves when its output holds the text; rejects when it ends without. */
  says(text: string | RegExp): Promise<void>;
}

/** A user's surroundings: every command started in it ends with it. */
export interface Surroundings extends AsyncDisposable {
  /** Holds all of it. */
  readonly root: string;
  /** Where the user stands. */
  readonly dir: string;
  readonly home: string;
  /** The user's TMPDIR. */
  readonly tmp: string;
  start(args: readonly string[], env?: Readonly<Record<string, string>>): RunningCommand;
  run(args: readonly string[], env?: Readonly<Record<string, string>>): Promise<Ending>;
}

/** Variables of the test's own environment that a command may see. */
const PASSED_ON = ["PATH", "LANG", "USER", "LOGNAME"];

function inherited(): Record<string, string> {
  return Object.fromEntries(
    PASSED_ON.flatMap((name) => (process.env[name] === undefined ? [] : [[name, process.env[name]]])),
  );
}

/** Makes a home without a shell profile and an empty folder to work in. */
export async function makeSurroundings(): Promise<Surroundings> {
  const root: TempDir = await makeTempDir("sy-e2e-");
  const [dir, home, tmp] = [join(root.path, "work"), join(root.path, "home"), join(root.path, "tmp")];
  await Promise.all([dir, home, tmp].map((path) => mkdir(path)));
  const running = new Set<RunningCommand>();

  function start(args: readonly string[], env: Readonly<Record<string, string>> = {}): RunningCommand {
    const child = spawn(process.execPath, [BIN, ...args], {
      cwd: dir,
      env: { ...inherited(), HOME: home, TMPDIR: tmp, NODE_COMPILE_CACHE: COMPILE_CACHE, ...env },
      stdio: ["ignore", "pipe", "pipe"],
    });
    const command = follow(child);
    running.add(command);
    return command;
  }

  return {
    root: root.path,
    dir,
    home,
    tmp,
    start,
    run: (args, env) => start(args, env).ended,
    async [Symbol.asyncDispose]() {
      for (const command of running) command.kill("SIGKILL");
      await Promise.all([...running].map((command) => command.ended));
      await root.dispose();
    },
  };
}

function follow(child: ChildProcessByStdio<null, Readable, Readable>): RunningCommand {
  const { pid } = child;
  if (pid === undefined) throw new Error("the command did not start");
  const heard = { stdout: "", stderr: "" };
  child.stdout.setEncoding("utf8").on("data", (text: string) => (heard.stdout += text));
  child.stderr.setEncoding("utf8").on("data", (text: string) => (heard.stderr += text));
  const ended = once(child, "close").then(([code, signal]: unknown[]): Ending => {
    return { code: code as number | null, signal: signal as NodeJS.Signals | null, ...heard };
  });
  const output = (): string => `${heard.stdout}${heard.stderr}`;
  return {
    pid,
    stdout: () => heard.stdout,
    stderr: () => heard.stderr,
    kill: (signal) => void child.kill(signal),
    ended,
    async says(text) {
      const isSaid = (): boolean => (typeof text === "string" ? output().includes(text) : text.test(output()));
      while (!isSaid()) {
        const more = Promise.race([once(child.stdout, "data"), once(child.stderr, "data")]);
        const end = await Promise.race([ended, more.then(() => null)]);
        if (end === null || isSaid()) continue;
        throw new Error(`it ended without saying ${String(text)}; it said:\n${output()}`);
      }
    },
  };
}

/** Every file and folder below `dir`, by relative path. */
export async function filesBelow(dir: string): Promise<readonly string[]> {
  const entries = await readdir(dir, { recursive: true, withFileTypes: true });
  return entries.map((entry) => relative(dir, join(entry.parentPath, entry.name))).toSorted();
}

function readOrNothing(read: () => string): string {
  try {
    return read();
  } catch {
    return ""; // Ended meanwhile, or not ours to read.
  }
}

/** Processes whose working directory or environment lies below `dir`: what a command has started there and not ended. */
export function processesBelow(dir: string): readonly string[] {
  const pids = readdirSync("/proc").filter((name) => /^\d+$/.test(name));
  return pids.flatMap((pid) => {
    const cwd = readOrNothing(() => readlinkSync(`/proc/${pid}/cwd`));
    const environment = readOrNothing(() => readFileSync(`/proc/${pid}/environ`, "utf8"));
    if (!cwd.startsWith(dir) && !environment.includes(dir)) return [];
    return [`${pid} ${readOrNothing(() => readFileSync(`/proc/${pid}/cmdline`, "utf8")).replaceAll("\0", " ")}`];
  });
}
