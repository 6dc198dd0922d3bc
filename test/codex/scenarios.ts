/** Sessions that are played on the real app-server and on the simulated agent: what the model says, the same as a script, and the client. */
import { expect } from "vitest";
import type { Step } from "../../src/agent/simulated/script.ts";
import type { TokenCounts } from "../../src/domain/tokens.ts";
import { type AppServerClient, RefusedError } from "../fakes/app-server-client.ts";
import { callTool, type ModelReply, runCommand, say } from "../fakes/responses-server.ts";

const USAGE: TokenCounts = { input: 1000, cachedInput: 600, output: 50, reasoning: 10 };
const TOKENS = { input: 1000, cached_input: 600, output: 50, reasoning: 10 };
const TOOL = { type: "function", name: "local_board", description: "the board", inputSchema: { type: "object" } };

/** A step as it is written in a script, defaults left out. */
type WrittenStep = Readonly<Record<string, unknown>> & { readonly do: Step["do"] };

export interface Stage {
  readonly scenario: Scenario;
  connect(): AppServerClient;
  readonly cwd: string;
}

export interface Scenario {
  /** What the model says to each request in turn; the last answer is repeated. */
  readonly model: readonly ModelReply[];
  /** The same, as one list of steps per turn. */
  readonly script: readonly (readonly WrittenStep[])[];
  /** What the client does; `connect` starts a process. */
  drive(stage: Stage): Promise<void>;
  /** What the client answers to the server's requests; by default a fine tool result. */
  readonly answer?: (method: string) => unknown;
  /** Instead of the usual sandbox and approval policy. */
  readonly thread?: Readonly<Record<string, unknown>>;
}

function threadParams(cwd: string): Readonly<Record<string, unknown>> {
  return { cwd, approvalPolicy: "never", sandbox: "danger-full-access", dynamicTools: [TOOL] };
}

/** Starts a process with a thread. */
async function open({ connect, cwd, scenario }: Stage): Promise<{ client: AppServerClient; threadId: string }> {
  const client = connect();
  await client.initialize();
  return { client, threadId: await client.thread("thread/start", { ...threadParams(cwd), ...scenario.thread }) };
}

async function oneTurn(stage: Stage): Promise<void> {
  const { client, threadId } = await open(stage);
  await client.runTurn(threadId, "please work");
  await client.close();
}

/** A last word. */
export const spoken: WrittenStep = { do: "say", text: "done here", tokens: TOKENS };

/** A command that the model wants to run outside the sandbox, for which the server asks. */
function escalation(rest: readonly WrittenStep[]): Scenario {
  const command = "sleep 0.4; echo out";
  const escalate = { cmd: command, sandbox_permissions: "require_escalated", justification: "must go outside" };
  return {
    thread: { approvalPolicy: "on-request", sandbox: "workspace-write" },
    model: [callTool("exec_command", escalate, USAGE), say("done here", USAGE)],
    script: [[{ do: "ask", about: "command", text: "must go outside", command, tokens: TOKENS }, ...rest]],
    drive: oneTurn,
  };
}

function asking(what: string, decision: string, rest: readonly WrittenStep[]): Record<string, Scenario> {
  return { [`an approval that is ${what}`]: { ...escalation(rest), answer: () => ({ decision }) } };
}

export const scenarios: Readonly<Record<string, Scenario>> = {
  "a message": { model: [say("done here", USAGE)], script: [[spoken]], drive: oneTurn },
  "a message after some thought": {
    model: [
      {
        kind: "answer",
        items: [
          { kind: "reasoning", text: "**Thinking**" },
          { kind: "message", text: "done here" },
        ],
        usage: USAGE,
      },
    ],
    script: [[{ do: "think", text: "**Thinking**" }, spoken]],
    drive: oneTurn,
  },
  "a dynamic tool call": {
    model: [callTool("local_board", { action: "get" }, USAGE), say("done here", USAGE)],
    script: [[{ do: "tool", tool: "local_board", arguments: { action: "get" }, tokens: TOKENS }, spoken]],
    drive: oneTurn,
  },
  "a tool that was never offered": {
    model: [callTool("nowhere", { a: 1 }, USAGE), say("done here", USAGE)],
    script: [[{ do: "tool", tool: "nowhere", arguments: { a: 1 }, may_fail: true, tokens: TOKENS }, spoken]],
    drive: oneTurn,
  },
  "a shell command": {
    model: [runCommand("echo one; sleep 0.4; echo two", USAGE), say("done here", USAGE)],
    script: [[{ do: "shell", command: "echo one; sleep 0.4; echo two", tokens: TOKENS }, spoken]],
    drive: oneTurn,
  },
  "a shell command that fails": {
    model: [runCommand("sleep 0.4; exit 3", USAGE), say("done here", USAGE)],
    script: [[{ do: "shell", command: "sleep 0.4; exit 3", may_fail: true, tokens: TOKENS }, spoken]],
    drive: oneTurn,
  },
  "a written file": {
    model: [
      {
        kind: "answer",
        items: [{ kind: "patch", input: "*** Begin Patch\n*** Add File: a.txt\n+hello\n*** End Patch\n" }],
        usage: USAGE,
      },
      say("done here", USAGE),
    ],
    script: [[{ do: "write_file", path: "a.txt", content: "hello\n", tokens: TOKENS }, spoken]],
    drive: oneTurn,
  },
  "a model that answers 500": {
    model: [{ kind: "status", status: 500, body: { error: { message: "broken" } } }],
    script: [[{ do: "reconnecting" }, { do: "fail", error: "internalServerError" }]],
    drive: oneTurn,
  },
  "a usage limit": {
    model: [
      {
        kind: "status",
        status: 429,
        headers: {
          "x-codex-primary-used-percent": "100",
          "x-codex-primary-window-minutes": "300",
          "x-codex-primary-reset-at": "1996078124",
        },
        body: { error: { type: "usage_limit_reached", message: "limit", resets_at: 1996078124 } },
      },
    ],
    script: [[{ do: "usage_limit", resets_in_ms: 60_000 }]],
    drive: oneTurn,
  },
  "a context overflow": {
    model: [say("done here", USAGE), { kind: "failed", code: "context_length_exceeded", message: "too long" }],
    script: [[spoken], [{ do: "overflow" }]],
    async drive(stage) {
      const { client, threadId } = await open(stage);
      await client.runTurn(threadId, "first");
      await client.runTurn(threadId, "second");
      await client.close();
    },
  },
  "an interrupted silence after a message": {
    model: [say("done here", USAGE), { kind: "hang", items: [{ kind: "message", text: "one moment" }] }],
    script: [[spoken], [{ do: "say", text: "one moment", tokens: null }, { do: "hang" }]],
    async drive(stage) {
      const { client, threadId } = await open(stage);
      await client.runTurn(threadId, "first");
      const turnId = await client.startTurn(threadId, "second");
      await client.seen("item/completed", (params) => JSON.stringify(params["item"]).includes("one moment"));
      await client.request("turn/interrupt", { threadId, turnId });
      await client.turnEnd(turnId);
      await expect(client.request("turn/interrupt", { threadId, turnId })).rejects.toThrow(
        "no active turn to interrupt",
      );
      await client.close();
    },
  },
  "an interrupted tool call": {
    answer: () => undefined,
    model: [callTool("local_board", { action: "get" }, USAGE)],
    script: [[{ do: "tool", tool: "local_board", arguments: { action: "get" }, tokens: TOKENS }]],
    async drive(stage) {
      const { client, threadId } = await open(stage);
      const turnId = await client.startTurn(threadId, "first");
      await client.seen("item/tool/call");
      await client.request("turn/interrupt", { threadId, turnId });
      await client.turnEnd(turnId);
      await client.close();
    },
  },
  ...asking("accepted", "accept", [spoken]),
  ...asking("accepted for the session", "acceptForSession", [spoken]),
  ...asking("declined", "decline", [spoken]),
  ...asking("cancelled", "cancel", []),
  ...asking("answered with nonsense", "perhaps", [spoken]),
  "an interrupt while a request is open": {
    ...escalation([]),
    answer: () => undefined,
    async drive(stage) {
      const { client, threadId } = await open(stage);
      const turnId = await client.startTurn(threadId, "first");
      await client.seen("item/commandExecution/requestApproval");
      await client.request("turn/interrupt", { threadId, turnId });
      await client.seen("serverRequest/resolved");
      await client.close();
    },
  },
  "an interrupted command, cleaned up afterwards": {
    model: [runCommand("sleep 60", USAGE)],
    script: [[{ do: "shell", command: "sleep 60", tokens: TOKENS }]],
    async drive(stage) {
      const { client, threadId } = await open(stage);
      const turnId = await client.startTurn(threadId, "first");
      await client.seen("item/started", (params) => JSON.stringify(params["item"]).includes("sleep 60"));
      await client.request("turn/interrupt", { threadId, turnId });
      await client.turnEnd(turnId);
      await client.request("thread/backgroundTerminals/list", { threadId });
      await client.request("thread/backgroundTerminals/clean", { threadId });
      await client.seen("item/completed", (params) => JSON.stringify(params["item"]).includes("sleep 60"));
      await client.close();
    },
  },
  "a steered turn": {
    model: [
      say("done here", USAGE),
      { kind: "hang", items: [{ kind: "message", text: "one moment" }] },
      say("Noted: go left", USAGE),
    ],
    script: [[spoken], [{ do: "say", text: "one moment", tokens: null }, { do: "hang" }]],
    async drive(stage) {
      const { client, threadId } = await open(stage);
      await client.runTurn(threadId, "first");
      const turnId = await client.startTurn(threadId, "second");
      await client.seen("item/completed", (params) => JSON.stringify(params["item"]).includes("one moment"));
      const input = [{ type: "text", text: "go left" }];
      const wrong = client.request("turn/steer", { threadId, expectedTurnId: threadId, input });
      await expect(wrong).rejects.toThrow("expected active turn id");
      await client.request("turn/steer", { threadId, expectedTurnId: turnId, input });
      await client.turnEnd(turnId);
      await client.close();
    },
  },
  "a compaction": {
    model: [say("done here", USAGE)],
    script: [[spoken]],
    async drive(stage) {
      const { client, threadId } = await open(stage);
      await client.runTurn(threadId, "first");
      await client.request("thread/compact/start", { threadId });
      await client.seen("turn/completed", (params) => JSON.stringify(params["turn"]).includes("notLoaded"));
      await client.close();
    },
  },
  "a thread that is archived at work, taken back and resumed": {
    model: [say("done here", USAGE), runCommand("sleep 60", USAGE), say("done here", USAGE)],
    script: [[spoken], [{ do: "shell", command: "sleep 60", tokens: TOKENS }]],
    async drive(stage) {
      const { client, threadId } = await open(stage);
      await client.runTurn(threadId, "first");
      await client.startTurn(threadId, "second");
      await client.seen("item/started", (params) => JSON.stringify(params["item"]).includes("sleep 60"));
      await client.request("thread/archive", { threadId });
      await expect(client.startTurn(threadId, "too late")).rejects.toThrow(`thread not found: ${threadId}`);
      await expect(client.thread("thread/resume", { threadId, excludeTurns: true })).rejects.toThrow("is archived");
      await client.request("thread/unarchive", { threadId });
      await expect(client.startTurn(threadId, "too early")).rejects.toThrow(`thread not found: ${threadId}`);
      await client.thread("thread/resume", { threadId, excludeTurns: true, sandbox: "danger-full-access" });
      await client.runTurn(threadId, "third");
      await client.request("thread/turns/list", { threadId, limit: 3 });
      await client.close();
    },
  },
  "a thread that is archived before any turn, and taken back": {
    model: [say("never asked")],
    script: [[spoken]],
    async drive(stage) {
      const { client, threadId } = await open(stage);
      await client.request("thread/archive", { threadId });
      await client.request("thread/unarchive", { threadId });
      await client.request("thread/loaded/list", {});
      await client.close();
    },
  },
  "a thread resumed in another process": {
    model: [say("done here", USAGE)],
    script: [[spoken]],
    async drive(stage) {
      const first = await open(stage);
      await first.client.runTurn(first.threadId, "first");
      await first.client.close();
      const client = stage.connect();
      await client.initialize();
      const { threadId } = first;
      await expect(client.startTurn(threadId, "too early")).rejects.toThrow(`thread not found: ${threadId}`);
      await client.thread("thread/resume", { threadId, excludeTurns: true, sandbox: "danger-full-access" });
      await client.runTurn(threadId, "second");
      await client.request("thread/turns/list", { threadId, limit: 2 });
      await client.close();
    },
  },
  "a thread resumed after a kill in the middle of a turn": {
    model: [
      say("done here", USAGE),
      { kind: "hang", items: [{ kind: "message", text: "one moment" }] },
      say("done here", USAGE),
    ],
    script: [[spoken], [{ do: "say", text: "one moment", tokens: null }, { do: "hang" }]],
    async drive(stage) {
      const first = await open(stage);
      const { threadId } = first;
      await first.client.runTurn(threadId, "first");
      await first.client.startTurn(threadId, "second");
      await first.client.seen("item/completed", (params) => JSON.stringify(params["item"]).includes("one moment"));
      first.client.child.kill("SIGKILL");
      const client = stage.connect();
      await client.initialize();
      await resumeOnceFree(client, threadId);
      await client.runTurn(threadId, "third");
      await client.close();
    },
  },
};

/** The real server's native process outlives its killed launcher for some milliseconds. */
async function resumeOnceFree(client: AppServerClient, threadId: string): Promise<void> {
  for (;;) {
    try {
      await client.thread("thread/resume", { threadId, excludeTurns: true });
      return;
    } catch (error) {
      if (!(error instanceof RefusedError) || !error.message.includes("active writer")) throw error;
      client.received.pop();
    }
  }
}
