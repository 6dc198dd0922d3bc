/** The look at the agent at start, on a real daemon and real processes: what it shows, what it pauses, and that nothing of it stays. */
import { describe, expect, it } from "vitest";
import { writeFakeAppServer, type FakeAppServer, type FakePlan } from "../fakes/fake-plan.ts";
import { TestDaemon } from "../support/test-daemon.ts";
import { until } from "../support/until.ts";

const NO_LOGIN = { do: "edit", method: "account/read", set: { account: null, requiresOpenaiAuth: true } } as const;
const NO_SANDBOX = {
  do: "edit",
  method: "command/exec",
  set: { exitCode: 1, stderr: "bwrap: Creating new namespace failed" },
} as const;

interface AgentPart {
  readonly version: string | null;
  readonly login: { readonly state: string; readonly message: string };
  readonly sandbox: { readonly state: string; readonly message: string };
  readonly checked_at: string | null;
}

function agentOf(my: TestDaemon): AgentPart {
  return my.daemon.orchestrator.snapshot()["agent"] as AgentPart;
}

/** Starts a daemon whose agent follows the plan, and waits until it was looked at. */
async function startWith(my: TestDaemon, plan: FakePlan): Promise<FakeAppServer> {
  const agent = await writeFakeAppServer(my.dir, plan);
  await my.writeWorkflow({ codex: { command: agent.command } });
  await my.start();
  return agent;
}

async function untilChecked(my: TestDaemon): Promise<AgentPart> {
  await until("the agent was looked at", () => agentOf(my).checked_at !== null);
  return agentOf(my);
}

describe("the look at the agent at start", () => {
  it("pauses dispatch with one alert when the login is missing, and a login that is there at the next start is tried at once", async () => {
    await using my = await TestDaemon.make();
    // Ready before the daemon is: it must not be the first one to find out.
    await my.writeTicket("ENG-1");
    await startWith(my, { on_send: [NO_LOGIN] });
    const message = expect.stringContaining("codex login") as string;
    expect((await untilChecked(my)).login).toEqual({ state: "missing", message });
    expect(my.snapshot().paused).toMatchObject([{ kind: "auth", message }]);
    await my.until("the ticket was seen", ({ tracker }) => tracker["candidates_seen"] === 1);
    expect(my.runs()).toEqual([]);
    expect(my.logged("the agent is not logged in; dispatch is paused")).toHaveLength(1);
    await my.stop();

    await startWith(my, {});
    await my.untilRunsEnded("ENG-1");
    await my.until("the pause is over", ({ paused }) => paused.length === 0);
  });

  it("warns of a sandbox that can't run, with the mend, lets tickets go, and looks again when the agent's settings change", async () => {
    await using my = await TestDaemon.make();
    await my.writeTicket("ENG-1");
    await startWith(my, { on_send: [NO_SANDBOX] });
    expect((await untilChecked(my)).sandbox).toEqual({
      state: "broken",
      message: expect.stringMatching(/Creating new namespace failed.*turn_sandbox_policy/) as string,
    });
    expect(my.logged("the agent's sandbox doesn't work here; its commands will fail")).toHaveLength(1);
    await my.untilRunsEnded("ENG-1");

    // Made again when the agent's settings change: now all is well.
    await my.writeScript({});
    await my.writeWorkflow();
    await until("the new agent was looked at", () => agentOf(my).sandbox.state !== "broken");
    expect(agentOf(my)).toMatchObject({
      version: expect.any(String),
      login: { state: "ok" },
      sandbox: { state: "ok", message: "a sandboxed command runs" },
    });
    expect(my.snapshot().paused).toEqual([]);
  });

  it("says unknown of an agent that has no such methods, and starts all the same", async () => {
    await using my = await TestDaemon.make();
    await my.writeTicket("ENG-1");
    const refuse = { do: "refuse", code: -32600, message: "Invalid request: unknown variant" } as const;
    const methods = ["account/read", "command/exec"];
    await startWith(my, { on_request: methods.map((method) => ({ ...refuse, method })) });
    expect(await untilChecked(my)).toMatchObject({ login: { state: "unknown" }, sandbox: { state: "unknown" } });
    await my.untilRunsEnded("ENG-1");
  });

  it("ends with the daemon, whatever the agent does", async () => {
    await using my = await TestDaemon.make();
    const agent = await startWith(my, {
      on_request: [{ do: "ignore", method: "account/read" }],
      ignore_stdin_end: true,
    });
    await until("the look waits for an answer", async () =>
      (await agent.received()).some(({ method }) => method === "account/read"),
    );
    expect(my.daemon.orchestrator.snapshot()["agent"]).toMatchObject({ awaited: true, checked_at: null });
    await my.stop();
    // What is left of the agent would fail the run: its processes are looked for after each file.
    expect(my.logged("agent checked")).toEqual([]);
  });
});
