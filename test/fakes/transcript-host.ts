/** A host whose process answers from a recorded transcript: the real server's messages, in the real order, as fast as they can be read. */
import { readFileSync } from "node:fs";
import { PassThrough } from "node:stream";
import { fileURLToPath } from "node:url";
import type { AgentProcess, Host, ProcessExit } from "../../src/host/port.ts";

interface Message {
  readonly id?: number | string;
  readonly method?: string;
  readonly params?: Readonly<Record<string, unknown>>;
  readonly result?: unknown;
  readonly error?: unknown;
}

interface Entry {
  readonly dir: "send" | "recv";
  readonly msg: Message;
}

/** What the client sent, in order. */
export interface Sent {
  readonly method: string | null;
  readonly message: Message;
}

/** Reads `test/fixtures/app-server/<name>.jsonl`. */
export function readTranscript(name: string): readonly Entry[] {
  const path = fileURLToPath(new URL(`../fixtures/app-server/${name}.jsonl`, import.meta.url));
  const lines = readFileSync(path, "utf8").split("\n");
  return lines.filter((line) => line !== "").map((line) => JSON.parse(line) as Entry);
}

/** The recorded requests of one method. */
export function recordedParams(
  transcript: readonly Entry[],
  method: string,
): readonly Readonly<Record<string, unknown>>[] {
  return transcript
    .filter(({ dir, msg }) => dir === "send" && msg.method === method)
    .map(({ msg }) => msg.params ?? {});
}

/** The recorded answers to the server's own requests, by their ids. */
export function recordedAnswers(transcript: readonly Entry[]): ReadonlyMap<number | string, unknown> {
  const answers = transcript.filter(
    ({ dir, msg }) => dir === "send" && msg.method === undefined && msg.id !== undefined,
  );
  return new Map(answers.map(({ msg }) => [msg.id ?? "", msg.result ?? msg.error]));
}

/**
 * Replays one process. A request of the client moves the replay to the next recorded request of that method, and everything that the
 * server sent until the next request follows at once, in one chunk. A request of the server waits for the client's answer where the
 * recorded client answered it. What was never recorded is refused.
 */
class Replay {
  readonly stdin = new PassThrough();
  readonly stdout = new PassThrough();
  readonly sent: Sent[] = [];
  readonly answers = new Map<number | string, unknown>();
  readonly #entries: readonly Entry[];
  readonly #ids = new Map<number | string, number | string>();
  #at = 0;
  #rest = "";

  constructor(entries: readonly Entry[]) {
    this.#entries = entries;
    this.stdin.setEncoding("utf8").on("data", (text: string) => this.#feed(text));
  }

  #feed(text: string): void {
    const lines = (this.#rest + text).split("\n");
    this.#rest = lines.pop() ?? "";
    for (const line of lines) this.#take(JSON.parse(line) as Message);
  }

  #take(message: Message): void {
    this.sent.push({ method: message.method ?? null, message });
    if (message.method === undefined && message.id !== undefined) {
      this.answers.set(message.id, message.result ?? message.error);
    } else if (message.id !== undefined) this.#seek(message.id, message.method ?? "");
    this.#emit();
  }

  #seek(id: number | string, method: string): void {
    const found = this.#entries.findIndex(
      ({ dir, msg }, index) => index >= this.#at && dir === "send" && msg.method === method && msg.id !== undefined,
    );
    const recorded = this.#entries[found]?.msg.id;
    if (recorded === undefined) {
      this.#write([{ id, error: { code: -32600, message: `${method} was not recorded` } }]);
      return;
    }
    this.#ids.set(recorded, id);
    this.#at = found + 1;
  }

  #emit(): void {
    const batch: Message[] = [];
    for (; this.#at < this.#entries.length; this.#at += 1) {
      const entry = this.#entries[this.#at];
      if (entry === undefined || (entry.dir === "send" && !this.#isPassed(entry.msg))) break;
      if (entry.dir === "recv") batch.push(this.#readdressed(entry.msg));
    }
    this.#write(batch);
  }

  /** Whether the client has done by now what the recorded client did here. */
  #isPassed({ method, id }: Message): boolean {
    return method === undefined ? id !== undefined && this.answers.has(id) : id === undefined;
  }

  #readdressed(message: Message): Message {
    if (message.method !== undefined || message.id === undefined) return message;
    return { ...message, id: this.#ids.get(message.id) ?? message.id };
  }

  #write(messages: readonly Message[]): void {
    if (messages.length > 0) this.stdout.write(messages.map((message) => `${JSON.stringify(message)}\n`).join(""));
  }
}

export interface TranscriptHost {
  readonly host: Host;
  /** What the client sent to the process that was spawned last. */
  sent(): readonly Sent[];
  /** How the client answered the server's requests, by id. */
  answers(): ReadonlyMap<number | string, unknown>;
  /** Ends the process by itself, as a crash would. */
  crash(exit: ProcessExit): void;
}

/** A host that knows one command: whatever is spawned replays the transcript. */
export function createTranscriptHost(entries: readonly Entry[]): TranscriptHost {
  let replay = new Replay(entries);
  let end = Promise.withResolvers<ProcessExit>();

  function finish(exit: ProcessExit): void {
    replay.stdout.end();
    end.resolve(exit);
  }

  const host: Host = {
    name: "transcript",
    spawn(request): Promise<AgentProcess> {
      replay = new Replay(entries);
      end = Promise.withResolvers<ProcessExit>();
      const { stdin, stdout } = replay;
      const identity = { pid: 1, processGroup: 1, startTime: "0", marker: request.marker };
      request.record?.(identity);
      return Promise.resolve({
        identity,
        stdin,
        stdout,
        exited: end.promise,
        stderrTail: () => "",
        stop: () => Promise.resolve(finish({ code: 0, signal: null })),
      });
    },
    runScript: () => Promise.resolve({ exitCode: 0, timedOut: false, aborted: false, output: "" }),
    reap: () => Promise.resolve(0),
    reapAll: () => Promise.resolve(0),
  };
  return { host, sent: () => replay.sent, answers: () => replay.answers, crash: finish };
}
