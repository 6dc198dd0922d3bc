import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { startRun } from "../../src/agent/runner.ts";
import type { RunListener } from "../../src/agent/run-port.ts";
import { runId } from "../../src/domain/ids.ts";
import type { RunResult } from "../../src/domain/outcome.ts";
import { systemClock } from "../../src/lib/clock.ts";
import { parseTemplate } from "../../src/workflow/template.ts";
import { captureLog } from "../support/captured-log.ts";
import { makeIssue } from "../support/issues.ts";
import { makeLedgerPlace, type LedgerPlace } from "../support/ledger.ts";
import { driverIn } from "../support/scheduler.ts";
import { ScriptedBackend } from "../support/scripted-backend.ts";
import { until } from "../support/until.ts";
import { makeWorkspaceFixture, type WorkspaceFixture } from "../support/workspaces.ts";

const issue = makeIssue("ENG-7", { state: "In Progress" });
const DEAF: RunListener = {
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
};

let place: LedgerPlace;
let fixture: WorkspaceFixture;
let backend: ScriptedBackend;

beforeEach(async () => {
  place = await makeLedgerPlace();
  fixture = await makeWorkspaceFixture();
  backend = new ScriptedBackend();
});

afterEach(async () => {
  await fixture.dispose();
  await place[Symbol.asyncDispose]();
});

/** Runs a ticket that stays active, each turn ending as `end` says. */
async function runTicket(maxTurns: number, end: "completed" | "failed"): Promise<RunResult> {
  const base = fixture.settingsWith();
  const settings = { ...base, agent: { ...base.agent, maxTurns } };
  const ledger = place.open();
  const id = runId("run-1");
  const facts = [{ kind: "run_started", runId: id, issue, attempt: null, threadId: null, at: 1 }] as const;
  ledger.commit({ claims: new Map(), workspaces: new Map(), pauses: new Map(), facts });
  const { workspaces } = fixture;
  const reapEarlier = (): Promise<number> => Promise.resolve(0);
  const deps = { workspaces, backend, journal: ledger, clock: systemClock, log: captureLog().log, reapEarlier };
  const request = {
    runId: id,
    issue,
    attempt: null,
    why: "dispatch",
    error: null,
    threadId: null,
    workspace: null,
    settings,
    prompt: parseTemplate("The ticket {{ issue.identifier }}."),
    tools: [],
    callsInDoubt: [],
    inbox: [],
    currentSettings: () => settings,
    mayContinue: () => true,
    isTaken: () => false,
    readIssue: () => Promise.resolve(issue),
    budgetSpent: () => null,
  } as const;
  const run = startRun(deps, request, DEAF);
  let over = false;
  void run.done.then(() => (over = true));
  let ended = 0;
  await until("the run is over", () => {
    for (; ended < backend.turns.length; ended += 1) {
      const failure = {
        class: "agent",
        message: "the model answered 500",
        retryable: true,
        freshThread: false,
      } as const;
      backend.turns[ended]?.end(
        end === "failed" ? { kind: "failed", ...failure, resetsAt: null } : { kind: "completed" },
      );
    }
    return over;
  });
  return run.done;
}

describe("17.5 App-server client: a run", () => {
  it("the first turn has the ticket, later turns only guidance on the same thread", async () => {
    await runTicket(2, "completed");
    const [first, second] = backend.turns.map((turn) => turn.request.prompt);
    expect(first).toBe("The ticket ENG-7.");
    expect(second).toContain("turn 2 of 2");
    expect(second).not.toContain("The ticket");
    expect(backend.sessions).toHaveLength(1);
  });

  it("a run has at most agent.max_turns turns", async () => {
    expect(await runTicket(3, "completed")).toMatchObject({ outcome: { kind: "succeeded" }, turns: 3 });
  });

  it("a failed turn is a failed run", async () => {
    expect(await runTicket(3, "failed")).toMatchObject({
      outcome: { kind: "failed", message: "the model answered 500" },
      turns: 1,
    });
  });

  it("a turn that falls silent times out", () => {
    const driver = driverIn(issue, "running");
    const id = driver.runIdOf(issue);
    driver.send({ kind: "run_phase", runId: id, phase: "turn", turn: 1 });
    driver.send({ kind: "run_activity", runId: id, at: driver.now, open: 1 });
    driver.advance(driver.settings.codex.turnTimeoutMs - 1);
    expect(driver.effect("stop_run")).toBeUndefined();
    driver.advance(1);
    expect(driver.effect("stop_run")).toMatchObject({ why: "turn_timeout" });
  });
});
