import { rmSync, statSync } from "node:fs";
import { dirname } from "node:path";

import Database from "better-sqlite3";
import { describe, expect, test } from "vitest";

import { makeIssue } from "../../test/support/issues.ts";
import { changeOf, ended, makeLedgerPlace, started } from "../../test/support/ledger.ts";
import type { Claim } from "../domain/claim.ts";
import { runId } from "../domain/ids.ts";

const RUN = runId("run-1");
const ISSUE = makeIssue("A-1");

const BLOCKED: Claim = {
  kind: "blocked",
  why: "operator",
  message: "stopped by hand",
  class: null,
  since: 1,
  attempt: null,
  issue: ISSUE,
  question: null,
  threadId: null,
  inbox: [],
};

describe("a ledger", () => {
  test("keeps its files to itself and its id for ever", async () => {
    await using place = await makeLedgerPlace();
    const first = place.open();
    const { id } = first;
    first.close();
    expect(place.open().id).toBe(id);
    expect(id).toMatch(/^[0-9a-f-]{36}$/);
    expect(statSync(dirname(place.path)).mode & 0o777).toBe(0o700);
    for (const suffix of ["", "-wal", "-shm"]) expect(statSync(place.path + suffix).mode & 0o777).toBe(0o600);
  });

  test("is one whole file once it is closed, and closing again does nothing", async () => {
    await using place = await makeLedgerPlace();
    const ledger = place.open();
    ledger.commit(changeOf({ facts: [started("run-1", 1)] }));
    ledger.close();
    ledger.close();
    expect(statSync(`${place.path}-wal`, { throwIfNoEntry: false })).toBeUndefined();
  });

  test("refuses to write into a file that is no longer there", async () => {
    await using place = await makeLedgerPlace();
    const ledger = place.open();
    rmSync(place.path);
    expect(() => ledger.commit(changeOf({ facts: [started("run-1", 1)] }))).toThrow(
      expect.objectContaining({ code: "ledger_unusable", message: expect.stringContaining("removed or replaced") }),
    );
  });

  test("keeps no secret in any row", async () => {
    await using place = await makeLedgerPlace();
    const secret = "lin_api_s3cr3t";
    const ledger = place.open({ redact: (text) => text.replaceAll(secret, "[redacted]") });
    const issue = { ...ISSUE, title: `about ${secret}`, description: `see "${secret}"` };
    ledger.commit(
      changeOf({
        claims: [[issue.id, { ...BLOCKED, issue, message: `saw ${secret}` }]],
        facts: [started("run-1", 1, issue)],
      }),
    );
    ledger.turnIntended({ runId: RUN, turn: 1, intentId: "i", at: 1 });
    ledger.turnEnded({ runId: RUN, turn: 1, status: "failed", error: `key ${secret} refused`, at: 2 });
    ledger.appendEvent({ runId: RUN, issueId: issue.id, at: 3, event: "message", message: `it is ${secret}` });
    const stalled = { kind: "stalled", message: `${secret} went silent` } as const;
    ledger.commit(changeOf({ facts: [ended("run-1", 4, stalled)] }));
    ledger.close();
    const bytes = new Database(place.path).serialize();
    expect(bytes.includes(secret)).toBe(false);
    expect(bytes.includes("[redacted] went silent")).toBe(true);
  });
});

describe("processes", () => {
  const identity = { pid: 12, processGroup: 12, startTime: "99@boot", marker: "run-1" };

  test("are found by the next daemon until they are known to have ended", async () => {
    await using place = await makeLedgerPlace();
    const killed = place.open();
    killed.commit(changeOf({ facts: [started("run-1", 1)] }));
    killed.processSpawned(RUN, identity, 2);
    const next = place.open();
    expect(next.liveProcesses()).toEqual([{ runId: RUN, issueId: ISSUE.id, identity }]);
    next.commit(changeOf({ facts: [ended("run-1", 3)] }));
    expect(next.liveProcesses()).toHaveLength(1);
    next.processEnded(RUN, 4);
    expect(next.liveProcesses()).toEqual([]);
  });

  test("that a crash may have left between spawn and row are looked for by their marker", async () => {
    await using place = await makeLedgerPlace();
    const ledger = place.open();
    ledger.commit(changeOf({ facts: [started("run-1", 1)] }));
    const unknown = { pid: 0, processGroup: 0, startTime: "", marker: "run-1" };
    expect(ledger.liveProcesses()).toEqual([{ runId: RUN, issueId: ISSUE.id, identity: unknown }]);
    ledger.commit(changeOf({ facts: [ended("run-1", 3)] }));
    expect(ledger.liveProcesses()).toEqual([]);
  });
});

describe("threads", () => {
  test("stay bound to their issue until they are unbound", async () => {
    await using place = await makeLedgerPlace();
    const ledger = place.open();
    expect(ledger.threadBinding(ISSUE.id)).toBeNull();
    ledger.bindThread({ issueId: ISSUE.id, threadId: "t-1", binding: { model: "m" }, at: 1 });
    ledger.bindThread({ issueId: ISSUE.id, threadId: "t-2", binding: { model: "n", tools: ["x"] }, at: 2 });
    ledger.close();
    const next = place.open();
    expect(next.threadBinding(ISSUE.id)).toEqual({ threadId: "t-2", binding: { model: "n", tools: ["x"] } });
    next.unbindThread(ISSUE.id);
    expect(next.threadBinding(ISSUE.id)).toBeNull();
  });
});

describe("tool calls", () => {
  test("that were begun and never seen to end are in doubt for the next run, and only for that one", async () => {
    await using place = await makeLedgerPlace();
    const ledger = place.open();
    const at = place.clock.now();
    ledger.commit(changeOf({ facts: [started("run-1", at)] }));
    ledger.toolIntended({ runId: RUN, turn: 1, callId: "c1", name: "local_board", at });
    ledger.toolIntended({ runId: RUN, turn: 1, callId: "c2", name: "linear_graphql", at });
    ledger.toolEnded({ runId: RUN, callId: "c1", ok: true, durationMs: 1.5, bytes: 10, at });
    expect(ledger.callsInDoubt(ISSUE.id)).toEqual([]);
    ledger.commit(changeOf({ facts: [ended("run-1", at + 1), started("run-2", at + 2)] }));
    expect(ledger.callsInDoubt(ISSUE.id)).toEqual(["linear_graphql (call c2, begun 2026-01-01T00:00:00.000Z)"]);
    ledger.commit(changeOf({ facts: [ended("run-2", at + 3)] }));
    expect(ledger.callsInDoubt(ISSUE.id)).toEqual([]);
  });
});
