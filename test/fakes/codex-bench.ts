/** A backend on a scripted server with a manual clock: everything that a session's behaviour can be asked with. */
import { createCodexBackend } from "../../src/agent/codex/backend.ts";
import type { AgentBackend, AgentSession, SessionRequest, TurnEnd } from "../../src/agent/port.ts";
import type { ApprovalPolicy } from "../../src/domain/settings.ts";
import { captureLog, type CapturedLog } from "../support/captured-log.ts";
import { makeSettings } from "../support/issues.ts";
import { ManualClock } from "../support/manual-clock.ts";
import { until } from "../support/until.ts";
import { ScriptedAppServer } from "./scripted-app-server.ts";
import { SessionRecorder, sessionRequest } from "./session-recorder.ts";

export interface CodexBench {
  readonly server: ScriptedAppServer;
  readonly clock: ManualClock;
  readonly recorder: SessionRecorder;
  readonly backend: AgentBackend;
  readonly log: CapturedLog;
  open(overrides?: Partial<SessionRequest>): Promise<AgentSession>;
}

/** `env`: the daemon's environment beside the usual. */
export function codexBench(env: Readonly<Record<string, string>> = {}): CodexBench {
  const server = new ScriptedAppServer();
  const clock = new ManualClock();
  const recorder = new SessionRecorder();
  const log = captureLog();
  const deps = {
    host: server.host,
    clock,
    log: log.log,
    clientVersion: "0.1.0",
    daemonEnv: { HOME: "/home/a", SECRET: "x", ...env },
  };
  const backend = createCodexBackend(deps);
  return {
    server,
    clock,
    recorder,
    backend,
    log,
    open: (overrides) => backend.open(sessionRequest(recorder, { runMarker: "run-1", ...overrides })),
  };
}

/** Moves time on until the promise is settled. */
export async function whileTimePasses<T>({ clock }: CodexBench, promise: Promise<T>): Promise<T> {
  let settled = false;
  const watched = promise.finally(() => (settled = true));
  await until("it is settled", async () => {
    await clock.advance(100);
    return settled;
  });
  return watched;
}

let intents = 0;

/** Starts a turn and waits until the server has told so. */
export async function begin(
  { recorder }: CodexBench,
  session: AgentSession,
): Promise<{ readonly end: Promise<TurnEnd>; readonly id: string }> {
  const before = recorder.of("turn_started").length;
  intents += 1;
  const end = session.runTurn({ prompt: "go", intentId: `intent-${intents}` });
  const id = await until("the turn has started", () => recorder.of("turn_started")[before]?.turnId);
  return { end, id };
}

/** Every kind of request under one policy. */
export function policies(policy: ApprovalPolicy, timeoutMs = 60_000): Partial<SessionRequest> {
  const all = { commands: policy, fileChanges: policy, permissions: policy, elicitations: policy, questions: policy };
  return { settings: makeSettings({ rest: { approvals: { ...all, timeoutMs } } }) };
}
