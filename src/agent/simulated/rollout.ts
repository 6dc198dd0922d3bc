/** The file that a thread leaves behind, so that another process can resume it: one JSON line per fact, written at once. */
import { appendFileSync, existsSync, mkdirSync, readFileSync, renameSync, rmSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { RpcError, type SandboxPolicy } from "./params.ts";
import type { ThreadUsage } from "./usage.ts";

/** An item in the protocol's own shape. */
export interface Item {
  readonly type: string;
  readonly id: string;
  readonly [field: string]: unknown;
}

export type TurnStatus = "inProgress" | "completed" | "interrupted" | "failed";

/** The `error` of a failed turn. */
export interface TurnError {
  readonly message: string;
  readonly codexErrorInfo: unknown;
  readonly additionalDetails: string | null;
  readonly misalignment: null;
}

export interface TurnRecord {
  readonly id: string;
  readonly status: TurnStatus;
  readonly error: TurnError | null;
  /** Epoch ms; the protocol shows seconds. */
  readonly startedAtMs: number;
  readonly completedAtMs: number | null;
  readonly items: readonly Item[];
}

/** What a resumed thread keeps. */
export interface ThreadMeta {
  readonly id: string;
  readonly cwd: string;
  readonly approvalPolicy: unknown;
  readonly sandbox: SandboxPolicy;
  readonly toolNames: readonly string[];
  readonly name: string | null;
  /** The ticket that the thread works on, once it is known. */
  readonly ticket: string | null;
  readonly originator: string;
  /** Epoch seconds. */
  readonly createdAt: number;
}

type Fact =
  | { readonly fact: "thread"; readonly meta: ThreadMeta }
  | { readonly fact: "turn"; readonly turn: TurnRecord }
  | { readonly fact: "item"; readonly turnId: string; readonly item: Item }
  | { readonly fact: "usage"; readonly turnId: string; readonly usage: ThreadUsage };

/** A thread as it was read back. */
export interface StoredThread {
  readonly meta: ThreadMeta;
  readonly turns: readonly TurnRecord[];
  readonly usage: { readonly turnId: string; readonly usage: ThreadUsage } | null;
}

/** Start time of a process in clock ticks; null when it can't be read, also on systems without /proc. */
function processStart(pid: number): string | null {
  try {
    const stat = readFileSync(`/proc/${pid}/stat`, "utf8");
    return stat.slice(stat.lastIndexOf(")") + 2).split(" ")[19] ?? null;
  } catch {
    return null;
  }
}

function isAlive(pid: number, start: string): boolean {
  try {
    process.kill(pid, 0);
  } catch {
    return false;
  }
  const now = processStart(pid);
  return now === null || start === "" || now === start;
}

/** The rollout files under one home directory. */
export class RolloutStore {
  readonly #home: string;
  readonly #owned = new Set<string>();

  constructor(home: string) {
    this.#home = home;
  }

  path(threadId: string): string {
    return join(this.#home, "sessions", `rollout-${threadId}.jsonl`);
  }

  #archived(threadId: string): string {
    return join(this.#home, "archived_sessions", `rollout-${threadId}.jsonl`);
  }

  exists(threadId: string): boolean {
    return existsSync(this.path(threadId));
  }

  /** Puts a thread that has a file away, and gives it up. Refuses while another live process writes it. */
  archive(threadId: string): void {
    this.acquire(threadId);
    const to = this.#archived(threadId);
    mkdirSync(dirname(to), { recursive: true, mode: 0o700 });
    renameSync(this.path(threadId), to);
    rmSync(`${this.path(threadId)}.writer`, { force: true });
    this.#owned.delete(threadId);
  }

  /** Takes a thread back from the archive. Throws RpcError when it isn't there. */
  unarchive(threadId: string): void {
    const from = this.#archived(threadId);
    if (!existsSync(from)) throw new RpcError(`no archived rollout found for thread id ${threadId}`);
    renameSync(from, this.path(threadId));
  }

  append(threadId: string, fact: Fact): void {
    const path = this.path(threadId);
    if (!this.#owned.has(threadId)) this.acquire(threadId);
    appendFileSync(path, `${JSON.stringify(fact)}\n`);
  }

  /** Becomes the thread's one writer. Refuses while another live process is. */
  acquire(threadId: string): void {
    if (this.#owned.has(threadId)) return;
    const lock = `${this.path(threadId)}.writer`;
    mkdirSync(dirname(lock), { recursive: true, mode: 0o700 });
    if (existsSync(lock)) {
      const [pid = "", start = ""] = readFileSync(lock, "utf8").split(" ");
      if (pid !== String(process.pid) && isAlive(Number(pid), start)) {
        throw new RpcError(`thread ${threadId} already has an active writer`);
      }
    }
    writeFileSync(lock, `${process.pid} ${processStart(process.pid) ?? ""}`);
    this.#owned.add(threadId);
  }

  /** Gives every thread back; called when the process ends in good order. */
  release(): void {
    for (const threadId of this.#owned) rmSync(`${this.path(threadId)}.writer`, { force: true });
    this.#owned.clear();
  }

  /** Reads a thread back. A turn that was cut off is shown as interrupted; a half-written last line is dropped. */
  read(threadId: string): StoredThread {
    if (existsSync(this.#archived(threadId))) {
      throw new RpcError(`session ${threadId} is archived. Run \`codex unarchive ${threadId}\` to unarchive it first.`);
    }
    if (!this.exists(threadId)) throw new RpcError(`no rollout found for thread id ${threadId}`);
    let meta: ThreadMeta | null = null;
    let usage: StoredThread["usage"] = null;
    const turns = new Map<string, TurnRecord>();
    for (const fact of parseFacts(readFileSync(this.path(threadId), "utf8"))) {
      if (fact.fact === "thread") meta = fact.meta;
      else if (fact.fact === "turn") keepTurn(turns, fact.turn);
      else if (fact.fact === "usage") usage = { turnId: fact.turnId, usage: fact.usage };
      else addItem(turns, fact.turnId, fact.item);
    }
    if (meta === null) throw new RpcError(`rollout of thread id ${threadId} is unreadable`);
    const closed = [...turns.values()].map((turn) =>
      turn.status === "inProgress" ? { ...turn, status: "interrupted" as const } : turn,
    );
    return { meta, turns: closed, usage };
  }
}

/** A turn is written when it starts and when it ends; its items have lines of their own. */
function keepTurn(turns: Map<string, TurnRecord>, turn: TurnRecord): void {
  turns.set(turn.id, { ...turn, items: turns.get(turn.id)?.items ?? [] });
}

function addItem(turns: Map<string, TurnRecord>, turnId: string, item: Item): void {
  const turn = turns.get(turnId);
  if (turn !== undefined) turns.set(turnId, { ...turn, items: [...turn.items, item] });
}

function parseFacts(text: string): Fact[] {
  const facts: Fact[] = [];
  for (const line of text.split("\n")) {
    try {
      // We wrote the file ourselves, and a line is whole or it doesn't parse.
      if (line !== "") facts.push(JSON.parse(line) as Fact);
    } catch {
      // The process was killed in the middle of its last line.
    }
  }
  return facts;
}
