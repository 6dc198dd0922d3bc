/** A session's own model and effort on a thread that keeps whatever a turn last asked for. */
import type { SessionRequest } from "../port.ts";
import { toolsKey, type ThreadBinding } from "../thread-binding.ts";
import type { OpenThread } from "./thread.ts";

/** What the thread rests on from now on: a resumed one keeps the model and effort that were its own at its start. */
export function bindingOf(
  request: SessionRequest,
  thread: OpenThread,
  agent: { readonly version: string | null; readonly home: string | null },
): ThreadBinding {
  const kept = thread.resumed ? (request.binding ?? null) : null;
  return {
    cwd: request.workspacePath,
    home: agent.home,
    modelProvider: thread.modelProvider ?? kept?.modelProvider ?? null,
    model: kept === null ? thread.model : (kept.model ?? thread.model),
    effort: kept === null ? thread.effort : kept.effort,
    agentVersion: agent.version,
    tools: toolsKey(request.tools),
  };
}

export interface TurnOverrides {
  readonly model?: string;
  readonly effort?: string;
}

/**
 * What every turn of the session says of model and effort: the session's own, or the thread's where an earlier session's still holds
 * (overrides stick, over resumes too; measured). An effort that the thread never named can't be asked back for: it stays.
 */
export function overridesOf(request: SessionRequest, thread: OpenThread, binding: ThreadBinding): TurnOverrides {
  const model = request.model ?? ownAgain(thread.model, binding.model);
  const effort = request.effort ?? ownAgain(thread.effort, binding.effort);
  return { ...(model === null ? {} : { model }), ...(effort === null ? {} : { effort }) };
}

function ownAgain(now: string | null, own: string | null): string | null {
  return own === now ? null : own;
}
