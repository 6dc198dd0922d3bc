/** This machine as a host: children in sessions of their own, ended whole. */
import type { Readable, Writable } from "node:stream";
import { errorMessage } from "../domain/errors.ts";
import { systemClock, type Clock } from "../lib/clock.ts";
import type { Log } from "../lib/log.ts";
import { Burst } from "./burst.ts";
import type { AgentProcess, Host, ProcessIdentity, SpawnRequest } from "./port.ts";
import { createProcessTable } from "./process-table.ts";
import { OWNER_VARIABLE } from "./login-shell.ts";
import { createProcessTree, createRunTree, type ProcessTree, type TreeDeps } from "./process-tree.ts";
import { runScript } from "./script.ts";
import { exitAfterEnd, startShell, type ShellDeps } from "./shell.ts";
import { endTree } from "./stop-ladder.ts";
import { createTail } from "./tail.ts";

/** Enough of an agent's stderr for an error message. */
const STDERR_LIMIT_BYTES = 16 * 1024;
/** An app-server needs up to 130 ms from the end of its stdin to its exit (measured); a busy machine gets ten times that. */
const STDIN_GRACE_MS = 1500;

export interface LocalHostDeps {
  readonly log: Log;
  /** Paces the stop ladder. Real processes need real time, so this is for a caller that knows. */
  readonly clock?: Clock;
  /** Id of the ledger whose daemon this is: everything that it starts carries it. */
  readonly owner?: string;
}

/** A pipe that breaks because the child is gone is no news: `exited` tells it. */
function ignoreErrors(stream: Readable | Writable, log: Log): void {
  stream.on("error", (error) => log.debug({ err: errorMessage(error) }, "child pipe closed"));
}

interface SpawnDeps extends ShellDeps {
  readonly burst: Burst;
}

async function spawn(request: SpawnRequest, context: SpawnDeps): Promise<AgentProcess> {
  const shell = await startShell(request, "pipe", context);
  const { identity, exited } = shell;
  const { stdin, stdout, stderr } = shell.child;
  if (stdin === null || stdout === null || stderr === null) throw new Error("spawn made no pipes");
  for (const stream of [stdin, stdout, stderr]) ignoreErrors(stream, context.log);
  const tail = createTail(STDERR_LIMIT_BYTES);
  stderr.on("data", (chunk: Buffer) => tail.push(chunk));
  if (request.record !== undefined) {
    context.burst.add();
    request.record(identity);
    await context.burst.over();
    stdin.write("\n");
  }
  const tree = createRunTree(identity, context);
  let stopping: Promise<void> | null = null;

  async function stop(): Promise<void> {
    // Descendants in sessions of their own can't be found by parentage once their parents are gone.
    await tree.members();
    stdin?.end();
    const graceOver = new AbortController();
    await Promise.race([exited, context.clock.sleep(STDIN_GRACE_MS, graceOver.signal).catch(() => undefined)]);
    graceOver.abort();
    await endTree(tree, context);
    await exitAfterEnd(shell, context.table);
    // Whatever holds a pipe now is not ours to end, and must not keep this process waiting.
    for (const stream of [stdin, stderr]) stream?.destroy();
  }

  return {
    identity,
    stdin,
    stdout,
    exited,
    stderrTail: () => tail.text(),
    stop: () => (stopping ??= stop()),
  };
}

/** A leader that is certainly gone: everything since the machine's start is looked at. */
const NO_LEADER = { pid: 0, startTime: "" };

async function end(tree: ProcessTree, context: TreeDeps): Promise<number> {
  await endTree(tree, context);
  return tree.ended();
}

/** Runs commands here. */
export function createLocalHost({ log, clock = systemClock, owner }: LocalHostDeps): Host {
  const context = { table: createProcessTable(), clock, log, owner: owner ?? null, burst: new Burst(clock) };
  return {
    name: "local",
    spawn: (request) => spawn(request, context),
    runScript: (request) => runScript(request, context),
    reap: (identity: ProcessIdentity) => end(createRunTree(identity, context), context),
    reapAll: async () => {
      if (owner === undefined) return 0;
      return end(createProcessTree(NO_LEADER, `${OWNER_VARIABLE}=${owner}`, context), context);
    },
  };
}
