/** Section 17.6: what an operator sees in the status, the API and the log. */
import { rename, writeFile } from "node:fs/promises";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { runId } from "../../src/domain/ids.ts";
import { createLog, type SecretLog } from "../../src/lib/log.ts";
import { COMMENT, MOVE_TO_DONE } from "../e2e/board.ts";
import { makeIssue } from "../support/issues.ts";
import { makeLedgerPlace } from "../support/ledger.ts";
import { makeTempDir } from "../support/temp-dir.ts";
import { TestDaemon } from "../support/test-daemon.ts";

type Json = Readonly<Record<string, unknown>>;

let my: TestDaemon;

beforeAll(async () => {
  my = await TestDaemon.make();
  await my.writeTicket("T-1");
  await my.writeScript({ "T-1": [[[{ do: "say", text: "at work" }, { do: "hang" }]]] });
  await my.writeWorkflow();
  await my.start();
  await my.until("the agent has spoken", ({ running }) => running.some((row) => row["last_message"] === "at work"));
});

afterAll(() => my[Symbol.asyncDispose]());

/** A folder with one ticket, which the agent comments on and moves to Done. */
async function brief(ticket: string): Promise<TestDaemon> {
  const daemon = await TestDaemon.make();
  await daemon.writeTicket(ticket);
  await daemon.writeScript({ [ticket]: [[[COMMENT, MOVE_TO_DONE]]] });
  await daemon.writeWorkflow();
  return daemon;
}

/** The real log with a sink that can't be written: a file whose folder is gone. */
async function brokenLog(): Promise<SecretLog> {
  await using gone = await makeTempDir();
  const log = createLog({ level: "trace", stderr: "off" });
  log.addFile({ path: join(gone.path, "log"), maxBytes: 1, keep: 1 });
  return log;
}

describe("17.6 Observability", () => {
  it("the status is read from the orchestrator and changes nothing", async () => {
    const { state } = my.daemon.orchestrator;
    const [row] = my.snapshot().running;
    expect(row).toMatchObject({ issue_identifier: "T-1", turn_count: 1, last_message: "at work", state: "Todo" });
    await my.ask("GET", "/api/v1/state");
    await my.ask("GET", "/");
    const { claims, workspaces, pauses } = my.daemon.orchestrator.state;
    // The agent goes on talking meanwhile.
    const quiet = (all: typeof claims) => [...all.values()].map((claim) => ({ ...claim, lastEventAt: 0 }));
    expect(quiet(claims)).toEqual(quiet(state.claims));
    expect(workspaces).toEqual(state.workspaces);
    expect(pauses).toEqual(state.pauses);
  });

  it("GET /api/v1/state answers the snapshot", async () => {
    const answer = await my.ask("GET", "/api/v1/state");
    expect(answer.status).toBe(200);
    const state = JSON.parse(answer.text) as Json;
    for (const key of ["generated_at", "counts", "running", "retrying", "blocked", "codex_totals", "rate_limits"]) {
      expect(state).toHaveProperty(key);
    }
    expect(state["running"]).toMatchObject([{ issue_identifier: "T-1", session_id: expect.stringMatching(/.+-.+/) }]);
  });

  it("GET /api/v1/<identifier> answers one issue, or 404 issue_not_found", async () => {
    const answer = await my.ask("GET", "/api/v1/T-1");
    expect(JSON.parse(answer.text)).toMatchObject({
      issue_identifier: "T-1",
      status: "running",
      workspace: { path: expect.stringContaining("T-1") },
      attempts: { restart_count: 0, current_retry_attempt: null },
      running: { turn_count: 1 },
      retry: null,
      recent_events: expect.any(Array),
    });
    const missing = await my.ask("GET", "/api/v1/NOPE-1");
    expect([missing.status, JSON.parse(missing.text)]).toMatchObject([404, { error: { code: "issue_not_found" } }]);
  });

  it("POST /api/v1/refresh answers 202", async () => {
    const answer = await my.ask("POST", "/api/v1/refresh");
    expect(answer.status).toBe(202);
    expect(JSON.parse(answer.text)).toMatchObject({
      queued: true,
      coalesced: expect.any(Boolean),
      requested_at: expect.stringMatching(/Z$/),
      operations: ["poll", "reconcile"],
    });
  });

  it("a wrong method is 405 with the error envelope", async () => {
    const answer = await my.ask("DELETE", "/api/v1/state");
    expect([answer.status, JSON.parse(answer.text)]).toEqual([
      405,
      { error: { code: "method_not_allowed", message: expect.any(String) } },
    ]);
  });

  it("GET / is a page for people", async () => {
    const answer = await my.ask("GET", "/");
    expect(answer.status).toBe(200);
    expect(answer.text).toContain("<title>Symphony</title>");
  });

  it("log lines carry issue and session", async () => {
    await using other = await brief("T-9");
    await other.start();
    await other.untilRunsEnded("T-9");
    const issue = { issue_id: "T-9", issue_identifier: "T-9" };
    for (const message of ["run started", "run completed"]) expect(other.logged(message)).toMatchObject([issue]);
    for (const message of ["turn started", "turn completed"]) {
      expect(other.logged(message)).toMatchObject([{ ...issue, session_id: expect.stringMatching(/^.+-.+$/) }]);
    }
  });

  it("a validation failure is visible to the operator", async () => {
    const path = join(my.dir, "WORKFLOW.md");
    const good = readFileSync(path, "utf8");
    await writeFile(path, good.replace('"interval_ms": 100', '"interval_ms": "soon"'));
    const fault = await my.until("the fault shows", ({ workflow }) => workflow.last_error);
    expect(fault).toMatchObject({ message: expect.stringContaining("interval_ms"), at: expect.any(String) });
    expect(my.log.warnings().join("\n")).toContain("interval_ms");
    await writeFile(path, good);
    await my.until("it is mended", ({ workflow }) => workflow.last_error === null);
  });

  it("a tracker that is down shows with its age and a clean error", async () => {
    const board = join(my.dir, "board");
    await rename(board, `${board}.away`);
    const down = await my.until("it is down", (now) => now.tracker.last_error !== null && now);
    expect(down.tracker).toMatchObject({
      last_ok_at: expect.any(String),
      last_error: { code: "tracker_request", message: expect.stringContaining("board"), at: expect.any(String) },
    });
    expect(down.running).toHaveLength(1);
    await rename(`${board}.away`, board);
    await my.until("it is back", ({ tracker }) => tracker.last_error === null);
  });

  it("a log that can't be written stops nothing", async () => {
    await using other = await brief("T-8");
    await other.start({ log: await brokenLog() });
    await other.untilRunsEnded("T-8");
    const ticket = await other.text("board", "T-8.md");
    expect(ticket).toContain('state: "Done"');
    expect(ticket).toContain("worked on T-8");
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
    await using other = await brief("T-7");
    await other.start();
    await other.untilRunsEnded("T-7");
    const before = other.snapshot().codex_totals["total_tokens"];
    expect(before).toBeGreaterThan(0);
    await other.stop();
    await other.start();
    expect(other.snapshot().codex_totals["total_tokens"]).toBe(before);
  });
});
