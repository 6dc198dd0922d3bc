/** What the agent has open: commands, tool calls and questions, while which silence is life. */

/** Item types that may be silent for long without being stuck. A message or a reasoning that stops midway is stuck. */
const WORKING_TYPES: ReadonlySet<string> = new Set([
  "collabAgentToolCall",
  "commandExecution",
  "dynamicToolCall",
  "fileChange",
  "imageGeneration",
  "mcpToolCall",
  "sleep",
  "webSearch",
]);

/** Whether an item of this type counts as work under way. Unknown types don't: they could hold the stall detection off for ever. */
export function isWork(type: string): boolean {
  return WORKING_TYPES.has(type);
}

/** A set of what is open, by thread and key. An item and the tool call that it stands for share their key, and count once. */
export class OpenWork {
  readonly #byThread = new Map<string, Set<string>>();

  get count(): number {
    let count = 0;
    for (const keys of this.#byThread.values()) count += keys.size;
    return count;
  }

  open(threadId: string, key: string): void {
    const keys = this.#byThread.get(threadId) ?? new Set();
    this.#byThread.set(threadId, keys.add(key));
  }

  close(threadId: string, key: string): void {
    this.#byThread.get(threadId)?.delete(key);
  }

  /** The end of a thread's turn ends all that it left open (measured: cut items never complete). */
  closeThread(threadId: string): void {
    this.#byThread.delete(threadId);
  }

  /** The end of the session's own turn: what sub-agents left open can't hold anything up any more. */
  clear(): void {
    this.#byThread.clear();
  }
}
