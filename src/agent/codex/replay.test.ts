import { afterEach, describe, expect, it } from "vitest";
import { SessionRecorder, sessionRequest } from "../../../test/fakes/session-recorder.ts";
import {
  createTranscriptHost,
  readTranscript,
  recordedAnswers,
  recordedParams,
  type TranscriptHost,
} from "../../../test/fakes/transcript-host.ts";
import { captureLog } from "../../../test/support/captured-log.ts";
import { makeSettings } from "../../../test/support/issues.ts";
import { unlisted } from "../../../test/support/manifest-paths.ts";
import { until } from "../../../test/support/until.ts";
import type { ApprovalPolicy } from "../../domain/settings.ts";
import type { ToolResult } from "../../domain/tool.ts";
import { systemClock } from "../../lib/clock.ts";
import type { AgentSession, SessionRequest, TurnEnd } from "../port.ts";
import { createCodexBackend } from "./backend.ts";

const sessions: AgentSession[] = [];
const replays: { readonly host: TranscriptHost; readonly transcript: ReturnType<typeof readTranscript> }[] = [];

afterEach(async () => {
  await Promise.all(sessions.splice(0).map((session) => session.close()));
  for (const { host, transcript } of replays.splice(0)) expect(outsideManifest(host, transcript)).toEqual([]);
});

/** What was sent, and answered to the server's requests, that the protocol's manifest doesn't list: the check for drift misses it. */
function outsideManifest(host: TranscriptHost, transcript: ReturnType<typeof readTranscript>): readonly string[] {
  const asked = new Map(
    transcript.flatMap(({ dir, msg }) => (dir === "recv" && msg.method !== undefined ? [[msg.id, msg.method]] : [])),
  );
  const sent = host
    .sent()
    .flatMap(({ method, message }) => (method === null ? [] : unlisted(method, "params", message.params)));
  const answered = [...host.answers()].flatMap(([id, answer]) => unlisted(asked.get(id) ?? "?", "result", answer));
  return [...sent, ...answered];
}

interface Replayed {
  readonly session: AgentSession;
  readonly recorder: SessionRecorder;
  readonly host: TranscriptHost;
  /** Runs turns for the next recorded prompts, that many, and answers how each ended. */
  turns(count: number): Promise<readonly TurnEnd[]>;
}

async function open(name: string, overrides: Partial<SessionRequest> = {}): Promise<Replayed> {
  const transcript = readTranscript(name);
  const host = createTranscriptHost(transcript);
  replays.push({ host, transcript });
  const recorder = new SessionRecorder();
  const { log } = captureLog();
  const backend = createCodexBackend({
    host: host.host,
    clock: systemClock,
    log,
    clientVersion: "0.1.0",
    daemonEnv: {},
  });
  const session = await backend.open(sessionRequest(recorder, overrides));
  sessions.push(session);
  let turn = 0;
  return {
    session,
    recorder,
    host,
    async turns(count) {
      const ends: TurnEnd[] = [];
      for (; count > ends.length; turn += 1) {
        ends.push(await session.runTurn({ prompt: `turn ${turn}`, intentId: `i${turn}` }));
      }
      return ends;
    },
  };
}

function completed(count: number): readonly TurnEnd[] {
  return Array.from({ length: count }, () => ({ kind: "completed" }));
}

function approvals(policy: ApprovalPolicy): Partial<SessionRequest> {
  const all = { commands: policy, fileChanges: policy, permissions: policy, elicitations: policy, questions: policy };
  return { settings: makeSettings({ rest: { approvals: { ...all, timeoutMs: 60_000 } } }) };
}

describe("a session as the real server recorded it", () => {
  it("runs turns on one thread and tells messages, reasoning and totals", async () => {
    const { session, recorder, host, turns } = await open("basic-turns");
    expect(session).toMatchObject({ resumed: false, agentVersion: "0.171.0" });
    expect(await turns(2)).toEqual(completed(2));
    expect(recorder.of("message", "reasoning")).toMatchObject([
      { kind: "message", text: "Answer 1." },
      { kind: "reasoning", text: "**Thinking** about it" },
      { kind: "message", text: "Second answer." },
    ]);
    expect(recorder.of("tokens")).toMatchObject([
      { threadId: session.threadId, total: { input: 1000, output: 20 }, subAgent: false },
      { threadId: session.threadId, subAgent: false },
    ]);
    expect(host.sent().map(({ method }) => method)).toEqual([
      "initialize",
      "initialized",
      "thread/start",
      "turn/start",
      "turn/start",
    ]);
  });

  it("answers each tool call once, parallel ones too, and goes on after an unknown tool", async () => {
    const called: string[] = [];
    const late = Promise.withResolvers<ToolResult>();
    const { recorder, host, turns, session } = await open("dynamic-tools", {
      tools: [{ name: "linear_graphql", description: "", inputSchema: { type: "object" } }],
      callTool: (_name, callId) => {
        called.push(callId);
        return called.length > 5 ? late.promise : Promise.resolve({ success: true, text: callId });
      },
    });
    expect(await turns(4)).toEqual(completed(4));
    expect([...host.answers().keys()]).toEqual([0, 1, 6, 7, 8]);
    expect(recorder.of("tool_call").map(({ callId }) => callId)).toEqual(called);
    expect(Math.max(...recorder.open)).toBe(3);
    const cut = session.runTurn({ prompt: "never answered", intentId: "i" });
    await until("the call is open", () => called.length === 6);
    await session.interrupt();
    expect(await cut).toEqual({ kind: "interrupted" });
    expect(recorder.open.at(-1)).toBe(0);
    late.resolve({ success: true, text: "late" });
    await until("it is answered all the same", () => host.answers().has(10));
  });

  it("serves a model that calls tools from its own code", async () => {
    const tools = recordedParams(readTranscript("code-mode"), "thread/start")[0]?.[
      "dynamicTools"
    ] as SessionRequest["tools"];
    const { host, turns } = await open("code-mode", {
      tools,
      callTool: () => Promise.resolve({ success: true, text: "{}" }),
    });
    expect(await turns(1)).toEqual(completed(1));
    expect([...host.answers().values()]).toEqual([
      { contentItems: [{ type: "inputText", text: "{}" }], success: true },
    ]);
  });

  it.each([
    ["failure-http-401", [{ kind: "failed", class: "auth", retryable: true }, { kind: "completed" }]],
    ["failure-http-500", [{ kind: "failed", class: "agent", retryable: true }]],
    [
      "failure-context-window",
      [{ kind: "failed", class: "context_overflow", freshThread: true }, { kind: "completed" }],
    ],
    ["failure-stream-cut-then-ok", [{ kind: "completed" }]],
    ["failure-usage-limit", [{ kind: "failed", class: "usage_limit", retryable: true }]],
    ["spend-limit", [{ kind: "failed", class: "usage_limit", retryable: true }]],
  ])("reads the end of a turn from its status and its code: %s", async (name, ends) => {
    const { turns } = await open(name);
    expect(await turns(ends.length)).toMatchObject(ends);
  });

  it("keeps the newest rate limits", async () => {
    const { turns, recorder } = await open("spend-limit");
    await turns(1);
    expect(recorder.of("rate_limits").at(-1)?.limits).toMatchObject({
      primary: { usedPercent: 100 },
      secondary: { usedPercent: 40 },
    });
  });

  it("tells the fall of the totals after an overflow as it is, without the sum that lies", async () => {
    const { turns, recorder } = await open("overflow");
    expect((await turns(4)).map(({ kind }) => kind)).toContain("failed");
    expect(recorder.of("tokens").map(({ total }) => [total.input, total.output])).toEqual([
      [1000, 10],
      [2000, 20],
      [0, 0],
      [1000, 10],
      [2000, 20],
    ]);
  });

  it("takes a compaction inside a turn for what it is", async () => {
    const { turns, recorder } = await open("auto-compaction");
    expect(await turns(2)).toEqual(completed(2));
    expect(recorder.of("compaction")).toHaveLength(1);
  });

  it("keeps sub-agents apart: their turns end nothing, their tokens are marked", async () => {
    const { turns, recorder, session } = await open("sub-agents");
    expect(await turns(1)).toEqual(completed(1));
    expect(recorder.of("message").map(({ text }) => text)).toEqual(["fine"]);
    expect(recorder.of("turn_started", "turn_completed").map(({ kind }) => kind)).toEqual([
      "turn_started",
      "turn_completed",
    ]);
    const totals = recorder
      .of("tokens")
      .map(({ threadId, total, subAgent }) => [threadId === session.threadId, subAgent, total.input]);
    expect(totals).toEqual([
      [true, false, 100],
      [false, true, 7000],
      [true, false, 200],
      [true, false, 300],
    ]);
    expect(recorder.open.at(-1)).toBe(0);
  });

  it("resumes a thread and takes the repeated old total for its own", async () => {
    const threadId = recordedParams(readTranscript("resume"), "thread/resume")[0]?.["threadId"] as string;
    const { session, recorder, turns, host } = await open("resume", { threadId });
    expect(session).toMatchObject({ threadId, resumed: true });
    expect(await turns(1)).toEqual(completed(1));
    expect(recorder.of("tokens").map(({ total, subAgent }) => [total.input, subAgent])).toEqual([
      [2000, false],
      [3000, false],
    ]);
    expect(host.sent().find(({ method }) => method === "thread/resume")?.message.params).toMatchObject({
      threadId,
      excludeTurns: true,
    });
  });

  it("interrupts once the turn has started, and again when the server had not got that far", async () => {
    const { session, turns, recorder, host } = await open("interrupts");
    expect(await turns(1)).toEqual(completed(1));
    for (const [index, prompt] of ["slow", "not yet started", "a command"].entries()) {
      const started = recorder.of("turn_started").length;
      const cut = session.runTurn({ prompt, intentId: prompt });
      // The second one's start is told only after an interrupt was refused.
      if (index !== 1) await until("it has started", () => recorder.of("turn_started").length > started);
      await until("it is sent", () => host.sent().filter(({ method }) => method === "turn/start").length === index + 2);
      await session.interrupt();
      expect(await cut).toEqual({ kind: "interrupted" });
    }
    expect(host.sent().filter(({ method }) => method === "turn/interrupt")).toHaveLength(4);
    expect(host.sent().at(-1)?.method).toBe("thread/backgroundTerminals/clean");
    expect(recorder.open.at(-1)).toBe(0);
  });

  it("steers the running turn, by its id, and says so when there is none", async () => {
    const { session, recorder, host } = await open("steer");
    await expect(session.steer("too early")).rejects.toMatchObject({ code: "response_error" });
    const end = session.runTurn({ prompt: "slow", intentId: "i" });
    await until("it has started", () => recorder.of("turn_started").length === 1);
    await session.steer("steered: change course");
    expect(await end).toEqual({ kind: "completed" });
    await expect(session.steer("too late")).rejects.toMatchObject({ code: "response_error" });
    const turnId = recorder.of("turn_started")[0]?.turnId;
    expect(host.sent().find(({ method }) => method === "turn/steer")?.message.params).toEqual({
      threadId: session.threadId,
      expectedTurnId: turnId,
      input: [{ type: "text", text: "steered: change course", text_elements: [] }],
    });
  });

  it("compacts as a turn that is nobody else's, then goes on", async () => {
    const { session, recorder, turns } = await open("compaction");
    expect(await session.compact()).toEqual({ kind: "completed" });
    expect(recorder.of("turn_started", "turn_completed")).toEqual([]);
    expect(recorder.of("compaction")).toHaveLength(1);
    expect(await turns(1)).toEqual(completed(1));
  });

  it("still serves the tools of a resumed thread", async () => {
    const threadId = recordedParams(readTranscript("resume-tools"), "thread/resume")[0]?.["threadId"] as string;
    const { host, turns } = await open("resume-tools", {
      threadId,
      tools: [{ name: "linear_graphql", description: "", inputSchema: { type: "object" } }],
      callTool: () => Promise.resolve({ success: true, text: "ok" }),
    });
    expect(await turns(2)).toEqual(completed(2));
    expect(host.answers().size).toBe(1);
  });
});

describe("decisions as the real server recorded them", () => {
  it.each([
    ["approval-command-accept", "accept"],
    ["approval-command-decline", "decline"],
    ["approval-file-accept", "accept"],
    ["approval-file-decline", "decline"],
    ["approval-permissions-accept", "accept"],
    ["approval-permissions-decline", "decline"],
    ["approval-question-accept", "accept"],
    ["approval-question-decline", "decline"],
    ["approval-elicitation-decline", "decline"],
  ] as const)("%s: the reply has the recorded shape and the turn goes on", async (name, policy) => {
    const { host, turns, recorder } = await open(name, approvals(policy));
    expect(await turns(1)).toEqual(completed(1));
    expect([...host.answers()]).toEqual([...recordedAnswers(readTranscript(name))]);
    const kind = policy === "accept" ? "approval_auto_approved" : "approval_declined";
    expect(recorder.of("approval_auto_approved", "approval_declined").every((event) => event.kind === kind)).toBe(true);
  });

  it("accepts an MCP tool, and declines the form that only a person could fill in", async () => {
    const { host, turns } = await open("approval-elicitation-accept", approvals("accept"));
    expect(await turns(1)).toEqual(completed(1));
    const [first] = recordedAnswers(readTranscript("approval-elicitation-accept")).values();
    expect([...host.answers().values()]).toEqual([first, { action: "decline", content: null, _meta: null }]);
  });

  it("names the files of a change, which only its item knows", async () => {
    const { turns, recorder } = await open("approval-file-decline", approvals("decline"));
    await turns(1);
    expect(recorder.of("approval_declined")).toEqual([
      { kind: "approval_declined", method: "item/fileChange/requestApproval", subject: "/outside/file.txt" },
    ]);
  });

  it("keeps the turn open for a person's answer, and sends it as it was recorded", async () => {
    const { host, session, recorder } = await open("approval-command-accept", approvals("ask"));
    const end = session.runTurn({ prompt: "go", intentId: "i" });
    const question = await until("the question is asked", () => recorder.questions.at(-1));
    expect(question).toMatchObject({ kind: "command", subject: expect.stringContaining("/outside/file.txt") });
    expect(recorder.open.at(-1)).toBeGreaterThan(0);
    expect(session.answer(question.id, { accept: true, text: null })).toBe(true);
    expect(await end).toEqual({ kind: "completed" });
    expect(session.answer(question.id, { accept: true, text: null })).toBe(false);
    expect([...host.answers()]).toEqual([...recordedAnswers(readTranscript("approval-command-accept"))]);
    expect(recorder.questions.at(-1)).toBeNull();
  });
});

describe("old servers", () => {
  it.each(["0.100.0", "0.139.0"])("%s: completes, fails and is interrupted", async (version) => {
    const { session, turns, recorder } = await open(`old-${version}`);
    expect(session.agentVersion).toBe(version);
    expect((await turns(2)).map(({ kind }) => kind)).toEqual(["completed", "failed"]);
    const cut = session.runTurn({ prompt: "slow", intentId: "i" });
    await until("it has started", () => recorder.of("turn_started").length === 3);
    await session.interrupt();
    expect(await cut).toEqual({ kind: "interrupted" });
    expect(recorder.of("message").map(({ text }) => text)).toContain("hello");
  });

  it.each(["0.100.0", "0.139.0"])("%s: calls tools", async (version) => {
    const { turns, host } = await open(`old-${version}-tool`, {
      tools: [{ name: "linear_graphql", description: "", inputSchema: { type: "object" } }],
      callTool: () => Promise.resolve({ success: true, text: "ok" }),
    });
    expect(await turns(1)).toEqual(completed(1));
    expect(host.answers().size).toBe(1);
  });

  it.each(["0.100.0", "0.139.0"])("%s: asks for approval", async (version) => {
    const { turns, host } = await open(`old-${version}-approval`, approvals("accept"));
    expect(await turns(1)).toEqual(completed(1));
    expect([...host.answers()]).toEqual([...recordedAnswers(readTranscript(`old-${version}-approval`))]);
  });
});
