/** One shell script from start to end, with everything that it started: hooks. */
import { randomUUID } from "node:crypto";
import type { Readable } from "node:stream";
import { finished } from "node:stream/promises";
import { errorMessage } from "../domain/errors.ts";
import type { Clock } from "../lib/clock.ts";
import { openOutputPipe } from "./output-pipe.ts";
import type { ScriptRequest, ScriptResult } from "./port.ts";
import { createProcessTree } from "./process-tree.ts";
import { exitAfterEnd, startShell, type ShellDeps, type StartedShell } from "./shell.ts";
import { endTree } from "./stop-ladder.ts";
import { createTail } from "./tail.ts";

/** Kept of a script's output; the rest is read and dropped, so that a chatty script never blocks. */
export const OUTPUT_LIMIT_BYTES = 64 * 1024;
/** With the tree gone the pipe ends at once; only a process that isn't ours could still hold it. */
const DRAIN_MS = 1000;

/** Carried by everything that one script starts, beside the run's marker. */
const SCRIPT_VARIABLE = "SYMPHONY_SCRIPT_ID";

type Verdict = "exited" | "timedOut" | "aborted";

/** The first of: the script's own end, its time, the caller's abort. */
async function firstReason(exited: Promise<unknown>, request: ScriptRequest, clock: Clock): Promise<Verdict> {
  const { promise, resolve } = Promise.withResolvers<Verdict>();
  const onAbort = (): void => resolve("aborted");
  const timer = clock.setTimer(request.timeoutMs, () => resolve("timedOut"));
  request.signal?.addEventListener("abort", onAbort, { once: true });
  if (request.signal?.aborted === true) onAbort();
  void exited.then(() => resolve("exited"));
  try {
    return await promise;
  } finally {
    timer.cancel();
    request.signal?.removeEventListener("abort", onAbort);
  }
}

/** Reads what is left in the pipe, then lets it go. */
async function drain(output: Readable, clock: Clock): Promise<void> {
  const { promise: late, resolve } = Promise.withResolvers<void>();
  const timer = clock.setTimer(DRAIN_MS, resolve);
  await Promise.race([late, finished(output).catch(() => undefined)]);
  timer.cancel();
  output.destroy();
}

/** Runs a script; see {@link ScriptRequest}. A background process doesn't outlive its script. */
export async function runScript(request: ScriptRequest, context: ShellDeps): Promise<ScriptResult> {
  const { script, cwd, marker } = request;
  // Its tree has a mark of its own: a run's agent carries the run's marker too, and may be alive now.
  const scriptId = randomUUID();
  const env = { ...request.env, [SCRIPT_VARIABLE]: scriptId };
  const pipe = await openOutputPipe();
  const tail = createTail(OUTPUT_LIMIT_BYTES);
  // What was read until it broke is the output; the script's end is told by its exit.
  pipe.reader.on("error", (error) => context.log.debug({ err: errorMessage(error) }, "script output closed"));
  pipe.reader.on("data", (chunk: Buffer) => tail.push(chunk));
  let shell: StartedShell;
  try {
    shell = await startShell({ command: script, cwd, env, marker }, ["ignore", pipe.writeFd, pipe.writeFd], context);
  } catch (error) {
    pipe.reader.destroy();
    throw error;
  } finally {
    pipe.closeWriter();
  }
  const tree = createProcessTree(shell.identity, `${SCRIPT_VARIABLE}=${scriptId}`, context);
  const verdict = await firstReason(shell.exited, request, context.clock);
  await endTree(tree, context);
  const exit = await exitAfterEnd(shell, context.table);
  await drain(pipe.reader, context.clock);
  return {
    exitCode: verdict === "exited" ? (exit?.code ?? null) : null,
    timedOut: verdict === "timedOut",
    aborted: verdict === "aborted",
    output: tail.text(),
  };
}
