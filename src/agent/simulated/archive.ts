/** Archiving: how a thread is ended and let go, and taken back; order and refusals as measured on 0.171.0. */
import type { Behaviour } from "./behaviour.ts";
import type { Commands } from "./commands.ts";
import type { Method, Reply } from "./dispatcher.ts";
import { type Params, requiredText, RpcError } from "./params.ts";
import type { RolloutStore } from "./rollout.ts";
import type { Thread } from "./thread.ts";
import type { Turn } from "./turn.ts";

export interface ArchiveDeps {
  readonly store: RolloutStore;
  readonly commands: Commands;
  readonly behaviour: Promise<Behaviour>;
  /** The threads and turns of this process, by thread. */
  readonly threads: Map<string, Thread>;
  readonly active: Map<string, Turn>;
  /** A thread as its file has it, not loaded. Throws RpcError. */
  stored(threadId: string): Thread;
}

/** `thread/archive` and `thread/unarchive`. */
export function archiveMethods(deps: ArchiveDeps): Readonly<Record<"thread/archive" | "thread/unarchive", Method>> {
  return {
    "thread/archive": (params) => archive(deps, params),
    "thread/unarchive": (params) => unarchive(deps, params),
  };
}

/** Ends the thread's turn and its commands, and gives the thread up. A later turn of it is another run of the script. */
async function archive(deps: ArchiveDeps, params: Params): Promise<Reply> {
  const threadId = requiredText(params, "threadId");
  const { store, commands, behaviour, threads, active } = deps;
  const loaded = threads.get(threadId);
  if (loaded === undefined && !store.exists(threadId)) throw new RpcError(`no rollout found for thread id ${threadId}`);
  const thread = loaded ?? deps.stored(threadId);
  if (loaded !== undefined) {
    const turn = active.get(threadId);
    active.delete(threadId);
    if (turn?.active === true) {
      turn.stop();
      turn.interrupted();
    }
    await commands.clean(threadId);
    loaded.setStatus("notLoaded");
    threads.delete(threadId);
    (await behaviour).forget(threadId);
  }
  thread.keep();
  store.archive(threadId);
  return { result: {}, after: () => thread.notify("thread/archived", {}) };
}

/** Doesn't load the thread. */
function unarchive({ store, stored, threads }: ArchiveDeps, params: Params): Reply {
  const threadId = requiredText(params, "threadId");
  if (threads.has(threadId)) throw new RpcError(`thread ${threadId} already has an active writer`);
  store.unarchive(threadId);
  const thread = stored(threadId);
  return { result: { thread: thread.unloadedView() }, after: () => thread.notify("thread/unarchived", {}) };
}
