/** One shell script from start to end, with everything that it started: hooks. */
import type { Readable } from "node:stream";
import { finished } from "node:stream/promises";
import type { Clock } from "../lib/clock.ts";
import type { ScriptRequest, ScriptResult } from "./port.ts";
import { createProcessTree, type TreeDeps } from "./process-tree.ts";
import { startShell } from "./shell.ts";
import { endTree } from "./stop-ladder.ts";
import { createTail } from "./tail.ts";

/** Kept of a script's output; the rest is read and dropped, so that a chatty script never blocks. */
export const OUTPUT_LIMIT_BYTES = 64 * 1024;
/** With the tree gone the pipes end at once; only a process that isn't ours could still hold them. */
const DRAIN_MS = 1000;

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

/** Reads what is left in the pipes, then lets them go. */
async function drain(streams: readonly Readable[], clock: Clock): Promise<void> {
  const { promise: late, resolve } = Promise.withResolvers<void>();
  const timer = clock.setTimer(DRAIN_MS, resolve);
  await Promise.race([late, Promise.allSettled(streams.map((stream) => finished(stream)))]);
  timer.cancel();
  for (const stream of streams) stream.destroy();
}

/** Runs a script; see {@link ScriptRequest}. A background process doesn't outlive its script. */
export async function runScript(request: ScriptRequest, context: TreeDeps): Promise<ScriptResult> {
  const { script, cwd, env, marker } = request;
  const { child, identity, exited } = await startShell({ command: script, cwd, env, marker }, "ignore", context);
  const tail = createTail(OUTPUT_LIMIT_BYTES);
  const streams = [child.stdout, child.stderr].filter((stream) => stream !== null);
  for (const stream of streams) stream.on("data", (chunk: Buffer) => tail.push(chunk));
  const tree = createProcessTree(identity, context);
  const verdict = await firstReason(exited, request, context.clock);
  await endTree(tree, context);
  const { code } = await exited;
  await drain(streams, context.clock);
  return {
    exitCode: verdict === "exited" ? code : null,
    timedOut: verdict === "timedOut",
    aborted: verdict === "aborted",
    output: tail.text(),
  };
}
