/** Asks the server how a turn stands when its terminal event didn't come (openai/codex#35810 and others). */
import type { SessionChannel } from "./channel.ts";
import { readTurn, type TurnView } from "./notices.ts";
import { arrayAt, objectAt, stringAt } from "./reading.ts";

export interface RecoveryQuestion {
  readonly channel: SessionChannel;
  readonly threadId: string;
  readonly turnId: string;
  /** Whether the turn was told as started: before that its thread is idle too. */
  readonly seen: boolean;
  readonly deadlineMs: number;
}

const RUNNING_STATUS = "inProgress";

/**
 * The turn as the server has it, when it is over; null while it runs, or when this server can't tell. Asks for the thread's status
 * first: an idle thread has no running turn, and only then the turn's own status is worth a second request. Where that can't be
 * had, an idle thread means that a turn which had begun is completed.
 */
export async function lookForEnd(question: RecoveryQuestion): Promise<TurnView | null> {
  const { channel, threadId, turnId, seen, deadlineMs } = question;
  const read = await ask(() => channel.request("thread/read", { threadId, includeTurns: false }, deadlineMs));
  const status = stringAt(objectAt(objectAt(read, "thread"), "status"), "type");
  if (status !== "idle" && status !== "systemError") return null;
  // Turns can be large: only the newest ones, without their items.
  const params = { threadId, limit: 3, sortDirection: "desc", itemsView: "notLoaded" };
  const list = await ask(() => channel.request("thread/turns/list", params, deadlineMs));
  const turn = arrayAt(list, "data")
    .map(readTurn)
    .find((view) => view?.id === turnId);
  if (turn !== undefined && turn !== null) return turn.status === RUNNING_STATUS ? null : turn;
  if (!seen) return null;
  return { id: turnId, status: status === "idle" ? "completed" : "failed", error: null };
}

/** An old server refuses the question, and a stuck one doesn't answer it: both mean that it can't be told. */
async function ask(request: () => Promise<unknown>): Promise<unknown> {
  try {
    return await request();
  } catch {
    return null;
  }
}
