/** Threads on the real binary: what is resumed, what is left for a fresh one, and what a session asks for itself alone. */
import { mkdir, readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { createCodexBackend } from "../../src/agent/codex/backend.ts";
import type { AgentBackend, AgentSession, SessionRequest } from "../../src/agent/port.ts";
import { startRun } from "../../src/agent/runner.ts";
import { runId } from "../../src/domain/ids.ts";
import type { Host } from "../../src/host/port.ts";
import { createLocalHost } from "../../src/host/local.ts";
import { systemClock } from "../../src/lib/clock.ts";
import { reapEarlier } from "../../src/orchestrator/recover.ts";
import { parseTemplate } from "../../src/workflow/template.ts";
import { type ModelReply, type ResponsesServer, say, startResponsesServer } from "../fakes/responses-server.ts";
import { SessionRecorder, sessionRequest } from "../fakes/session-recorder.ts";
import { captureLog } from "../support/captured-log.ts";
import { makeIssue, makeSettings } from "../support/issues.ts";
import { changeOf, ended, makeLedgerPlace, started } from "../support/ledger.ts";
import { makeTempDir, type TempDir } from "../support/temp-dir.ts";
import { untilGone } from "../support/processes.ts";
import { makeWorkspaceFixture } from "../support/workspaces.ts";
import { installCodex, makeCodexHome } from "./codex-binary.ts";

const FULL: ModelReply = { kind: "failed", code: "context_length_exceeded", message: "too long" };

let dir: TempDir;
let work: string;
let codexHome: string;
let model: ResponsesServer;
let replies: readonly ModelReply[];
let host: Host;
let backend: AgentBackend;
let command: string;

beforeEach(async () => {
  dir = await makeTempDir();
  work = join(dir.path, "work");
  replies = [];
  model = await startResponsesServer(({ index }) => replies[index] ?? say("done"));
  codexHome = await makeCodexHome(dir.path, model.baseUrl);
  for (const folder of [work, join(dir.path, "tmp")]) await mkdir(folder);
  const env = { PATH: process.env["PATH"] ?? "", HOME: dir.path, CODEX_HOME: codexHome, TMPDIR: join(dir.path, "tmp") };
  const { log } = captureLog();
  host = createLocalHost({ log });
  backend = createCodexBackend({ host, clock: systemClock, log, clientVersion: "0.1.0", daemonEnv: env });
  command = `'${await installCodex()}' app-server`;
});

afterEach(async () => {
  await backend.close();
  await model.close();
  await dir.dispose();
});

interface Opened {
  readonly session: AgentSession;
  readonly recorder: SessionRecorder;
}

async function open(overrides: Partial<SessionRequest> = {}): Promise<Opened> {
  const recorder = new SessionRecorder();
  const settings = makeSettings({ codex: { command } });
  const session = await backend.open(sessionRequest(recorder, { settings, workspacePath: work, ...overrides }));
  return { session, recorder };
}

async function turn({ session }: Opened, prompt = "work"): Promise<void> {
  expect(await session.runTurn({ prompt, intentId: crypto.randomUUID() })).toEqual({ kind: "completed" });
}

/** A thread with one turn, whose process is gone. */
async function madeThread(overrides: Partial<SessionRequest> = {}): Promise<AgentSession> {
  const opened = await open(overrides);
  await turn(opened);
  await opened.session.close();
  return opened.session;
}

describe("a bound thread", () => {
  test("that never had a turn is left for a fresh one", async () => {
    const { session: first } = await open();
    await first.close();
    const { session } = await open({ threadId: first.threadId, binding: first.binding });
    expect(session.resumed).toBe(false);
    expect(session.replaced).toContain("no rollout found");
  });

  test("that a leftover process holds is free again once that has been ended", async () => {
    const holder = await open();
    await turn(holder);
    const [identity] = holder.recorder.identities;
    const endEarlier = async (): Promise<void> => {
      if (identity !== undefined) await host.reap(identity);
    };
    const { threadId, binding } = holder.session;
    const next = await open({ threadId, binding, endEarlier });
    expect(next.session).toMatchObject({ threadId, resumed: true, replaced: null });
    await untilGone(identity?.pid ?? 0);
    await turn(next);
  });

  test("that somebody else's process keeps is left for a fresh one", async () => {
    const holder = await open();
    await turn(holder);
    const next = await open({ threadId: holder.session.threadId, binding: holder.session.binding });
    expect(next.session.resumed).toBe(false);
    expect(next.session.replaced).toContain("already has an active writer");
    await turn(next);
  });

  test("is bound to home, provider, model and version as the agent tells them", async () => {
    const { binding } = await madeThread();
    expect(binding).toMatchObject({
      cwd: work,
      home: codexHome,
      modelProvider: "fake",
      model: "gpt-5.5",
      agentVersion: "0.171.0",
    });
    const { session } = await open();
    expect(session.binding).toEqual(binding);
  });

  test("is left for a fresh one when the configuration names another model provider by now", async () => {
    const { threadId, binding } = await madeThread();
    const config = join(codexHome, "config.toml");
    const text = await readFile(config, "utf8");
    const moved = text.replace('model_provider = "fake"', 'model_provider = "other"');
    const other = `[model_providers.other]\nname = "other"\nbase_url = "${model.baseUrl}"\nwire_api = "responses"\n`;
    await writeFile(config, moved.replace("[model_providers.fake]", `${other}[model_providers.fake]`));
    const { session } = await open({ threadId, binding });
    expect(session).toMatchObject({ resumed: false, replaced: "the model provider was fake and is other now" });
    expect(session.binding.modelProvider).toBe("other");
  });

  test("is left for a fresh one with the tools of today when they are others", async () => {
    const { threadId, binding } = await madeThread();
    const tools = [{ name: "board", description: "the board", inputSchema: { type: "object" } }];
    const next = await open({ threadId, binding, tools });
    expect(next.session).toMatchObject({ resumed: false, replaced: "the tools that it was made with are others now" });
    await turn(next);
    expect(JSON.stringify(model.requests.at(-1)?.body["tools"])).toContain("board");
  });

  test("repeats its old total after a resume, which is told apart from what the new turn uses", async () => {
    const { threadId, binding } = await madeThread();
    const next = await open({ threadId, binding });
    await turn(next);
    const tokens = next.recorder.of("tokens");
    expect(tokens.map(({ replayed }) => replayed)).toEqual([true, false]);
    expect(tokens.map(({ total }) => total.input)).toEqual([1000, 2000]);
  });
});

describe("a session's own model, effort and instructions", () => {
  test("reach the model, and end with the session", async () => {
    const own = { model: "gpt-5.4", effort: "high", developerInstructions: "Always speak softly." };
    const { threadId, binding } = await madeThread(own);
    expect(model.requests[0]?.body).toMatchObject({ model: "gpt-5.4", reasoning: { effort: "high" } });
    expect(JSON.stringify(model.requests[0]?.body)).toContain("Always speak softly.");
    expect(binding.model).toBe("gpt-5.5");
    await turn(await open({ threadId, binding }));
    expect(model.requests[1]?.body["model"]).toBe("gpt-5.5");
    expect(JSON.stringify(model.requests[1]?.body)).toContain("Always speak softly.");
  });
});

describe("a run whose context is full", () => {
  test("has it compacted, goes on on the same thread, and counts every token", async () => {
    const issue = makeIssue("A-1", { state: "In Progress" });
    replies = [say("first"), FULL, say("a summary"), say("finished")];
    await using place = await makeLedgerPlace();
    const ledger = place.open();
    const fixture = await makeWorkspaceFixture();
    const settings = { ...fixture.settingsWith(), codex: makeSettings({ codex: { command } }).codex };
    ledger.commit(changeOf({ facts: [started("r1", place.clock.now(), issue)] }));
    let reads = 0;
    const run = startRun(
      {
        workspaces: fixture.workspaces,
        backend,
        journal: ledger,
        clock: systemClock,
        log: captureLog().log,
        reapEarlier: (id, current) => reapEarlier({ host, ledger }, id, current),
      },
      {
        runId: runId("r1"),
        issue,
        attempt: null,
        why: "dispatch",
        error: null,
        threadId: null,
        workspace: null,
        settings,
        prompt: parseTemplate("Work on {{ issue.identifier }}."),
        tools: [],
        callsInDoubt: [],
        inbox: [],
        currentSettings: () => settings,
        mayContinue: () => (reads += 1) < 3,
        isTaken: () => false,
        budgetSpent: () => null,
        readIssue: () => Promise.resolve(issue),
      },
      {
        prepared: () => undefined,
        phase: () => undefined,
        threadStarted: () => undefined,
        issueSeen: () => undefined,
        alive: () => undefined,
        turnCompleted: () => undefined,
        question: () => undefined,
        took: () => undefined,
        agentEvent: () => undefined,
        tokens: () => undefined,
      },
    );
    const result = await run.done;
    expect(result).toMatchObject({ outcome: { kind: "succeeded" }, turns: 3 });
    expect(model.requests.at(-1)?.lastUserText).toContain("filled the context");
    expect(model.requests.at(-1)?.text).toContain("a summary");
    expect(ledger.totals().tokens).toEqual(model.reported);
    ledger.commit(changeOf({ facts: [ended("r1", place.clock.now())] }));
    await fixture.dispose();
  });
});
