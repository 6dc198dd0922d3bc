/** Gives a test run a temporary folder and an empty home of its own, and fails the run when processes or files of it are left at the end. */
import { existsSync, mkdtempSync, readdirSync, readFileSync, readlinkSync, realpathSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import { setTimeout as pause } from "node:timers/promises";

/** Workers of the test runner and tools that are just ending are waited for this long. */
const PATIENCE_MS = 5000;

/** Compiled code of the project, kept between runs as tools keep theirs: each of the many starts of Node costs less. */
const COMPILE_CACHE = resolve(import.meta.dirname, "../../node_modules/.cache/node-compile");

interface Leftover {
  readonly pid: number;
  readonly command: string;
}

/** What a process can be asked about under /proc; "" when it has gone or isn't ours. */
function readOrNothing(read: () => string): string {
  try {
    return read();
  } catch {
    return "";
  }
}

/**
 * Processes that were started by this run: their environment or working directory names the run's folder. The runner's own
 * workers, which inherit the environment too, are its children by parent pid.
 */
function leftoverProcesses(folder: string): Leftover[] {
  if (!existsSync("/proc/self/environ")) return []; // Not Linux: the files are still looked at.
  return readdirSync("/proc").flatMap((name) => {
    const pid = Number(name);
    if (!Number.isInteger(pid) || pid === process.pid) return [];
    const [environ, cwd, command, stat] = [
      readOrNothing(() => readFileSync(`/proc/${pid}/environ`, "utf8")),
      readOrNothing(() => readlinkSync(`/proc/${pid}/cwd`)),
      readOrNothing(() => readFileSync(`/proc/${pid}/cmdline`, "utf8")).replaceAll("\0", " "),
      readOrNothing(() => readFileSync(`/proc/${pid}/stat`, "utf8")),
    ];
    const parent = Number(/^\d+ \(.*\) \S (\d+)/s.exec(stat)?.[1]);
    if (parent === process.pid) return [];
    return environ.includes(folder) || cwd.startsWith(folder) ? [{ pid, command: command.slice(0, 200) }] : [];
  });
}

async function untilNoneIsLeft(folder: string): Promise<Leftover[]> {
  const deadline = performance.now() + PATIENCE_MS;
  let left = leftoverProcesses(folder);
  while (left.length > 0 && performance.now() < deadline) {
    await pause(50);
    left = leftoverProcesses(folder);
  }
  return left;
}

function restore(name: string, value: string | undefined): void {
  if (value === undefined) delete process.env[name];
  else process.env[name] = value;
}

/** Run by vitest before the first worker starts; the answer is run after the last test. */
export function setup(): () => Promise<void> {
  const outer = process.env["TMPDIR"];
  // Short, because paths of sockets have to fit into 108 bytes.
  const folder = realpathSync(mkdtempSync(join(tmpdir(), "sy-")));
  process.env["TMPDIR"] = folder;
  // Every hook and agent is a login shell: what this user's profile does is no part of a test, and may take longer than the test.
  const home = mkdtempSync(join(folder, "home-"));
  const userHome = process.env["HOME"];
  process.env["HOME"] = home;
  const userCache = process.env["NODE_COMPILE_CACHE"];
  process.env["NODE_COMPILE_CACHE"] = COMPILE_CACHE;
  return async () => {
    restore("TMPDIR", outer);
    restore("HOME", userHome);
    restore("NODE_COMPILE_CACHE", userCache);
    const processes = await untilNoneIsLeft(folder);
    rmSync(home, { recursive: true, force: true });
    for (const { pid } of processes) process.kill(pid, "SIGKILL");
    const files = readdirSync(folder);
    rmSync(folder, { recursive: true, force: true, maxRetries: 3 });
    const lines = [
      ...processes.map(({ pid, command }) => `  process ${pid}: ${command}`),
      ...files.map((name) => `  file ${join(folder, name)}`),
    ];
    if (lines.length > 0) throw new Error(`the tests left behind:\n${lines.join("\n")}`);
  };
}
