/** Section 17.6: what an operator sees in the status, the API and the log. */
import { rename, writeFile } from "node:fs/promises";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { runId } from "../../src/domain/ids.ts";
import { COMMENT, MOVE_TO_DONE } from "../e2e/board.ts";
import { brokenLog, startDaemon, type DaemonBench } from "../support/daemon-bench.ts";
import { makeIssue } from "../support/issues.ts";
import { makeLedgerPlace } from "../support/ledger.ts";
import { until } from "../support/until.ts";

const HANGS = { runs: [{ turns: [{ steps: [{ do: "say", text: "at work" }, { do: "hang" }] }] }] };
const ENDS = { runs: [{ turns: [{ steps: [COMMENT, MOVE_TO_DONE] }] }] };

type Json = Readonly<Record<string, unknown>>;

function rows(snapshot: Json, key: string): readonly Json[] {
  return snapshot[key] as readonly Json[];
}

let bench: DaemonBench;

beforeAll(async () => {
  bench = await startDaemon({ tickets: ["T-1"], script: { "T-1": HANGS } });
  await bench.until((snapshot) => rows(snapshot, "running").some((row) => row["last_message"] === "at work"));
});

afterAll(() => bench[Symbol.asyncDispose]());

describe("17.6 Observability", () => {
  it("the status is read from the orchestrator and changes nothing", async () => {
    const [row] = rows(bench.snapshot(), "running");
    expect(row).toMatchObject({ issue_identifier: "T-1", turn_count: 1, last_message: "at work", state: "Todo" });
    await bench.ask("GET", "/api/v1/state");
    await bench.ask("GET", "/");
    expect(rows(bench.snapshot(), "running")).toHaveLength(1);
  });

  it("GET /api/v1/state answers the snapshot", async () => {
    const answer = await bench.ask("GET", "/api/v1/state");
    expect(answer.status).toBe(200);
    const state = JSON.parse(answer.text) as Json;
    for (const key of ["generated_at", "counts", "running", "retrying", "blocked", "codex_totals", "rate_limits"]) {
      expect(state).toHaveProperty(key);
    }
    expect(rows(state, "running")[0]).toMatchObject({
      issue_identifier: "T-1",
      session_id: expect.stringMatching(/.+-.+/),
    });
  });

  it("GET /api/v1/<identifier> answers one issue, or 404 issue_not_found", async () => {
    const answer = await bench.ask("GET", "/api/v1/T-1");
    expect(JSON.parse(answer.text)).toMatchObject({
      issue_identifier: "T-1",
      status: "running",
      workspace: { path: expect.stringContaining("T-1") },
      attempts: { restart_count: 0, current_retry_attempt: null },
      running: { turn_count: 1 },
      retry: null,
      recent_events: expect.any(Array),
    });
    const missing = await bench.ask("GET", "/api/v1/NOPE-1");
    expect([missing.status, JSON.parse(missing.text)]).toMatchObject([404, { error: { code: "issue_not_found" } }]);
  });

  it("POST /api/v1/refresh answers 202", async () => {
    const answer = await bench.ask("POST", "/api/v1/refresh");
    expect(answer.status).toBe(202);
    expect(JSON.parse(answer.text)).toMatchObject({
      queued: true,
      coalesced: expect.any(Boolean),
      requested_at: expect.stringMatching(/Z$/),
      operations: ["poll", "reconcile"],
    });
  });

  it("a wrong method is 405 with the error envelope", async () => {
    const answer = await bench.ask("DELETE", "/api/v1/state");
    expect([answer.status, JSON.parse(answer.text)]).toEqual([
      405,
      { error: { code: "method_not_allowed", message: expect.any(String) } },
    ]);
  });

  it("GET / is a page for people", async () => {
    const answer = await bench.ask("GET", "/");
    expect(answer.status).toBe(200);
    expect(answer.text).toContain("T-1");
    expect(answer.text).not.toContain("<script");
  });

  it("log lines carry issue and session", async () => {
    await using other = await startDaemon({ tickets: ["T-9"], script: { "T-9": ENDS } });
    await until("the ticket is done", () =>
      readFileSync(join(other.dir, "board", "T-9.md"), "utf8").includes("state: Done"),
    );
    const lines = other.captured.lines().map((line) => JSON.parse(line) as Json);
    const issue = { issue_id: "T-9", issue_identifier: "T-9" };
    expect(lines).toContainEqual(expect.objectContaining({ msg: "run started", ...issue }));
    const session = expect.stringMatching(/^.+-.+$/) as unknown;
    expect(lines).toContainEqual(expect.objectContaining({ msg: "turn started", ...issue, session_id: session }));
  });

  it("a validation failure is visible to the operator", async () => {
    const path = join(bench.dir, "WORKFLOW.md");
    const good = readFileSync(path, "utf8");
    await writeFile(path, good.replace("interval_ms: 200", "interval_ms: soon"));
    await bench.until((snapshot) => (snapshot["workflow"] as Json)["last_error"] !== null);
    expect(bench.snapshot()).toMatchObject({
      workflow: { last_error: { message: expect.stringContaining("interval_ms") } },
    });
    expect(bench.captured.warnings().join("\n")).toContain("interval_ms");
    await writeFile(path, good);
    await bench.until((snapshot) => (snapshot["workflow"] as Json)["last_error"] === null);
  });

  it("a tracker that is down shows with its age and a clean error", async () => {
    const board = join(bench.dir, "board");
    await rename(board, `${board}.away`);
    await bench.until((snapshot) => (snapshot["tracker"] as Json)["last_error"] !== null);
    expect(bench.snapshot()).toMatchObject({
      tracker: {
        last_ok_at: expect.any(String),
        last_error: { code: "tracker_request", message: expect.stringContaining("board"), at: expect.any(String) },
      },
    });
    expect(rows(bench.snapshot(), "running")).toHaveLength(1);
    await rename(`${board}.away`, board);
    await bench.until((snapshot) => (snapshot["tracker"] as Json)["last_error"] === null);
  });

  it("a log that can't be written stops nothing", async () => {
    await using other = await startDaemon({ tickets: ["T-8"], script: { "T-8": ENDS } }, { log: await brokenLog() });
    const ticket = (): string => readFileSync(join(other.dir, "board", "T-8.md"), "utf8");
    await until("the ticket is done", () => ticket().includes("state: Done"));
    expect(ticket()).toContain("worked on T-8");
  });

  it("repeated token reports are counted once", async () => {
    await using place = await makeLedgerPlace();
    const ledger = place.open();
    const issue = makeIssue("ENG-1");
    const id = runId("run-1");
    const facts = [{ kind: "run_started", runId: id, issue, attempt: null, threadId: null, at: 1 }] as const;
    ledger.commit({ claims: new Map(), workspaces: new Map(), pauses: new Map(), facts });
    const report = (input: number) => ({
      runId: id,
      turn: 1,
      threadId: "thread-1",
      issueId: issue.id,
      total: { input, cachedInput: 0, output: 1, reasoning: 0 },
      subAgent: false,
      model: null,
      at: 2,
    });
    ledger.turnIntended({ runId: id, turn: 1, intentId: "i", at: 1 });
    for (const input of [10, 10, 25, 25]) ledger.recordTokens(report(input));
    expect(ledger.totals().tokens).toMatchObject({ input: 25, output: 1 });
  });

  it("usage outlives a restart", async () => {
    await using other = await startDaemon({ tickets: ["T-7"], script: { "T-7": ENDS } });
    const total = (): unknown => (other.snapshot()["codex_totals"] as Json)["total_tokens"];
    await until("the ticket is done", () =>
      readFileSync(join(other.dir, "board", "T-7.md"), "utf8").includes("state: Done"),
    );
    await other.until((snapshot) => (snapshot["counts"] as Json)["running"] === 0);
    const before = total();
    expect(before).toBeGreaterThan(0);
    await other.restart();
    expect(total()).toBe(before);
  });
});
