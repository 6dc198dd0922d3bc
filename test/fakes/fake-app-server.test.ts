/** The fake misbehaves as planned: what other tests rely on. */
import { mkdir } from "node:fs/promises";
import { join } from "node:path";
import { afterEach, beforeEach, expect, test } from "vitest";
import { COMPILE_CACHE } from "../../src/agent/simulated/command.ts";
import { isRunning, pidFrom, untilGone } from "../support/processes.ts";
import { makeTempDir, type TempDir } from "../support/temp-dir.ts";
import { until } from "../support/until.ts";
import { AppServerClient } from "./app-server-client.ts";
import { type FakeAppServer, type FakePlan, writeFakeAppServer } from "./fake-plan.ts";

let dir: TempDir;
let fake: FakeAppServer;
let client: AppServerClient | null;
let stdout: string;

beforeEach(async () => {
  dir = await makeTempDir();
  client = null;
  stdout = "";
});

afterEach(async () => {
  await client?.[Symbol.asyncDispose]();
  await dir.dispose();
});

const HELLO = { "*": { runs: [{ turns: [{ steps: [{ do: "say", text: "hello" }] }] }] } };

async function launch(plan: FakePlan): Promise<AppServerClient> {
  const cwd = join(dir.path, "work");
  await mkdir(cwd);
  fake = await writeFakeAppServer(dir.path, { tickets: HELLO, ...plan });
  client = new AppServerClient({
    command: fake.argv,
    cwd,
    env: { PATH: process.env["PATH"] ?? "", NODE_COMPILE_CACHE: COMPILE_CACHE },
    tolerant: true,
  });
  client.child.stdout?.on("data", (text: string) => (stdout += text));
  return client;
}

async function ready(plan: FakePlan): Promise<[AppServerClient, string]> {
  const started = await launch(plan);
  await started.initialize();
  return [started, await started.thread("thread/start", { cwd: join(dir.path, "work") })];
}

/** Runs one turn to the message that ends it. */
async function methods(plan: FakePlan): Promise<string[]> {
  const [started, threadId] = await ready(plan);
  await started.runTurn(threadId, "hi");
  return started.received.map((message) => message.method);
}

test("without faults it is the simulated agent, and keeps what the client sent", async () => {
  const seen = await methods({});
  expect(seen.at(-1)).toBe("turn/completed");
  const sent = (await fake.received()).map((message) => message["method"]);
  expect(sent).toEqual(["initialize", "initialized", "thread/start", "turn/start"]);
});

test("a request can be ignored, refused, or answered late", async () => {
  const [started, threadId] = await ready({
    on_request: [
      { do: "ignore", method: "thread/read", nth: 1 },
      { do: "refuse", method: "thread/read", nth: 2, code: -32600, message: "no" },
      { do: "delay", method: "thread/read", nth: 3, ms: 100 },
    ],
  });
  const answers: string[] = [];
  const ask = async (name: string): Promise<void> => {
    await started.request("thread/read", { threadId }).then(
      () => answers.push(name),
      (error: unknown) => answers.push(`${name} ${String(error)}`),
    );
  };
  void ask("first");
  const second = ask("second");
  const third = ask("third");
  await started.request("thread/loaded/list", {});
  answers.push("in between");
  await Promise.all([second, third]);
  expect(answers).toEqual(["second RefusedError: thread/read: no", "in between", "third"]);
});

test("the process can end or die when it is asked something", async () => {
  const started = await launch({ on_request: [{ do: "exit", method: "initialize", code: 9, stderr: "broken" }] });
  await expect(started.initialize()).rejects.toThrow("broken");
  await until("it has exited", () => started.child.exitCode !== null);
  expect(started.child.exitCode).toBe(9);
});

test("the process can die without a word", async () => {
  const [started, threadId] = await ready({ on_request: [{ do: "die", method: "turn/start" }] });
  await expect(started.startTurn(threadId, "hi")).rejects.toThrow("ended before it answered");
  await until("it has died", () => started.child.signalCode !== null);
  expect(started.child.signalCode).toBe("SIGKILL");
});

test("messages can be dropped, doubled, edited and surrounded by others", async () => {
  const seen = await methods({
    on_send: [
      { do: "drop", method: "thread/readState/changed" },
      { do: "twice", method: "turn/started" },
      { do: "edit", method: "thread/started", set: { thread: { cliVersion: null } } },
      {
        do: "before",
        method: "turn/completed",
        lines: [
          {
            method: "turn/completed",
            params: { threadId: "child-{{threadId}}", turn: { id: "other", status: "completed" } },
          },
          { method: "unknown/request", id: 0, params: { turnId: "{{turnId}}" } },
        ],
      },
      { do: "flood", method: "thread/status/changed", nth: 2, events: 20 },
    ],
  });
  expect(seen).not.toContain("thread/readState/changed");
  expect(seen.filter((method) => method === "turn/started")).toHaveLength(2);
  expect(seen.filter((method) => method === "item/agentMessage/delta")).toHaveLength(22);
  expect(seen.indexOf("turn/completed")).toBeGreaterThan(seen.lastIndexOf("item/agentMessage/delta"));
  expect(seen).toContain("unknown/request");
  expect(stdout).toMatch(/"threadId":"child-[0-9a-f-]{36}"/);
  expect(stdout).toContain('"cliVersion":null');
});

test("noise can stand before, between and glued to messages, and stderr is kept apart", async () => {
  const seen = await methods({
    greeting: "motd: welcome\n\u001b[?2004h",
    stderr: "a warning\n",
    on_send: [{ do: "before", method: "turn/started", lines: ["not json\n", "\n", "{broken\n"] }],
  });
  expect(seen.at(-1)).toBe("turn/completed");
  expect(stdout.startsWith('motd: welcome\n\u001b[?2004h{"id":1')).toBe(true);
  expect(stdout).toContain("not json\n\n{broken\n");
  expect(client?.stderr).toContain("a warning");
});

test("messages can carry junk everywhere, be cut into bytes, or be torn", async () => {
  const seen = await methods({
    on_send: [
      { do: "junk", method: "*" },
      { do: "split", method: "*", bytes: 3 },
    ],
  });
  expect(seen.at(-1)).toBe("turn/completed");
  expect(stdout).toContain('"zzUnknownText":"☃"');
});

test("a message can be torn by the end of the process", async () => {
  const [started, threadId] = await ready({ on_send: [{ do: "tear", method: "turn/completed" }] });
  await started.startTurn(threadId, "hi");
  await until("it has exited", () => started.child.exitCode !== null);
  expect(stdout.endsWith("\n")).toBe(false);
  expect(stdout.split("\n").at(-1)).toContain('{"method":"turn/completed"');
});

test("it can ignore TERM and the end of stdin, and leave a grandchild that outlives it", async () => {
  const [started] = await ready({ ignore_term: true, ignore_stdin_end: true, grandchild: "ignores_term" });
  const grandchild = await pidFrom(fake.grandchildPidPath);
  started.child.kill("SIGTERM");
  await started.request("thread/loaded/list", {});
  started.child.stdin?.end();
  const pid = started.child.pid ?? 0;
  expect(await isRunning(pid)).toBe(true);
  started.child.kill("SIGKILL");
  await untilGone(pid);
  expect(await isRunning(grandchild)).toBe(true);
  process.kill(grandchild, "SIGKILL");
  await untilGone(grandchild);
});
