/** `symphony doctor`: what is missing is found, with its mend; what is there is said. */
import { mkdir, rm } from "node:fs/promises";
import { createServer, type Server } from "node:http";
import { createServer as createNetServer, type AddressInfo } from "node:net";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import { startLinearServer } from "../../../test/fakes/linear/server.ts";
import { ManualClock } from "../../../test/support/manual-clock.ts";
import { TestDaemon } from "../../../test/support/test-daemon.ts";
import { systemClock } from "../../lib/clock.ts";
import type { Check } from "./check.ts";
import { doctor } from "./doctor.ts";
import { checkClock, checkFolder, checkPort } from "./machine.ts";

let my: TestDaemon;
let output: string;

beforeEach(async () => {
  my = await TestDaemon.make();
  output = "";
  vi.spyOn(process.stdout, "write").mockImplementation((text) => {
    output += String(text);
    return true;
  });
});
afterEach(() => my[Symbol.asyncDispose]());

async function examine(
  env: NodeJS.ProcessEnv = {},
): Promise<{ code: number; ok: boolean; find: (name: string) => readonly Check[] }> {
  output = "";
  const { PATH, HOME, TMPDIR } = process.env;
  const workflow = join(my.dir, "WORKFLOW.md");
  const code = await doctor({ workflow, stateDir: null, json: true, env: { PATH, HOME, TMPDIR, ...env } });
  const { ok, checks } = JSON.parse(output) as { ok: boolean; checks: readonly Check[] };
  return { code, ok, find: (name) => checks.filter((check) => check.name === name) };
}

describe("symphony doctor", () => {
  it("finds nothing wrong with a set-up that works, and makes nothing", async () => {
    await my.writeWorkflow();
    await my.writeTicket("T-1");
    const { code, ok, find } = await examine();
    expect({ code, ok }).toEqual({ code: 0, ok: true });
    expect(find("tracker")).toMatchObject([{ status: "ok" }]);
    expect(find("tracker")[0]?.message).toContain("1 issues in Todo, In Progress, 1 of them");
    for (const name of ["workflow", "agent", "agent login", "agent sandbox", "git", "workspaces", "state"]) {
      expect(find(name), name).toMatchObject([{ status: "ok" }]);
    }
    expect(find("daemon")[0]?.message).toContain("none runs");
    await my.start();
    expect((await examine()).find("daemon")[0]?.message).toContain(`pid ${process.pid}`);
  });

  it("fails where something listens for commands and doesn't answer them", async () => {
    await my.writeWorkflow();
    await mkdir(join(my.dir, "state"));
    const deaf = createNetServer((socket) => socket.destroy());
    await new Promise<void>((listening) => deaf.listen(join(my.dir, "state", "control.sock"), listening));
    try {
      const { code, find } = await examine();
      expect([code, find("daemon")]).toMatchObject([
        1,
        [{ status: "fail", message: expect.stringContaining("control.sock") }],
      ]);
    } finally {
      await new Promise((closed) => deaf.close(closed));
    }
  });

  it("prints a line for each finding, and the mend below it", async () => {
    await my.writeWorkflow({ codex: { command: "no-such-agent" } });
    const { PATH, HOME, TMPDIR } = process.env;
    const workflow = join(my.dir, "WORKFLOW.md");
    expect(await doctor({ workflow, stateDir: null, json: false, env: { PATH, HOME, TMPDIR } })).toBe(1);
    expect(output).toMatch(/^ok {4}workflow: /m);
    expect(output).toMatch(/^fail {2}agent: .*no-such-agent.*\n {6}-> install it/m);
    expect(output).toMatch(/^skip {2}agent sandbox: /m);
  });

  it("says what is wrong with a workflow file, each problem, and looks no further", async () => {
    await my.writeWorkflow({ polling: { interval_ms: "soon" }, agent: { max_turns: -1 } });
    const { code, find } = await examine();
    expect(code).toBe(1);
    expect(find("workflow")[0]?.message).toMatch(/polling\.interval_ms[^]*agent\.max_turns/);
    expect(find("everything else")).toMatchObject([{ status: "skip" }]);
  });

  it("fails for a board that is gone", async () => {
    await my.writeWorkflow();
    await rm(join(my.dir, "board"), { recursive: true });
    const { code, find } = await examine();
    expect(code).toBe(1);
    const failed = [...find("tracker"), ...find("workflow")].filter(({ status }) => status === "fail");
    expect(failed.map(({ message }) => message).join("\n")).toContain(join(my.dir, "board"));
  });

  it("asks Linear: the scope's issues, states that no team has, and never shows the key", async () => {
    const server = await startLinearServer();
    try {
      const provider = { endpoint: server.url, project_slug: "demo" };
      await my.writeWorkflow({ tracker: { kind: "linear", provider, active_states: ["Todo", "Nowhere"] } });
      const good = await examine({ LINEAR_API_KEY: server.apiKey });
      expect(good.find("tracker").map(({ status }) => status)).toEqual(["ok", "warn"]);
      expect(good.find("tracker")[1]?.message).toContain("Nowhere");
      expect(good.find("clock")).toMatchObject([{ status: "ok" }]);
      expect(output).not.toContain(server.apiKey);
      const bad = await examine({ LINEAR_API_KEY: "lin_api_that_is_wrong" });
      expect(bad.find("tracker")).toMatchObject([{ status: "fail" }]);
      expect(output).not.toContain("lin_api_that_is_wrong");
    } finally {
      await server.close();
    }
  });
});

describe("the machine", () => {
  it("a folder that can't be made, because a file is in its way, fails", () => {
    expect(checkFolder("state", "state.dir", join(import.meta.filename, "below"))).toMatchObject({ status: "fail" });
    expect(checkFolder("state", "state.dir", join(import.meta.dirname, "new", "folder"))).toMatchObject({
      status: "ok",
    });
  });

  let server: Server;
  let port: number;

  beforeEach(async () => {
    server = createServer((_request, response) => response.end());
    await new Promise<void>((listening) => server.listen(0, "127.0.0.1", listening));
    port = (server.address() as AddressInfo).port;
  });
  afterEach(() => new Promise((closed) => server.close(closed)));

  it("a port that is taken fails, unless our own daemon may have it", async () => {
    expect(await checkPort(port, "127.0.0.1", false)).toMatchObject({ status: "fail" });
    expect(await checkPort(port, "127.0.0.1", true)).toMatchObject({ status: "ok" });
    expect(await checkPort(0, "127.0.0.1", false)).toMatchObject({ status: "ok" });
  });

  it("a clock that is a minute off fails, one that agrees doesn't, and a server that can't be asked is a warning", async () => {
    const url = `http://127.0.0.1:${port}/`;
    expect(await checkClock(url, systemClock)).toMatchObject({ status: "ok" });
    const off = { ...systemClock, now: () => Date.now() - 60_000 };
    expect(await checkClock(url, off)).toMatchObject({ status: "fail" });
    expect(await checkClock("http://127.0.0.1:1/", new ManualClock())).toMatchObject({ status: "warn" });
  });
});
