import { mkdir, readFile, writeFile } from "node:fs/promises";
import { basename, join } from "node:path";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { SessionRecorder, sessionRequest } from "../../../test/fakes/session-recorder.ts";
import { captureLog } from "../../../test/support/captured-log.ts";
import { makeSettings } from "../../../test/support/issues.ts";
import { isRunning, pidFrom, untilGone } from "../../../test/support/processes.ts";
import { makeTempDir, type TempDir } from "../../../test/support/temp-dir.ts";
import { until } from "../../../test/support/until.ts";
import type { CodexSettings } from "../../domain/settings.ts";
import { createLocalHost } from "../../host/local.ts";
import { systemClock } from "../../lib/clock.ts";
import type { AgentBackend, AgentSession, SessionRequest } from "../port.ts";
import { simulatedAgentCommand } from "../simulated/command.ts";
import { createCodexBackend } from "./backend.ts";

const SECRET = "board-secret-0123456789";

let dir: TempDir;
let backend: AgentBackend;
let recorder: SessionRecorder;

beforeEach(async () => {
  dir = await makeTempDir();
  await mkdir(join(dir.path, "work"));
  recorder = new SessionRecorder();
  const { log } = captureLog();
  backend = createCodexBackend({
    host: createLocalHost({ log }),
    clock: systemClock,
    log,
    clientVersion: "0.1.0",
    daemonEnv: { PATH: process.env["PATH"], HOME: dir.path, BOARD_KEY: SECRET, CODEX_COPY: SECRET },
  });
});

afterEach(async () => {
  await backend.close();
  await dir.dispose();
});

type Steps = readonly Readonly<Record<string, unknown>>[];

/** The command of a simulated agent whose turns have these steps. */
async function agent(...turns: readonly Steps[]): Promise<string> {
  const script = join(dir.path, "script.json");
  const run = { turns: turns.map((steps) => ({ steps })) };
  await writeFile(script, JSON.stringify({ tickets: { "*": { runs: [run] } } }));
  return simulatedAgentCommand({ script, home: join(dir.path, "agent-home") });
}

function open(codex: Partial<CodexSettings>, overrides: Partial<SessionRequest> = {}): Promise<AgentSession> {
  const settings = makeSettings({ codex, rest: { secrets: [{ envNames: ["BOARD_KEY"], value: SECRET }] } });
  return backend.open(
    sessionRequest(recorder, { settings, workspacePath: join(dir.path, "work"), runMarker: marker(), ...overrides }),
  );
}

/** Of this test alone: what ends a run's processes finds them by it. */
function marker(): string {
  return basename(dir.path);
}

function leaderPid(): number {
  const pid = recorder.identities.at(-1)?.pid;
  if (pid === undefined) throw new Error("nothing was spawned");
  return pid;
}

describe("a session with a real process", () => {
  it("works turn by turn, calls tools, and leaves no process when it is closed", async () => {
    const command = await agent(
      [
        { do: "say", text: "at work" },
        { do: "shell", command: "pwd > where.txt" },
      ],
      [{ do: "tool", tool: "board", arguments: { action: "move" } }],
    );
    const calls: unknown[] = [];
    const session = await open(
      { command },
      {
        tools: [{ name: "board", description: "the board", inputSchema: { type: "object" } }],
        callTool: (name, _callId, args) => {
          calls.push([name, args]);
          return Promise.resolve({ success: true, text: "moved" });
        },
      },
    );
    expect(await session.runTurn({ prompt: "T-1", intentId: "1" })).toEqual({ kind: "completed" });
    expect(await session.runTurn({ prompt: "go on", intentId: "2" })).toEqual({ kind: "completed" });
    expect(calls).toEqual([["board", { action: "move" }]]);
    expect((await readFile(join(dir.path, "work", "where.txt"), "utf8")).trim()).toBe(join(dir.path, "work"));
    expect(recorder.of("tokens").length).toBeGreaterThan(0);
    expect(await isRunning(leaderPid())).toBe(true);
    await session.close();
    await untilGone(leaderPid());
  });

  it("fails the turn when the process crashes in it", async () => {
    const session = await open({ command: await agent([{ do: "exit", code: 7 }]) });
    expect(await session.runTurn({ prompt: "T-1", intentId: "1" })).toMatchObject({
      kind: "failed",
      class: "agent",
      retryable: true,
      message: expect.stringContaining("status 7"),
    });
  });

  it("fails the turn when somebody kills the process", async () => {
    const session = await open({ command: await agent([{ do: "hang" }]) });
    const end = session.runTurn({ prompt: "T-1", intentId: "1" });
    await until("the turn has started", () => recorder.of("turn_started").length === 1);
    process.kill(leaderPid(), "SIGKILL");
    expect(await end).toMatchObject({ kind: "failed", class: "agent", message: expect.stringContaining("SIGKILL") });
  });

  it("resumes its thread in a new process", async () => {
    const command = await agent([{ do: "say", text: "one" }]);
    const first = await open({ command });
    await first.runTurn({ prompt: "T-1", intentId: "1" });
    await first.close();
    const second = await open({ command }, { threadId: first.threadId });
    expect(second).toMatchObject({ threadId: first.threadId, resumed: true });
    expect(await second.runTurn({ prompt: "T-1 again", intentId: "2" })).toEqual({ kind: "completed" });
  });

  it("names codex.command when there is no such program", async () => {
    await expect(open({ command: "no-such-agent app-server" })).rejects.toMatchObject({
      failure: {
        class: "launch",
        message: expect.stringContaining('codex.command: "no-such-agent app-server" was not found'),
      },
    });
    await untilGone(leaderPid());
  });

  it("isn't reached by a login profile that prints, reads stdin and exports a secret", async () => {
    const profile = [
      "echo Welcome",
      String.raw`printf '\033]0;title\007'`,
      "read -r -t 1 stolen",
      `export BOARD_KEY=${SECRET} LEAK=${SECRET}`,
    ];
    await writeFile(join(dir.path, ".bash_profile"), `${profile.join("\n")}\n`);
    const session = await open({ command: await agent([{ do: "shell", command: "env > env.txt" }]) });
    expect(await session.runTurn({ prompt: "T-1", intentId: "1" })).toEqual({ kind: "completed" });
    expect(recorder.of("malformed")).toEqual([]);
    const env = await readFile(join(dir.path, "work", "env.txt"), "utf8");
    expect(env).toContain(`SYMPHONY_RUN_MARKER=${marker()}`);
    expect(env).not.toContain(SECRET);
  });

  it("ends the whole tree of a start that is given up", async () => {
    const abort = new AbortController();
    const command = `echo $$ > ${join(dir.path, "pid")}; sleep 600 & sleep 600`;
    const opened = open({ command }, { signal: abort.signal });
    const pid = await pidFrom(join(dir.path, "pid"));
    abort.abort();
    await expect(opened).rejects.toThrow("cancelled");
    expect(await isRunning(pid)).toBe(false);
  });

  it("is ended with the backend", async () => {
    await open({ command: await agent([{ do: "hang" }]) });
    const pid = leaderPid();
    await backend.close();
    expect(await isRunning(pid)).toBe(false);
  });
});

describe("a look at a real process", () => {
  it("says what it can, and leaves no process", async () => {
    const settings = makeSettings({ codex: { command: await agent([]) } });
    const pids: number[] = [];
    const check = await backend.check({
      settings,
      cwd: dir.path,
      runMarker: marker(),
      signal: new AbortController().signal,
      spawned: ({ pid }) => void pids.push(pid),
    });
    expect(check.version).toBe("symphony-simulated-agent/0.171.0");
    expect(pids).toHaveLength(1);
    for (const pid of pids) expect(await isRunning(pid)).toBe(false);
  });
});
