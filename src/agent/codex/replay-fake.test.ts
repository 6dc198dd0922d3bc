import { mkdir } from "node:fs/promises";
import { join } from "node:path";
import { afterEach, beforeEach, expect, it } from "vitest";
import { SessionRecorder, sessionRequest } from "../../../test/fakes/session-recorder.ts";
import { createSimulatedHost } from "../../../test/fakes/simulated-host.ts";
import { createTranscriptHost, readTranscript } from "../../../test/fakes/transcript-host.ts";
import { turnsOf, type RecordedTurn } from "../../../test/fakes/transcript-script.ts";
import { captureLog } from "../../../test/support/captured-log.ts";
import { makeSettings } from "../../../test/support/issues.ts";
import { makeTempDir, type TempDir } from "../../../test/support/temp-dir.ts";
import { until } from "../../../test/support/until.ts";
import type { AgentEventBody } from "../../domain/events.ts";
import type { Host } from "../../host/port.ts";
import { systemClock } from "../../lib/clock.ts";
import type { AgentSession, TurnEnd } from "../port.ts";
import { createCodexBackend } from "./backend.ts";

let dir: TempDir;

beforeEach(async () => {
  dir = await makeTempDir();
});

afterEach(() => dir.dispose());

/** Every session that one thread plays from its start. Resumed ones and sub-agents have tests of their own. */
const SESSIONS = [
  ["basic-turns", 3],
  ["dynamic-tools", 2],
  ["code-mode", 1],
  ["failure-http-401", 2],
  ["failure-http-500", 1],
  ["failure-stream-cut-then-ok", 1],
  ["failure-usage-limit", 1],
  ["spend-limit", 1],
  ["compaction", 2],
  ["approval-command-accept", 1],
  ["approval-command-decline", 1],
  ["approval-file-decline", 1],
  ["approval-permissions-decline", 1],
  ["approval-question-decline", 1],
  ["old-0.100.0", 3],
  ["old-0.100.0-tool", 1],
  ["old-0.100.0-approval", 1],
  ["old-0.139.0", 3],
  ["old-0.139.0-tool", 1],
] as const;

it.each(SESSIONS)("the simulated agent shows the daemon what the recorded session shows: %s", async (name, count) => {
  const transcript = readTranscript(name);
  const turns = turnsOf(transcript).slice(0, count);
  expect(turns).toHaveLength(count);
  const script = turns.filter(({ isCompaction }) => !isCompaction).map(({ steps }) => ({ steps }));
  const fake = createSimulatedHost(dir.path, { "*": { runs: [{ turns: script }] } });
  const policy = name.endsWith("decline") ? "decline" : "accept";
  const recorded = await watch(createTranscriptHost(transcript).host, turns, policy);
  expect(recorded.seen.length).toBeGreaterThan(2);
  expect(await watch(fake, turns, policy)).toEqual(recorded);
});

interface Seen {
  readonly ends: readonly unknown[];
  readonly seen: readonly string[];
  readonly leftOpen: number;
}

/** Plays the turns on a host, and answers what the daemon sees of them. */
async function watch(host: Host, turns: readonly RecordedTurn[], policy: "accept" | "decline"): Promise<Seen> {
  const recorder = new SessionRecorder();
  const { log } = captureLog();
  const workspacePath = join(dir.path, "work");
  await mkdir(workspacePath, { recursive: true });
  const backend = createCodexBackend({ host, clock: systemClock, log, clientVersion: "0.1.0", daemonEnv: {} });
  const all = { commands: policy, fileChanges: policy, permissions: policy, elicitations: policy, questions: policy };
  const session = await backend.open(
    sessionRequest(recorder, {
      settings: makeSettings({ rest: { approvals: { ...all, timeoutMs: 60_000 } } }),
      workspacePath,
      tools: [{ name: "linear_graphql", description: "", inputSchema: { type: "object" } }],
      callTool: (_name, _id, args) => Promise.resolve({ success: !JSON.stringify(args).includes("fail"), text: "{}" }),
    }),
  );
  const ends: TurnEnd[] = [];
  try {
    for (const turn of turns) ends.push(await play(session, recorder, turn));
  } finally {
    await backend.close();
  }
  // What a compaction costs can't be set by a script.
  const isInvented = turns.some(({ isCompaction }) => isCompaction);
  const seen = outline(recorder.events).filter((line) => !isInvented || !line.startsWith("tokens"));
  return { ends: ends.map(plainEnd), seen, leftOpen: recorder.open.at(-1) ?? 0 };
}

async function play(session: AgentSession, recorder: SessionRecorder, turn: RecordedTurn): Promise<TurnEnd> {
  if (turn.isCompaction) return session.compact();
  const before = recorder.of("turn_started").length;
  const end = session.runTurn({ prompt: "go", intentId: `intent-${before}` });
  if (turn.isInterrupted) {
    await until("it has started", () => recorder.of("turn_started").length > before);
    await session.interrupt();
  }
  return end;
}

function plainEnd(end: TurnEnd): unknown {
  if (end.kind !== "failed") return end.kind;
  return { class: end.class, retryable: end.retryable, freshThread: end.freshThread, isTimed: end.resetsAt !== null };
}

/** One line per event, without what differs by nature: ids, times, what a command prints, and how often a retry was told. */
function outline(events: readonly AgentEventBody[]): readonly string[] {
  const lines = events.flatMap((event) => lineOf(event));
  return lines.filter((line, index) => line !== lines[index - 1] || !line.startsWith("warning"));
}

function lineOf(event: AgentEventBody): readonly string[] {
  switch (event.kind) {
    case "message":
      // The simulated agent says what it was answered, for scripts' sake.
      return /^(Answers|Permissions): /.test(event.text) ? [] : [`message ${event.text}`];
    case "reasoning":
      return [`${event.kind} ${event.text}`];
    case "command":
      return [`command ${event.exitCode === 0 ? "done" : "failed"}`];
    case "tool_call":
      return [`tool_call ${event.tool} ${event.ok}`];
    case "tokens":
      return [`tokens ${event.total.input} ${event.total.output} ${event.subAgent}`];
    case "approval_auto_approved":
    case "approval_declined":
      return [`${event.kind} ${event.method}`];
    case "warning":
      return event.text.startsWith("Reconnecting") ? ["warning of a retry"] : [];
    case "rate_limits":
      return [`rate_limits ${JSON.stringify(event.limits["primary"] ?? null).slice(0, 20)}`];
    case "turn_failed":
      return ["turn_failed"];
    default:
      return [event.kind];
  }
}
