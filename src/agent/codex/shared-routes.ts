/** Which session a message of a shared process is for: by its thread, and for a sub-agent's thread by the thread that began it. */
import type { Channel } from "./channel.ts";
import { readNotice } from "./notices.ts";
import { objectAt, stringAt } from "./reading.ts";
import type { SharedPart } from "./shared-part.ts";
import { RpcError, unknownMethod, type RequestId } from "./wire.ts";

/** Sub-agents of sub-agents. */
const MAX_DEPTH = 8;
const LOOK_UP_MS = 10_000;
/** Until its owner is known, which takes one request. */
const MAX_HELD = 5000;
/** A thread that was let go is told about for a moment longer. */
const MAX_REMEMBERED = 1024;
const REFUSED = -32_600;

type Told = readonly [method: string, params: unknown];
type Asked = readonly [method: string, params: unknown, id: RequestId];

export class SharedRoutes {
  readonly #parts = new Set<SharedPart>();
  readonly #owners = new Map<string, SharedPart>();
  readonly #held = new Map<string, Told[]>();
  readonly #lookUps = new Map<string, Promise<SharedPart | null>>();
  /** Threads that nobody works with, any more or at all. */
  readonly #nobodys = new Set<string>();
  /** Asks the process; the look-ups need it. */
  readonly #ask: Channel["request"];

  constructor(ask: Channel["request"]) {
    this.#ask = ask;
  }

  get parts(): ReadonlySet<SharedPart> {
    return this.#parts;
  }

  add(part: SharedPart): void {
    this.#parts.add(part);
  }

  /** Nothing reaches it any more. */
  remove(part: SharedPart): void {
    for (const threadId of this.threadsOf(part)) {
      this.#owners.delete(threadId);
      this.#forget(threadId);
    }
    this.#parts.delete(part);
  }

  /** Its own thread and those of its sub-agents. */
  threadsOf(part: SharedPart): readonly string[] {
    return [...this.#owners].filter(([, owner]) => owner === part).map(([threadId]) => threadId);
  }

  /** Throws RpcError when another part works with the thread: the process itself would give it to both. */
  claim(part: SharedPart, threadId: string): void {
    const owner = this.#owners.get(threadId) ?? part;
    if (owner !== part) throw new RpcError(REFUSED, `thread ${threadId} already has an active writer`);
    this.#nobodys.delete(threadId);
    this.#owners.set(threadId, part);
    const held = this.#held.get(threadId) ?? [];
    this.#held.delete(threadId);
    for (const [method, params] of held) part.handlers.onNotification(method, params);
  }

  notification(method: string, params: unknown): void {
    const threadId = threadOf(params);
    if (threadId === null) return this.#tellAll(method, params);
    const owner = this.#owners.get(threadId);
    if (owner !== undefined) return owner.handlers.onNotification(method, params);
    if (this.#nobodys.has(threadId)) return;
    const held = this.#held.get(threadId) ?? [];
    if (held.length < MAX_HELD) held.push([method, params]);
    this.#held.set(threadId, held);
    void this.#lookUp(threadId);
  }

  /** As a channel's onRequest. What is nobody's is refused. */
  request(method: string, params: unknown, id: RequestId): unknown {
    const threadId = threadOf(params);
    if (threadId === null) throw unknownMethod(method);
    const owner = this.#owners.get(threadId);
    return owner === undefined ? this.#askOwner(threadId, [method, params, id]) : answerOf(owner, [method, params, id]);
  }

  noise(sample: string): void {
    for (const part of this.#parts) part.handlers.onNoise(sample);
  }

  async #askOwner(threadId: string, asked: Asked): Promise<unknown> {
    const owner = this.#nobodys.has(threadId) ? null : await this.#lookUp(threadId);
    if (owner === null) throw new RpcError(REFUSED, `nobody works with thread ${threadId}`);
    return answerOf(owner, asked);
  }

  /** The account's limits and the server's warnings concern everybody. */
  #tellAll(method: string, params: unknown): void {
    const { kind } = readNotice(method, params);
    if (kind !== "rate_limits" && kind !== "warning") return;
    for (const part of this.#parts) part.handlers.onNotification(method, params);
  }

  #forget(threadId: string): void {
    this.#nobodys.add(threadId);
    const [oldest] = this.#nobodys;
    if (this.#nobodys.size > MAX_REMEMBERED && oldest !== undefined) this.#nobodys.delete(oldest);
  }

  #lookUp(threadId: string): Promise<SharedPart | null> {
    const looking = this.#lookUps.get(threadId) ?? this.#findOwner(threadId);
    this.#lookUps.set(threadId, looking);
    return looking;
  }

  /** Never rejects. */
  async #findOwner(threadId: string): Promise<SharedPart | null> {
    // A thread may be told about before the reply that names it is read.
    await Promise.all([...this.#parts].map((part) => part.whenOpened()));
    const owner = this.#owners.get(threadId) ?? (await this.#ownerOfParent(threadId));
    if (owner === null) this.#forget(threadId);
    else this.claim(owner, threadId);
    this.#lookUps.delete(threadId);
    this.#held.delete(threadId);
    return owner;
  }

  async #ownerOfParent(threadId: string): Promise<SharedPart | null> {
    let at = threadId;
    try {
      for (let depth = 0; depth < MAX_DEPTH; depth += 1) {
        const reply = await this.#ask("thread/read", { threadId: at, includeTurns: false }, LOOK_UP_MS);
        const parent = stringAt(objectAt(reply, "thread"), "parentThreadId");
        if (parent === null) return null;
        const owner = this.#owners.get(parent);
        if (owner !== undefined) return owner;
        at = parent;
      }
    } catch {
      // An agent that can't tell: what its sub-agents ask is refused, and the turn goes on.
    }
    return null;
  }
}

/** Servers before 0.139 call some threads conversations. */
function threadOf(params: unknown): string | null {
  return stringAt(params, "threadId") ?? stringAt(params, "conversationId");
}

function answerOf(owner: SharedPart, [method, params, id]: Asked): unknown {
  return owner.handlers.onRequest(method, params, id);
}
