/** Section 17.4: what a start finds, what a restart keeps, and the snapshot. */
import { chmod, mkdir, writeFile } from "node:fs/promises";
import { existsSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { AppError } from "../../src/domain/errors.ts";
import { runId } from "../../src/domain/ids.ts";
import { NO_TOKENS } from "../../src/domain/tokens.ts";
import { systemClock } from "../../src/lib/clock.ts";
import { LiveRuns } from "../../src/orchestrator/live.ts";
import { buildSnapshot } from "../../src/orchestrator/snapshot.ts";
import { sweepLeftovers } from "../../src/orchestrator/sweep.ts";
import { initialState } from "../../src/scheduler/state.ts";
import type { Tracker } from "../../src/tracker/port.ts";
import { ApiServer } from "../../src/http/server.ts";
import { captureLog } from "../support/captured-log.ts";
import { fakeView } from "../support/fake-view.ts";
import { makeIssue, makeSettings } from "../support/issues.ts";
import { driverIn } from "../support/scheduler.ts";
import { makeTempDir } from "../support/temp-dir.ts";
import { TestDaemon } from "../support/test-daemon.ts";
import { until } from "../support/until.ts";

/** A tracker that can't be reached. */
const DOWN: Tracker = {
  kind: "local",
  fetchIssuesByStates: () => Promise.reject(new AppError("tracker_request", "connection refused")),
  fetchIssuesByIds: () => Promise.reject(new AppError("tracker_request", "connection refused")),
  tools: [],
  close: () => Promise.resolve(),
};

/** A directory as another tool could have left it for a ticket that is Done. */
async function leftOver(dir: string): Promise<void> {
  await mkdir(join(dir, "workspaces", "OLD-1"), { recursive: true });
  await chmod(join(dir, "workspaces"), 0o700);
  await writeFile(join(dir, "workspaces", "OLD-1", "file"), "x");
  await writeFile(join(dir, "board", "OLD-1.md"), "---\ntitle: Old\nstate: Done\n---\n\nLong done.\n");
}

describe("17.4 Dispatch, reconciliation and retry: the daemon", () => {
  it("workspaces of terminal issues are removed at start", async () => {
    await using my = await TestDaemon.make();
    await leftOver(my.dir);
    await my.writeWorkflow();
    await my.start();
    await until("the directory is gone", () => !existsSync(join(my.dir, "workspaces", "OLD-1")));
    expect(my.log.warnings()).toEqual([]);
  });

  it("a failed query at start is only a warning", async () => {
    await using dir = await makeTempDir();
    await mkdir(join(dir.path, "board"));
    await leftOver(dir.path);
    const { log, warnings } = captureLog();
    const root = join(dir.path, "workspaces");
    const posted: unknown[] = [];
    await sweepLeftovers({
      clock: systemClock,
      log,
      tracker: DOWN,
      settings: makeSettings({ rest: { workspace: { root, onTerminal: "remove" } } }),
      state: initialState(),
      ledgerId: "ledger",
      signal: new AbortController().signal,
      post: (event) => posted.push(event),
    });
    expect(warnings()).toEqual([expect.stringContaining("connection refused")]);
    expect(posted).toEqual([]);
    expect(existsSync(join(root, "OLD-1", "file"))).toBe(true);
  });

  it("claims come back after a restart", async () => {
    await using my = await TestDaemon.make();
    await my.writeTicket("T-1");
    await my.writeWorkflow({ codex: { command: "exit 1" } });
    await my.start();
    const before = await my.until("it waits for a retry", ({ retrying }) => retrying.length === 1 && retrying);
    expect(before).toMatchObject([{ issue_identifier: "T-1", attempt: 1, why: "failure", due_at: expect.any(String) }]);
    await my.stop();
    await my.start();
    expect(my.snapshot().retrying).toEqual(before);
  });

  it("the snapshot has running rows, retry rows, totals and rate limits", () => {
    const UNKNOWN = { state: "unknown", message: "" } as const;
    const driver = driverIn(makeIssue("ENG-1"), "running");
    const waiting = driverIn(makeIssue("ENG-2"), "waiting");
    const claims = new Map([...driver.state.claims, ...waiting.state.claims]);
    const live = new LiveRuns({ tokens: { ...NO_TOKENS, input: 5, output: 2 }, endedMs: 3000 });
    const run = driver.claimOf("running", makeIssue("ENG-1"));
    live.see(runId(run.runId), {
      kind: "rate_limits",
      limits: { codex: { primary: null } },
      at: driver.now,
      agentPid: 7,
    });
    live.addTokens(run.runId, { input: 10, cachedInput: 4, output: 1, reasoning: 0 });
    const snapshot = buildSnapshot({
      now: driver.now,
      state: { ...driver.state, claims },
      live,
      agent: { version: null, login: UNKNOWN, sandbox: UNKNOWN, warnings: [], checkedAt: null },
      trackerKind: "local",
      malformed: [],
      trackerUsage: null,
      workflow: { path: "/w", revision: "r", loadedAt: 0, lastError: null },
      ledgerError: null,
      invariantBreaches: 0,
      budget: {},
      limits: { maxAgents: 10, maxTurns: 20 },
    });
    expect(snapshot).toMatchObject({
      counts: { running: 1, retrying: 1, blocked: 0 },
      running: [{ issue_identifier: "ENG-1", turn_count: 0, tokens: { input_tokens: 10, total_tokens: 11 } }],
      retrying: [{ issue_identifier: "ENG-2", attempt: 1, error: "boom" }],
      codex_totals: { input_tokens: 15, output_tokens: 3, total_tokens: 18 },
      rate_limits: { codex: { primary: null } },
    });
  });

  it("a snapshot that can't be had is an error of its own", async () => {
    await using dir = await makeTempDir();
    const broken = (): never => {
      throw new Error("no snapshot");
    };
    const server = new ApiServer({
      view: fakeView({ snapshot: broken }),
      log: captureLog().log,
      socketPath: join(dir.path, "s.sock"),
      tcp: { host: "127.0.0.1", port: 0, token: "t", openRefresh: false },
    });
    await server.start();
    try {
      const answer = await fetch(`${server.url ?? ""}/api/v1/state`);
      expect([answer.status, await answer.json()]).toEqual([
        503,
        { error: { code: "unavailable", message: expect.any(String) } },
      ]);
    } finally {
      await server.stop();
    }
  });
});
