/** Every way in which Linear may misbehave, the error that the caller gets, and that no ticket is lost or invented. */
import { afterEach, beforeEach, describe, expect, it } from "vitest";

import type { Fault } from "../../../test/fakes/linear/faults.ts";
import { FAULT_CASES, withErrors } from "../../../test/fixtures/linear-faults.ts";
import { linearTrackerOn, startLinearBench } from "../../../test/support/linear-tracker.ts";
import type { LinearBench } from "../../../test/support/linear-tracker.ts";
import { ManualClock } from "../../../test/support/manual-clock.ts";
import { until } from "../../../test/support/until.ts";
import type { AppError } from "../../domain/errors.ts";
import { isAppError } from "../../domain/errors.ts";
import { issueId } from "../../domain/ids.ts";
import type { IssueId } from "../../domain/ids.ts";
import type { Tracker } from "../port.ts";

const RESET = { "x-ratelimit-requests-remaining": "0", "x-ratelimit-requests-limit": "2500" };

let bench: LinearBench;

async function failureOf(read: Promise<unknown>): Promise<AppError> {
  const error: unknown = await read.then(
    () => expect.fail("the read answered"),
    (reason: unknown) => reason,
  );
  return isAppError(error) ? error : expect.fail(`not an AppError: ${String(error)}`);
}

/** The three reads of the port. */
function reads(tracker: Tracker, ids: readonly IssueId[]): Record<string, () => Promise<unknown>> {
  return {
    "by state": () => tracker.fetchIssuesByStates(["Todo"]),
    "by id": () => tracker.fetchIssuesByIds(ids),
    poll: () => tracker.poll?.({ states: ["Todo"], ids }) ?? expect.fail("no poll"),
  };
}

describe("a fault of Linear's", () => {
  beforeEach(async () => {
    bench = await startLinearBench();
  });
  afterEach(() => bench.dispose());

  it.each(FAULT_CASES)("is the right error and loses nothing: $name", async ({ fault, code, data = {} }) => {
    const ids = [1, 2, 3].map((n) => issueId(bench.server.board.createIssue({ title: `${n}` }).id));
    for (const name of ["by state", "by id", "poll"]) {
      // An adapter of its own for each read, since a throttled one sends nothing more.
      const tracker = await linearTrackerOn(bench.server);
      const read = reads(tracker, ids)[name] ?? expect.fail(name);
      bench.server.fail({ fault });
      const error = await failureOf(read());
      expect(error.code, name).toBe(code);
      expect(error.data, name).toMatchObject(data);
      expect(error.message).not.toContain(bench.server.apiKey);
      bench.server.heal();
      if (code !== "tracker_rate_limited") {
        const answer = JSON.stringify(await read());
        for (const id of ids) expect(answer, name).toContain(id);
      }
      await tracker.close();
    }
  });

  it("is a network failure with its code when nobody listens", async () => {
    const { tracker, server } = bench;
    await server.close();
    const error = await failureOf(tracker.fetchIssuesByStates(["Todo"]));
    expect(error.code).toBe("tracker_request");
    expect(error.message).toBe("Linear can't be reached: ECONNREFUSED");
  });

  it("is a refused credential when the key is wrong, and the message says where to look", async () => {
    const tracker = await linearTrackerOn(bench.server, { api_key: "lin_api_wrong" });
    const error = await failureOf(tracker.fetchIssuesByStates(["Todo"]));
    expect(error).toMatchObject({ code: "tracker_status", data: { reason: "authentication", retryable: false } });
    expect(error.message).toContain("tracker.provider.api_key");
  });

  it("never shows the key: not in the error with all it carries, not in a log line", async () => {
    const ids = [issueId(bench.server.board.createIssue({ title: "A" }).id)];
    for (const { fault } of FAULT_CASES) {
      const tracker = await linearTrackerOn(bench.server, {}, { log: bench.log });
      bench.server.fail({ fault, times: 1 });
      const error = await failureOf(tracker.fetchIssuesByIds(ids));
      bench.log.log.warn({ err: error, data: error.data }, "read failed");
      bench.server.heal();
      await tracker.close();
    }
    expect(bench.log.lines().length).toBeGreaterThanOrEqual(FAULT_CASES.length);
    expect(bench.log.lines().join("\n")).not.toContain(bench.server.apiKey);
  });

  it("that hits a follow-up request fails the whole read: half an issue is no issue", async () => {
    const { board } = bench.server;
    const issue = board.createIssue({ title: "A", labels: ["x"] });
    for (let n = 0; n < 7; n += 1) board.relate(board.createIssue({ title: `${n}`, state: "Done" }).id, issue.id);
    for (const operation of ["SymphonyLabels", "SymphonyRelations"]) {
      bench.server.fail({ operation, fault: { kind: "status", status: 503 }, times: 1 });
      expect((await failureOf(bench.tracker.fetchIssuesByStates(["Todo"]))).code).toBe("tracker_status");
    }
    expect(await bench.tracker.fetchIssuesByStates(["Todo"])).toHaveLength(1);
  });

  it("in one record skips it in a list, names it once, and names it again when it is broken anew", async () => {
    const { board } = bench.server;
    const issue = board.createIssue({ title: "" });
    const warnings = (): number => bench.log.warnings().filter((line) => line.includes(issue.identifier)).length;
    for (let n = 0; n < 2; n += 1) await bench.tracker.fetchIssuesByStates(["Todo"]);
    expect(warnings()).toBe(1);
    board.patchIssue(issue.id, { title: "mended" });
    expect(await bench.tracker.fetchIssuesByStates(["Todo"])).toHaveLength(1);
    board.patchIssue(issue.id, { title: "" });
    await bench.tracker.fetchIssuesByStates(["Todo"]);
    expect(warnings()).toBe(2);
  });

  it("in the schema, a field that is no longer there, is a malformed record and not an issue without labels", async () => {
    bench.server.board.createIssue({ title: "A", labels: ["keep-out"] });
    bench.server.fail({
      fault: {
        kind: "alter",
        alter: (body) => JSON.parse(JSON.stringify(body).replaceAll('"labelIds"', '"labels"')) as unknown,
      },
    });
    expect(await bench.tracker.fetchIssuesByStates(["Todo"])).toEqual([]);
    expect(bench.log.warnings().join()).toContain("labelIds");
  });
});

describe("a fault on the second page", () => {
  /** What the cases say of a page's own shape is about one page; a second page that repeats the first is caught by its cursor. */
  const later = FAULT_CASES.filter(({ fault }) => fault.kind !== "alter");

  it.each(later)("fails the whole list, and the next reading has every ticket once: $name", async ({ fault, code }) => {
    await using started = await startLinearBench();
    const { board } = started.server;
    const titles = Array.from({ length: 60 }, (_, n) => board.createIssue({ title: `${n}` }).title);
    const [tracked] = [...board.issues.keys()];
    const ids = tracked === undefined ? [] : [issueId(tracked)];
    const passing = code === "tracker_rate_limited" ? new ManualClock() : null;
    const tracker = await linearTrackerOn(started.server, {}, passing === null ? {} : { clock: passing });
    started.server.fail({ fault, operation: "SymphonyCandidates", skip: 1, times: 1 });
    expect((await failureOf(tracker.fetchIssuesByStates(["Todo"]))).code).toBe(code);
    await passing?.advance(3_600_000);
    // The first page of a tick is in its own request, so the list goes on at the fault's next turn.
    const answer = await tracker.poll?.({ states: ["Todo"], ids });
    expect(answer?.candidates.map((issue) => issue.title).toSorted()).toEqual(titles.toSorted());
    expect(answer?.tracked.map((issue) => issue.id)).toEqual(ids);
    await tracker.close();
  });
});

describe("a slow answer", () => {
  it("is waited for, whole: nothing is lost and nothing invented", async () => {
    await using slow = await startLinearBench();
    const ids = [1, 2, 3].map((n) => issueId(slow.server.board.createIssue({ title: `${n}` }).id));
    slow.server.fail({ fault: { kind: "delay", ms: 40 } });
    for (const [name, read] of Object.entries(reads(slow.tracker, ids))) {
      const answer = JSON.stringify(await read());
      for (const id of ids) expect(answer, name).toContain(id);
    }
  });
});

describe("schema drift", () => {
  const rename = (from: string, to: string): Fault => ({
    kind: "alter",
    alter: (body) => JSON.parse(JSON.stringify(body).replaceAll(`"${from}":`, `"${to}":`)) as unknown,
  });

  it.each(["id", "identifier", "title", "state", "labelIds", "inverseRelations"])(
    "that takes away %s leaves the record out of a list with a warning, and fails a refresh",
    async (field) => {
      await using drifted = await startLinearBench();
      const id = issueId(drifted.server.board.createIssue({ title: "A" }).id);
      drifted.server.fail({ fault: rename(field, "somethingElse") });
      expect(await drifted.tracker.fetchIssuesByStates(["Todo"])).toEqual([]);
      expect(drifted.log.warnings().join()).toContain("malformed Linear issue skipped");
      expect(await failureOf(drifted.tracker.fetchIssuesByIds([id]))).toMatchObject({ code: "tracker_response" });
    },
  );

  it.each(["description", "priority", "branchName", "url", "createdAt", "assignee", "project", "team"])(
    "that takes away %s leaves it null, and the ticket where it is",
    async (field) => {
      await using drifted = await startLinearBench();
      const id = issueId(drifted.server.board.createIssue({ title: "A" }).id);
      drifted.server.fail({ fault: rename(field, "somethingElse") });
      expect((await drifted.tracker.fetchIssuesByIds([id])).map((issue) => issue.id)).toEqual([id]);
    },
  );

  it("that adds fields disturbs nobody", async () => {
    await using drifted = await startLinearBench();
    const id = issueId(drifted.server.board.createIssue({ title: "A" }).id);
    drifted.server.fail({
      fault: {
        kind: "alter",
        alter: (body) =>
          JSON.parse(JSON.stringify(body).replaceAll('"title":', '"newField":{"a":[1]},"title":')) as unknown,
      },
    });
    expect((await drifted.tracker.fetchIssuesByIds([id])).map((issue) => issue.title)).toEqual(["A"]);
  });
});

describe("a hang", () => {
  it("ends after thirty seconds of the clock, and on close", async () => {
    const clock = new ManualClock();
    await using hung = await startLinearBench({ clock });
    hung.server.fail({ fault: { kind: "hang" } });
    const first = failureOf(hung.tracker.fetchIssuesByStates(["Todo"]));
    await until("the request is out", () => hung.server.requests.length > 0);
    await clock.advance(29_999);
    expect(clock.armedCount()).toBe(1);
    await clock.advance(1);
    expect(await first).toMatchObject({ code: "tracker_request", data: { reason: "timeout", retryable: true } });
    const second = failureOf(hung.tracker.fetchIssuesByStates(["Todo"]));
    await until("the second request is out", () => hung.server.requests.length > 1);
    await hung.tracker.close();
    expect(await second).toMatchObject({ code: "tracker_request" });
    expect(clock.armedCount()).toBe(0);
  });

  it("ends with the caller's own reason when the caller gives up", async () => {
    await using hung = await startLinearBench();
    hung.server.fail({ fault: { kind: "hang" } });
    const controller = new AbortController();
    const read = hung.tracker.fetchIssuesByStates(["Todo"], controller.signal);
    await until("the request is out", () => hung.server.requests.length > 0);
    controller.abort(new Error("shutdown"));
    await expect(read).rejects.toThrow("shutdown");
  });
});

describe("throttling", () => {
  const throttled = async (fault: Fault): Promise<{ clock: ManualClock; bench: LinearBench; error: AppError }> => {
    const clock = new ManualClock();
    const started = await startLinearBench({ clock });
    started.server.fail({ fault, times: 1 });
    return { clock, bench: started, error: await failureOf(started.tracker.fetchIssuesByStates(["Todo"])) };
  };

  it.each([
    ["the reset of the empty bucket", { ...RESET, "x-ratelimit-requests-reset": "+90000" }, 90_000],
    [
      "the reset of the empty bucket and not of the other",
      {
        ...RESET,
        "x-ratelimit-requests-reset": "+90000",
        "x-ratelimit-complexity-remaining": "5",
        "x-ratelimit-complexity-reset": "+500000",
      },
      90_000,
    ],
    [
      "the endpoint's own bucket",
      { "x-ratelimit-endpoint-requests-remaining": "0", "x-ratelimit-endpoint-requests-reset": "+30000" },
      30_000,
    ],
    ["Retry-After", { "retry-after": "12" }, 12_000],
    ["a minute when nothing is said", {}, 60_000],
    ["a minute when the reset is past", { ...RESET, "x-ratelimit-requests-reset": "+-5" }, 60_000],
    ["a minute when the reset is no number", { ...RESET, "x-ratelimit-requests-reset": "soon" }, 60_000],
    ["an hour at most", { ...RESET, "x-ratelimit-requests-reset": "+999999999" }, 3_600_000],
  ])("waits for %s", async (_name, headers, expectedMs) => {
    const now = new ManualClock().now();
    const absolute = Object.fromEntries(
      Object.entries(headers).map(([key, value]) => [
        key,
        value.startsWith("+") ? String(now + Number(value.slice(1))) : value,
      ]),
    );
    const { clock, bench: started, error } = await throttled({ kind: "ratelimited", headers: absolute });
    await using _ = started;
    expect(error).toMatchObject({ code: "tracker_rate_limited", data: { resetAt: now + expectedMs } });
    // Until then nothing goes out, whoever asks; then all is well by itself.
    expect(await failureOf(started.tracker.fetchIssuesByIds([issueId("x")]))).toMatchObject({
      code: "tracker_rate_limited",
      data: { resetAt: now + expectedMs },
    });
    expect(started.server.requests).toHaveLength(1);
    await clock.advance(expectedMs);
    expect(await started.tracker.fetchIssuesByStates(["Todo"])).toEqual([]);
  });

  it("is what a drained bucket of Linear's own leads to, and a plain HTTP 400 isn't", async () => {
    await using started = await startLinearBench();
    started.server.buckets.drain({ requests: 0 });
    expect((await failureOf(started.tracker.fetchIssuesByStates(["Todo"]))).code).toBe("tracker_rate_limited");
    const other = await linearTrackerOn(started.server);
    started.server.fail({ fault: { kind: "graphql", status: 400, errors: withErrors("BAD", "bad") }, times: 1 });
    expect((await failureOf(other.fetchIssuesByStates(["Todo"]))).code).toBe("tracker_status");
    started.server.buckets.drain({ requests: 100 });
    expect(await other.fetchIssuesByStates(["Todo"])).toEqual([]);
  });
});
