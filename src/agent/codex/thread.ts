/** Gets a session its thread: the bound one resumed, or a fresh one where that can't be. */
import type { Clock } from "../../lib/clock.ts";
import type { Log } from "../../lib/log.ts";
import { AppError } from "../../domain/errors.ts";
import type { SessionRequest } from "../port.ts";
import { misfit, toolsKey } from "../thread-binding.ts";
import type { SessionChannel } from "./channel.ts";
import { resumeRefusal } from "./failures.ts";
import { objectAt, stringAt } from "./reading.ts";
import { threadResumeParams, threadStartParams } from "./thread-params.ts";
import { RpcError } from "./wire.ts";

/** An old process that was told to end is gone in well under a second; a writer that stays longer is somebody else's. */
const WRITER_RETRY_MS = [250, 500, 1000] as const;
/** The provider of a configuration that names none. */
const DEFAULT_PROVIDER = "openai";

export interface ThreadDeps {
  readonly channel: SessionChannel;
  readonly clock: Clock;
  readonly log: Log;
  /** Where this agent keeps its threads; null when it didn't say. */
  readonly home: string | null;
  /** The session's own folder for temporary files; null: the system's. */
  readonly temporary: string | null;
  /** What a fresh thread is told above its prompts. */
  developerInstructions(): Promise<string | null>;
}

/** As the answer names it; null where it doesn't. */
interface NamedThread {
  readonly threadId: string;
  readonly model: string | null;
  readonly effort: string | null;
  readonly modelProvider: string | null;
}

export interface OpenThread extends NamedThread {
  readonly resumed: boolean;
  /** Why the bound thread was left; null when it wasn't, or when none was bound. */
  readonly replaced: string | null;
}

type Resumption =
  { readonly kind: "resumed"; readonly thread: NamedThread } | { readonly kind: "left"; readonly why: string };

/** Rejects as a request does. A thread that can't be resumed is replaced by a fresh one, which needs nobody's leave. */
export async function openThread(deps: ThreadDeps, request: SessionRequest): Promise<OpenThread> {
  const { threadId } = request;
  const bound = threadId === null ? null : await resumeIfItFits(deps, request, threadId);
  if (bound?.kind === "resumed") return { ...bound.thread, resumed: true, replaced: null };
  const replaced = bound === null ? null : bound.why;
  if (replaced !== null) {
    deps.log.warn({ thread_id: threadId, reason: replaced }, "the bound thread is left; a fresh one is started");
  }
  const { temporary } = deps;
  const params = threadStartParams(request, { developerInstructions: await deps.developerInstructions(), temporary });
  return { ...(await threadRequest(deps, request, { method: "thread/start", params })), resumed: false, replaced };
}

async function resumeIfItFits(deps: ThreadDeps, request: SessionRequest, threadId: string): Promise<Resumption> {
  const { binding, workspacePath, tools } = request;
  if (binding !== undefined && binding !== null) {
    const now = {
      cwd: workspacePath,
      home: deps.home,
      modelProvider: await configuredProvider(deps, request),
      tools: toolsKey(tools),
    };
    const why = misfit(binding, now);
    if (why !== null) return { kind: "left", why };
  }
  return resume(deps, request, threadId);
}

/** A resumed thread keeps the provider of its start, whatever the configuration says by now (measured). Null: it can't be told. */
async function configuredProvider({ channel }: ThreadDeps, request: SessionRequest): Promise<string | null> {
  const { settings, workspacePath } = request;
  try {
    const reply = await channel.request("config/read", { cwd: workspacePath }, settings.codex.readTimeoutMs);
    const config = objectAt(reply, "config");
    return config === null ? null : (stringAt(config, "model_provider") ?? DEFAULT_PROVIDER);
  } catch (error) {
    if (channel.closed !== null) throw error;
    // An older server refuses the question, or doesn't answer it.
    return null;
  }
}

async function resume(deps: ThreadDeps, request: SessionRequest, threadId: string): Promise<Resumption> {
  const params = threadResumeParams(request, threadId, deps.temporary);
  for (let tries = 0; ; tries += 1) {
    try {
      return { kind: "resumed", thread: await threadRequest(deps, request, { method: "thread/resume", params }) };
    } catch (error) {
      if (!(error instanceof RpcError)) throw error;
      const refusal = resumeRefusal(error);
      if (refusal === "archived" && tries === 0 && (await isTakenBack(deps, request, threadId))) continue;
      const waitMs = WRITER_RETRY_MS[tries];
      if (refusal !== "active_writer" || waitMs === undefined) return { kind: "left", why: error.message };
      // A process of an earlier run that outlived its end holds the thread; anybody else's is not ours to end.
      if (tries === 0) await request.endEarlier?.();
      await deps.clock.sleep(waitMs);
    }
  }
}

/** A shared process that was killed between the two halves of letting a thread go leaves it in the archive. */
async function isTakenBack(
  { channel, log }: ThreadDeps,
  { settings }: SessionRequest,
  threadId: string,
): Promise<boolean> {
  try {
    await channel.request("thread/unarchive", { threadId }, settings.codex.readTimeoutMs);
    return true;
  } catch (error) {
    if (!(error instanceof RpcError)) throw error;
    log.debug({ thread_id: threadId, err: error }, "the thread was not taken back from the archive");
    return false;
  }
}

async function threadRequest(
  { channel }: ThreadDeps,
  { settings }: SessionRequest,
  { method, params }: { readonly method: "thread/start" | "thread/resume"; readonly params: unknown },
): Promise<NamedThread> {
  const reply = await channel.request(method, params, settings.codex.startTimeoutMs);
  const threadId = stringAt(objectAt(reply, "thread"), "id");
  if (threadId === null) throw new AppError("response_error", `the answer to ${method} names no thread`);
  return {
    threadId,
    model: stringAt(reply, "model"),
    effort: stringAt(reply, "reasoningEffort"),
    modelProvider: stringAt(reply, "modelProvider"),
  };
}
