/** What the machine has to offer: folders, space, git, the port, the time. Nothing is made or changed. */
import { accessSync, constants, existsSync, statfsSync, statSync } from "node:fs";
import { createServer } from "node:net";
import { dirname } from "node:path";
import { execa } from "execa";
import { errorMessage } from "../../domain/errors.ts";
import type { Clock } from "../../lib/clock.ts";
import { fail, ok, warn, type Check } from "./check.ts";

const MEBIBYTE = 1024 ** 2;
/** A clone and a build fit into this; below it the first ticket may not. */
const LITTLE_SPACE_BYTES = 1024 * MEBIBYTE;
/** The ledger can't be trusted to grow within this. */
const NO_SPACE_BYTES = 100 * MEBIBYTE;
const PROGRAM_TIMEOUT_MS = 10_000;
/** A tracker's signature is refused after a minute, and budgets are counted by day. */
const CLOCK_TOLERANCE_MS = 30_000;

/** The folder itself, or the nearest one above it that exists. */
function nearestExisting(path: string): string {
  let at = path;
  while (!existsSync(at) && dirname(at) !== at) at = dirname(at);
  return at;
}

/** Whether a folder is there, or can be made, and written. */
export function checkFolder(name: string, key: string, path: string): Check {
  const at = nearestExisting(path);
  try {
    if (!statSync(at).isDirectory()) throw new Error(`${at} is no folder`);
    accessSync(at, constants.W_OK | constants.X_OK);
    return ok(name, at === path ? `${path} can be written` : `${path} will be made in ${at}`);
  } catch (error) {
    return fail(
      name,
      `${key}: ${path} can't be written: ${errorMessage(error)}`,
      `set ${key}, or give this user the folder`,
    );
  }
}

export function checkSpace(name: string, path: string): Check {
  const at = nearestExisting(path);
  const { bavail, bsize } = statfsSync(at);
  const free = bavail * bsize;
  const message = `${Math.floor(free / MEBIBYTE).toLocaleString("en-US")} MiB free at ${at}`;
  const mend = "free some space, or move workspace.root and state.dir to another disk";
  if (free < NO_SPACE_BYTES) return fail(name, message, mend);
  return free < LITTLE_SPACE_BYTES ? warn(name, message, mend) : ok(name, message);
}

export async function checkGit(): Promise<Check> {
  try {
    const { stdout } = await execa("git", ["--version"], { timeout: PROGRAM_TIMEOUT_MS });
    return ok("git", stdout);
  } catch {
    const why = "git isn't on the PATH: work in removed workspaces can't be kept, and hooks can't clone";
    return fail("git", why, "install git");
  }
}

/** Whether the API's port is free. `isOurs`: a daemon of this state directory runs, and may well be the one that has it. */
export async function checkPort(port: number, host: string, isOurs: boolean): Promise<Check> {
  if (isOurs) return ok("port", `${host}:${port} belongs to the daemon that runs`);
  const server = createServer();
  const listening = Promise.withResolvers<Check>();
  server.once("error", (error) => {
    const mend = "set server.port to another one, or end what has it";
    listening.resolve(fail("port", `server.port: ${host}:${port} can't be had: ${errorMessage(error)}`, mend));
  });
  server.listen({ port, host, exclusive: true }, () => listening.resolve(ok("port", `${host}:${port} is free`)));
  const check = await listening.promise;
  await new Promise((closed) => server.close(closed));
  return check;
}

/** Compares the machine's time with a server's `Date`; `url` is asked without any credential. */
export async function checkClock(url: string, clock: Clock): Promise<Check> {
  const { host } = new URL(url);
  const deadline = new AbortController();
  const timer = clock.setTimer(PROGRAM_TIMEOUT_MS, () => deadline.abort(new Error(`${host} doesn't answer`)));
  try {
    const before = clock.now();
    const { headers } = await fetch(url, { method: "HEAD", redirect: "manual", signal: deadline.signal });
    const after = clock.now();
    const said = Date.parse(headers.get("date") ?? "");
    if (Number.isNaN(said)) return warn("clock", `${host} doesn't say what time it is`, null);
    // The header has whole seconds.
    const off = Math.max(before - said - 1000, said - after, 0);
    if (off <= CLOCK_TOLERANCE_MS) return ok("clock", `agrees with ${host}`);
    return fail("clock", `${Math.round(off / 1000)} s away from ${host}`, "let NTP set this machine's clock");
  } catch (error) {
    return warn("clock", `can't be compared with ${host}: ${errorMessage(error)}`, null);
  } finally {
    timer.cancel();
  }
}
