/** One run on a scripted backend, with a real ledger and real workspaces: what the runner's tests ask with. */
import { runId } from "../../src/domain/ids.ts";
import type { WorkspaceRecord } from "../../src/domain/claim.ts";
import type { Issue } from "../../src/domain/issue.ts";
import type { RunResult } from "../../src/domain/outcome.ts";
import type { HookSettings } from "../../src/domain/settings.ts";
import { startRun } from "../../src/agent/runner.ts";
import type { Run, RunListener, RunRequest } from "../../src/agent/run-port.ts";
import type { AgentEvent } from "../../src/domain/events.ts";
import type { Ledger } from "../../src/ledger/port.ts";
import { systemClock } from "../../src/lib/clock.ts";
import { parseTemplate } from "../../src/workflow/template.ts";
import { captureLog } from "./captured-log.ts";
import { makeIssue } from "./issues.ts";
import { makeLedgerPlace, type LedgerPlace } from "./ledger.ts";
import { ScriptedBackend } from "./scripted-backend.ts";
import { until } from "./until.ts";
import { makeWorkspaceFixture, type WorkspaceFixture } from "./workspaces.ts";

export const issue = makeIssue("ENG-7", { state: "In Progress" });
export const RUN_ID = runId("run-1");

export interface RunOptions {
  readonly hooks?: Partial<HookSettings>;
  readonly maxTurns?: number;
  readonly request?: Partial<RunRequest>;
}

export class RunBench implements AsyncDisposable {
  readonly place: LedgerPlace;
  readonly ledger: Ledger;
  readonly fixture: WorkspaceFixture;
  readonly backend = new ScriptedBackend();
  readonly log = captureLog();
  /** What the listener heard, in order. */
  readonly heard: string[] = [];
  readonly events: AgentEvent[] = [];
  record: WorkspaceRecord | null = null;
  /** What the tracker answers between turns. */
  board: () => Promise<Issue | null> = async () => issue;

  constructor(place: LedgerPlace, fixture: WorkspaceFixture) {
    this.place = place;
    this.ledger = place.open();
    this.fixture = fixture;
  }

  start({ hooks = {}, maxTurns = 20, request = {} }: RunOptions = {}): Run {
    const base = this.fixture.settingsWith(hooks);
    const settings = { ...base, agent: { ...base.agent, maxTurns } };
    const wanted: RunRequest = {
      runId: RUN_ID,
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
      mayContinue: (seen) => seen.state === "In Progress",
      isTaken: () => false,
      budgetSpent: () => null,
      readIssue: () => this.board(),
      ...request,
    };
    this.ledger.commit({
      claims: new Map(),
      workspaces: new Map(),
      pauses: new Map(),
      facts: [{ kind: "run_started", runId: wanted.runId, issue, attempt: null, threadId: null, at: 1 }],
    });
    const { backend, ledger: journal } = this;
    const { workspaces } = this.fixture;
    const reapEarlier = async (): Promise<number> => {
      this.heard.push("reaped");
      return 1;
    };
    const { log } = this.log;
    const deps = { workspaces, backend, journal, clock: systemClock, log, reapEarlier };
    return startRun(deps, wanted, this.#listener());
  }

  #listener(): RunListener {
    const { heard, events } = this;
    return {
      prepared: (made) => {
        this.record = made;
        heard.push("prepared");
      },
      phase: (phase, turn) => heard.push(`${phase} ${turn}`),
      threadStarted: (threadId) => heard.push(`thread ${threadId}`),
      issueSeen: (seen) => heard.push(`seen ${seen.state}`),
      alive: () => heard.push("alive"),
      turnCompleted: () => heard.push("completed"),
      question: () => heard.push("question"),
      took: (itemId) => heard.push(`took ${itemId}`),
      agentEvent: (event) => events.push(event),
      tokens: () => undefined,
    };
  }

  /** Ends turn after turn as completed until the run is over. */
  async completeTurns(run: Run): Promise<RunResult> {
    let over = false;
    void run.done.then(() => (over = true));
    let seen = 0;
    await until("the run is over", () => {
      const turn = this.backend.turns[seen];
      if (turn !== undefined) {
        seen += 1;
        turn.end({ kind: "completed" });
      }
      return over;
    });
    return run.done;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.fixture.dispose();
    await this.place[Symbol.asyncDispose]();
  }
}

export async function makeRunBench(): Promise<RunBench> {
  return new RunBench(await makeLedgerPlace(), await makeWorkspaceFixture());
}
