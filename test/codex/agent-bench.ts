/** The backend with a real codex binary and a model server of its own, and what a test of one session needs around it. */
import { mkdir } from "node:fs/promises";
import { dirname, join } from "node:path";
import { createCodexBackend } from "../../src/agent/codex/backend.ts";
import type { AgentBackend, AgentSession, SessionRequest, TurnEnd, TurnRequest } from "../../src/agent/port.ts";
import type { ApprovalPolicy, CodexSettings, Settings } from "../../src/domain/settings.ts";
import { createLocalHost } from "../../src/host/local.ts";
import { systemClock } from "../../src/lib/clock.ts";
import {
  type ModelReply,
  type ModelRequest,
  type ResponsesServer,
  startResponsesServer,
} from "../fakes/responses-server.ts";
import { SessionRecorder, sessionRequest } from "../fakes/session-recorder.ts";
import { captureLog } from "../support/captured-log.ts";
import { makeSettings } from "../support/issues.ts";
import { makeTempDir } from "../support/temp-dir.ts";
import { installCodex, makeCodexHome } from "./codex-binary.ts";

export class AgentBench implements AsyncDisposable {
  readonly dir: string;
  /** The workspace. */
  readonly work: string;
  readonly codexHome: string;
  readonly model: ResponsesServer;
  readonly backend: AgentBackend;
  readonly recorder = new SessionRecorder();
  readonly logged: () => readonly string[];
  /** `codex.command` with the real binary. */
  readonly command: string;
  readonly #dispose: () => Promise<void>;

  private constructor(
    parts: Omit<AgentBench, "recorder" | "makeWorkspace" | "open" | "turn" | typeof Symbol.asyncDispose>,
    dispose: () => Promise<void>,
  ) {
    this.dir = parts.dir;
    this.work = parts.work;
    this.codexHome = parts.codexHome;
    this.model = parts.model;
    this.backend = parts.backend;
    this.logged = parts.logged;
    this.command = parts.command;
    this.#dispose = dispose;
  }

  /** `decide` is the model. */
  static async make(decide: (request: ModelRequest) => ModelReply | Promise<ModelReply>): Promise<AgentBench> {
    const folder = await makeTempDir();
    const dir = folder.path;
    const model = await startResponsesServer(decide);
    const codexHome = await makeCodexHome(dir, model.baseUrl);
    const [work, temporary] = [join(dir, "workspaces", "T-1"), join(dir, "tmp")];
    for (const made of [work, temporary]) await mkdir(made, { recursive: true });
    const { log, lines } = captureLog();
    const daemonEnv = { PATH: process.env["PATH"] ?? "", HOME: dir, CODEX_HOME: codexHome, TMPDIR: temporary };
    const host = createLocalHost({ log });
    const backend = createCodexBackend({ host, clock: systemClock, log, clientVersion: "0.1.0", daemonEnv });
    const command = `'${await installCodex()}' app-server`;
    const parts = { dir, work, codexHome, model, backend, logged: lines, command };
    return new AgentBench(parts, async () => {
      await backend.close();
      await model.close();
      await folder.dispose();
    });
  }

  get #root(): string {
    return dirname(this.work);
  }

  /** A workspace beside the usual one. */
  async makeWorkspace(name: string): Promise<string> {
    const path = join(this.#root, name);
    await mkdir(path);
    return path;
  }

  /** A session in the workspace. */
  open(
    codex: Partial<CodexSettings> = {},
    rest: Partial<Settings> = {},
    overrides: Partial<SessionRequest> = {},
  ): Promise<AgentSession> {
    // Where a shared process is started.
    const place = codex.process === "shared" ? { workspace: { ...makeSettings().workspace, root: this.#root } } : {};
    const settings = makeSettings({ codex: { command: this.command, ...codex }, rest: { ...place, ...rest } });
    return this.backend.open(sessionRequest(this.recorder, { settings, workspacePath: this.work, ...overrides }));
  }

  /** One turn of a session. */
  turn(session: AgentSession, more: Partial<TurnRequest> = {}): Promise<TurnEnd> {
    return session.runTurn({ prompt: "work", intentId: crypto.randomUUID(), ...more });
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#dispose();
  }
}

/** `approvals` with one policy for all kinds. */
export function approvalsOf(policy: ApprovalPolicy, timeoutMs = 60_000): Pick<Settings, "approvals"> {
  const all = { commands: policy, fileChanges: policy, permissions: policy, elicitations: policy, questions: policy };
  return { approvals: { ...all, timeoutMs } };
}

/** The model's replies one after the other; the last one is repeated. */
export function inOrder(...replies: readonly [ModelReply, ...ModelReply[]]): (request: ModelRequest) => ModelReply {
  return ({ index }) => replies[Math.min(index, replies.length - 1)] ?? replies[0];
}
