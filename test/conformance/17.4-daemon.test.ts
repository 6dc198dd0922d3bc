import { chmod, mkdir, writeFile } from "node:fs/promises";
import { existsSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { runId } from "../../src/domain/ids.ts";
import { NO_TOKENS } from "../../src/domain/tokens.ts";
import { LiveRuns } from "../../src/orchestrator/live.ts";
import { buildSnapshot } from "../../src/orchestrator/snapshot.ts";
import { ApiServer } from "../../src/http/server.ts";
import { MOVE_TO_DONE } from "../e2e/board.ts";
import { captureLog } from "../support/captured-log.ts";
import { startDaemon } from "../support/daemon-bench.ts";
import { makeIssue } from "../support/issues.ts";
import { driverIn } from "../support/scheduler.ts";
import { makeTempDir } from "../support/temp-dir.ts";
import { until } from "../support/until.ts";

const DONE_AT_ONCE = { runs: [{ turns: [{ steps: [MOVE_TO_DONE] }] }] };

/** A directory as another tool could have left it for a ticket that is Done. */
async function leftOver(dir: string): Promise<void> {
  await mkdir(join(dir, "workspaces", "OLD-1"), { recursive: true });
  await chmod(join(dir, "workspaces"), 0o700);
  await writeFile(join(dir, "workspaces", "OLD-1", "file"), "x");
  await writeFile(join(dir, "board", "OLD-1.md"), "---\ntitle: Old\nstate: Done\n---\n\nLong done.\n");
}

describe("17.4 Dispatch, reconciliation and retry: the daemon", () => {
  it("workspaces of terminal issues are removed at start", async () => {
    await using bench = await startDaemon({ tickets: [], script: {} }, { arrange: leftOver });
    await until("the directory is gone", () => !existsSync(join(bench.dir, "workspaces", "OLD-1")));
    expect(bench.captured.warnings()).toEqual([]);
  });

  it("a failed query at start is only a warning", async () => {
    await using bench = await startDaemon(
      { tickets: ["T-1"], script: { "T-1": DONE_AT_ONCE } },
      {
        async arrange(dir) {
          await leftOver(dir);
          // What stands where owners are written down makes the look at the leftovers fail.
          await writeFile(join(dir, "workspaces", ".symphony"), "in the way");
        },
      },
    );
    await bench.until((snapshot) => (snapshot["tracker"] as { last_ok_at: string | null }).last_ok_at !== null);
    expect(existsSync(join(bench.dir, "workspaces", "OLD-1"))).toBe(true);
    await until("it is said", () =>
      bench.captured.warnings().some((line) => line.includes("workspaces of terminal issues")),
    );
  });

  it("the snapshot has running rows, retry rows, totals and rate limits", () => {
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
      trackerKind: "local",
      workflow: { path: "/w", revision: "r", loadedAt: 0, lastError: null },
      ledgerError: null,
      invariantBreaches: 0,
      budget: {},
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
      view: { snapshot: broken, issue: broken, refresh: broken },
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
