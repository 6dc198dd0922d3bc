/** A scripted app-server that holds many threads, and sessions that share it. */
import type { AgentSession, SessionRequest } from "../../src/agent/port.ts";
import type { Settings } from "../../src/domain/settings.ts";
import { makeSettings } from "../support/issues.ts";
import { codexBench, type CodexBench } from "./codex-bench.ts";
import { SessionRecorder, sessionRequest } from "./session-recorder.ts";

export const SHARED: Settings = makeSettings({ codex: { process: "shared" } });

/** A tool that every session here may offer. */
export const BOARD = { name: "board", description: "the board", inputSchema: { type: "object" } };

/** A session of a shared process. */
export interface Member {
  readonly session: AgentSession;
  readonly recorder: SessionRecorder;
}

/** Every thread has a name of its own, and is let go when that is asked for. */
export function sharedBench(): CodexBench {
  const bench = codexBench();
  let threads = 0;
  bench.server
    .on("thread/start", () => {
      threads += 1;
      return { result: { thread: { id: `thread-${threads}` }, model: "gpt-5.5" } };
    })
    .on("turn/start", ({ threadId }, server) => {
      const turn = { id: `turn-of-${String(threadId)}`, status: "inProgress" };
      return server.after({ result: { turn } }, () => server.notify("turn/started", { threadId, turn }));
    })
    .on("thread/archive", () => ({ result: {} }))
    .on("thread/unarchive", () => ({ result: {} }))
    .on("thread/read", () => ({ result: { thread: { parentThreadId: null } } }));
  return bench;
}

/** Opens a session in it. */
export async function join({ backend }: CodexBench, overrides: Partial<SessionRequest> = {}): Promise<Member> {
  const recorder = new SessionRecorder();
  return { session: await backend.open(sessionRequest(recorder, { settings: SHARED, ...overrides })), recorder };
}

/** What the agent said to a session. */
export function texts({ recorder }: Member): readonly string[] {
  return recorder.of("message").map(({ text }) => text);
}

/** Params of item/completed with a message. */
export function message(id: string, text: string): Readonly<Record<string, unknown>> {
  return { item: { id, type: "agentMessage", text } };
}
