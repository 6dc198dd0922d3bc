/** Gets a session its thread: the bound one resumed, or a fresh one where that can't be. */
import type { Clock } from "../../lib/clock.ts";
import type { Log } from "../../lib/log.ts";
import { AppError } from "../../domain/errors.ts";
import type { SessionRequest } from "../port.ts";
import type { Channel } from "./channel.ts";
import { resumeRefusal } from "./failures.ts";
import { objectAt, stringAt } from "./reading.ts";
import { threadResumeParams, threadStartParams } from "./thread-params.ts";
import { RpcError } from "./wire.ts";

/** An old process that was told to end is gone in well under a second; a writer that stays longer is somebody else's. */
const WRITER_RETRY_MS = [250, 500, 1000] as const;

export interface ThreadDeps {
  readonly channel: Channel;
  readonly clock: Clock;
  readonly log: Log;
  /** The repository's instructions for a fresh thread, where the app-server doesn't read them itself. */
  developerInstructions(): Promise<string | null>;
}

export interface OpenThread {
  readonly threadId: string;
  readonly resumed: boolean;
  /** As the answer names it; null when it doesn't. */
  readonly model: string | null;
}

/** The bound thread is in use by another process. */
export class ThreadInUseError extends Error {
  override readonly name = "ThreadInUseError";
}

/** Rejects as a request does, and with ThreadInUseError. */
export async function openThread(deps: ThreadDeps, request: SessionRequest): Promise<OpenThread> {
  if (request.threadId !== null) {
    const resumed = await resumeThread(deps, request, request.threadId);
    if (resumed !== null) return { ...resumed, resumed: true };
  }
  const params = threadStartParams(request, await deps.developerInstructions());
  return { ...(await threadRequest(deps, request, { method: "thread/start", params })), resumed: false };
}

/** Null: the server can't resume it, and a fresh thread is as good as it gets. */
async function resumeThread(deps: ThreadDeps, request: SessionRequest, bound: string): Promise<NamedThread | null> {
  const params = threadResumeParams(request, bound);
  for (const waitMs of [...WRITER_RETRY_MS, null]) {
    try {
      return await threadRequest(deps, request, { method: "thread/resume", params });
    } catch (error) {
      if (!(error instanceof RpcError)) throw error;
      const refusal = resumeRefusal(error);
      if (refusal === "active_writer" && waitMs === null) throw new ThreadInUseError(error.message, { cause: error });
      if (refusal !== "active_writer" || waitMs === null) {
        deps.log.warn(
          { threadId: bound, err: error, refusal },
          "the bound thread can't be resumed; a fresh one is started",
        );
        return null;
      }
      await deps.clock.sleep(waitMs);
    }
  }
  return null;
}

type NamedThread = Pick<OpenThread, "threadId" | "model">;

async function threadRequest(
  { channel }: ThreadDeps,
  { settings }: SessionRequest,
  { method, params }: { readonly method: "thread/start" | "thread/resume"; readonly params: unknown },
): Promise<NamedThread> {
  const reply = await channel.request(method, params, settings.codex.startTimeoutMs);
  const threadId = stringAt(objectAt(reply, "thread"), "id");
  if (threadId === null) throw new AppError("response_error", `the answer to ${method} names no thread`);
  return { threadId, model: stringAt(reply, "model") };
}
