import { describe, expect, it } from "vitest";
import { begin, whileTimePasses } from "../../../test/fakes/codex-bench.ts";
import { refusal } from "../../../test/fakes/scripted-app-server.ts";
import { BOARD, join, message, SHARED, sharedBench, texts } from "../../../test/fakes/shared-bench.ts";
import { makeSettings } from "../../../test/support/issues.ts";
import { THREADS_PER_PROCESS } from "./shared-process.ts";

describe("a shared process", () => {
  it("is started once for many sessions, each with its own folder, tools and mark", async () => {
    const my = sharedBench();
    const [one, two] = await Promise.all([
      join(my, { runMarker: "run-1", workspacePath: "/w/1", tools: [BOARD] }),
      join(my, { runMarker: "run-2", workspacePath: "/w/2" }),
    ]);
    expect(my.server.spawned).toHaveLength(1);
    expect(my.server.spawned[0]?.marker).toMatch(/^shared-/);
    expect(my.server.spawned[0]?.cwd).toBe(SHARED.workspace.root);
    expect(my.server.calls("initialize")).toHaveLength(1);
    expect(new Set([one.session.threadId, two.session.threadId])).toEqual(new Set(["thread-1", "thread-2"]));
    const starts = my.server.calls("thread/start").toSorted((a, b) => String(a["cwd"]).localeCompare(String(b["cwd"])));
    const mark = (n: number): unknown => ({ "shell_environment_policy.set.SYMPHONY_RUN_MARKER": `run-${n}` });
    expect(starts).toMatchObject([
      { cwd: "/w/1", config: mark(1), dynamicTools: [{ name: "board" }] },
      { cwd: "/w/2", config: mark(2) },
    ]);
    expect(starts[1]).not.toHaveProperty("dynamicTools");
  });

  it("marks the commands of a resumed thread too, past a list of the user's that lets only some names through", async () => {
    const my = sharedBench();
    const policy = { include_only: ["PATH", "HO*"] };
    my.server.on("config/read", () => ({ result: { config: { shell_environment_policy: policy } } }));
    await join(my, { runMarker: "run-1", threadId: "thread-old" });
    expect(my.server.calls("thread/resume")).toMatchObject([
      {
        threadId: "thread-old",
        config: {
          "shell_environment_policy.set.SYMPHONY_RUN_MARKER": "run-1",
          "shell_environment_policy.include_only": ["PATH", "HO*", "SYMPHONY_RUN_MARKER"],
        },
      },
    ]);
  });

  it("is kept for a run in a way that ends what carries the run's mark, and never the process of others", async () => {
    const my = sharedBench();
    const { recorder } = await join(my, { runMarker: "run-1" });
    expect(recorder.identities).toEqual([{ pid: 1001, processGroup: 0, startTime: "", marker: "run-1" }]);
  });

  it("unloads the thread of a session that is closed, ends what carries its mark, and serves the others on", async () => {
    const my = sharedBench();
    const reaped: string[] = [];
    my.server.host.reap = ({ marker, pid }) => {
      reaped.push(`${marker}, leader ${pid}`);
      return Promise.resolve(0);
    };
    const one = await join(my, { runMarker: "run-1" });
    const two = await join(my, { runMarker: "run-2" });
    const turn = one.session.runTurn({ prompt: "go", intentId: "1" });
    await one.session.close();
    expect(await turn).toEqual({ kind: "interrupted" });
    expect(my.server.calls("thread/archive")).toEqual([{ threadId: one.session.threadId }]);
    expect(my.server.calls("thread/unarchive")).toEqual([{ threadId: one.session.threadId }]);
    expect(reaped).toEqual(["run-1, leader 0"]);
    my.server.notify("item/completed", { threadId: one.session.threadId, ...message("a", "too late") });
    my.server.notify("item/completed", { threadId: two.session.threadId, ...message("b", "still here") });
    await expect.poll(() => texts(two)).toEqual(["still here"]);
    expect(texts(one)).toEqual([]);
    expect(my.server.spawned).toHaveLength(1);
  });

  it("is ended with all its sessions when a thread can't be unloaded, since that may go on working", async () => {
    const my = sharedBench();
    my.server.on("thread/archive", () => refusal("no"));
    const one = await join(my);
    const two = await join(my);
    const turn = begin({ ...my, recorder: two.recorder }, two.session);
    const { end } = await turn;
    await one.session.close();
    expect(await end).toMatchObject({ kind: "failed", retryable: true });
    await join(my);
    expect(my.server.spawned).toHaveLength(2);
  });

  it("fails every session as retryable when it dies, and the next session gets a new process", async () => {
    const my = sharedBench();
    const members = [await join(my), await join(my)];
    const turns = await Promise.all(members.map(({ session, recorder }) => begin({ ...my, recorder }, session)));
    my.server.exit({ code: null, signal: "SIGKILL" }, "out of memory");
    for (const end of await Promise.all(turns.map((turn) => turn.end))) {
      expect(end).toMatchObject({ kind: "failed", retryable: true, freshThread: false });
    }
    const next = await join(my, { threadId: members[0]?.session.threadId ?? "" });
    expect(next.session.resumed).toBe(true);
    expect(my.server.spawned).toHaveLength(2);
    await Promise.all(members.map(({ session }) => session.close()));
    expect(my.server.calls("thread/archive")).toEqual([]);
  });

  it("takes no more sessions than its cap", async () => {
    const my = sharedBench();
    await Promise.all(Array.from({ length: THREADS_PER_PROCESS }, () => join(my)));
    expect(my.server.spawned).toHaveLength(1);
    await join(my);
    expect(my.server.spawned).toHaveLength(2);
  });

  it("is not joined by runs whose command or environment differs; it serves its own to their end", async () => {
    const my = sharedBench();
    await join(my);
    await join(my, { settings: makeSettings({ codex: { process: "shared", approvalPolicy: "on-request" } }) });
    await join(my, { settings: makeSettings({ codex: { process: "shared", env: { A: "1" } } }) });
    await join(my, { settings: makeSettings({ codex: { process: "shared", command: "other app-server" } }) });
    expect(my.server.spawned.map(({ command, env }) => `${command} ${env["A"] ?? "-"}`)).toEqual([
      "codex app-server -",
      "codex app-server 1",
      "other app-server -",
    ]);
  });

  it("ends a while after its last session, and a session that comes before keeps it", async () => {
    const my = sharedBench();
    await (await join(my)).session.close();
    await my.clock.advance(30_000);
    const back = await join(my);
    await my.clock.advance(120_000);
    expect(my.server.spawned).toHaveLength(1);
    await back.session.close();
    await my.clock.advance(120_000);
    await join(my);
    expect(my.server.spawned).toHaveLength(2);
  });

  it("takes no new sessions once its login was refused, and ends with its last one", async () => {
    const my = sharedBench();
    const one = await join(my);
    const { end, id } = await begin({ ...my, recorder: one.recorder }, one.session);
    const error = { message: "401", codexErrorInfo: "unauthorized" };
    const { threadId } = one.session;
    my.server.notify("turn/completed", { threadId, turn: { id, status: "failed", error } });
    expect(await end).toMatchObject({ kind: "failed", class: "auth" });
    const two = await join(my);
    expect(my.server.spawned).toHaveLength(2);
    await one.session.close();
    expect(my.server.running).toBe(1);
    expect(two.session.threadId).toBe("thread-2");
  });

  it("takes no new sessions after an hour, and serves its own on", async () => {
    const my = sharedBench();
    const one = await join(my);
    await my.clock.advance(3_600_000);
    await join(my);
    expect(my.server.spawned).toHaveLength(2);
    expect(my.server.running).toBe(2);
    await one.session.close();
    expect(my.server.running).toBe(1);
  });

  it("starts for the others when the session that began it gives up", async () => {
    const my = sharedBench();
    my.server.on("initialize", () => "silence");
    const abort = new AbortController();
    const first = join(my, { signal: abort.signal }).catch((error: unknown) => error);
    await my.server.untilCalled("initialize");
    const second = join(my);
    abort.abort();
    expect(await first).toMatchObject({ failure: { kind: "failed" } });
    my.server.raw(`${JSON.stringify({ id: 1, result: { userAgent: "symphony/0.171.0 (test)" } })}\n`);
    expect((await second).session.agentVersion).toBe("0.171.0");
    expect(my.server.spawned).toHaveLength(1);
  });

  it("fails all who wait for a start that fails", async () => {
    const my = sharedBench();
    my.server.on("initialize", () => refusal("no"));
    const starts = [join(my), join(my)].map((start) => start.catch((error: unknown) => error));
    for (const error of await whileTimePasses(my, Promise.all(starts))) {
      expect(error).toMatchObject({ failure: { kind: "failed", message: expect.stringContaining("initialize") } });
    }
    // Nothing waits for a process that never was.
    expect(my.clock.armedCount()).toBe(0);
    my.server.on("initialize", () => ({ result: { userAgent: "symphony/0.171.0 (test)" } }));
    expect((await join(my)).session.agentVersion).toBe("0.171.0");
  });

  it("is gone when the backend is closed", async () => {
    const my = sharedBench();
    const { session, recorder } = await join(my);
    const { end } = await begin({ ...my, recorder }, session);
    await my.backend.close();
    expect(await end).toEqual({ kind: "interrupted" });
    await expect(join(my)).rejects.toThrow("cancelled");
  });
});
