/** When a demo is over, and what is shown of it until then. */
import { beforeEach, describe, expect, test } from "vitest";
import { makeIssue, makeSettings } from "../../test/support/issues.ts";
import { ManualClock } from "../../test/support/manual-clock.ts";
import type { BlockedClaim, Claim, CleaningClaim } from "../domain/claim.ts";
import { runId, type IssueId } from "../domain/ids.ts";
import type { Issue } from "../domain/issue.ts";
import type { Tracker } from "../tracker/port.ts";
import type { TicketView } from "./demo-progress.ts";
import { DemoWatch } from "./demo-watch.ts";

const A = makeIssue("A");
const B = makeIssue("B");
const DONE = { state: "Done" };

function blocked(issue: Issue): BlockedClaim {
  const empty = { class: null, attempt: null, question: null, threadId: null, inbox: [] };
  return { kind: "blocked", why: "operator", message: "stopped by a person", since: 0, issue, ...empty };
}

function cleaning(issue: Issue): CleaningClaim {
  return { kind: "cleaning", path: "/w", issue, since: 0 };
}

/** A board that is a list, and a daemon that is a map of claims. */
class Stage {
  readonly clock = new ManualClock(0);
  readonly said: string[] = [];
  painted: readonly TicketView[] = [];
  board: readonly Issue[] | Error = [];
  claims = new Map<IssueId, Claim>();
  readonly watch: DemoWatch;

  constructor(ticks = false) {
    const readBoard = (): Promise<readonly Issue[]> =>
      this.board instanceof Error ? Promise.reject(this.board) : Promise.resolve(this.board);
    const tracker: Tracker = {
      kind: "local",
      tools: [],
      fetchIssuesByStates: readBoard,
      fetchIssuesByIds: readBoard,
      close: () => Promise.resolve(),
    };
    this.watch = new DemoWatch({
      clock: this.clock,
      settings: makeSettings(),
      tracker,
      claims: () => this.claims,
      runs: () => [],
      view: {
        ticks,
        change: (identifier, text) => this.said.push(`${identifier} ${text}`),
        note: () => undefined,
        paint: (tickets) => (this.painted = tickets),
        close: () => undefined,
      },
      ended: (end) => this.said.push(end),
      failed: (error) => this.said.push(String(error)),
    });
  }

  /** The daemon's state moved, and the board was looked at. */
  async change(board: readonly Issue[] | Error, ...claims: readonly Claim[]): Promise<void> {
    this.board = board;
    this.claims = new Map(claims.map((claim) => [claim.issue.id, claim]));
    this.watch.changed();
    await this.clock.advance(1000);
  }
}

let stage: Stage;

beforeEach(() => {
  stage = new Stage();
});

describe("a demo is done", () => {
  test("when every ticket is terminal and nothing is claimed any more, once", async () => {
    await stage.change([A, { ...B, ...DONE }]);
    await stage.change(
      [A, B].map((issue) => ({ ...issue, ...DONE })),
      cleaning(B),
    );
    expect(stage.said).toEqual(["B reached Done; its workspace is removed"]);
    await stage.change([A, B].map((issue) => ({ ...issue, ...DONE })));
    await stage.change([A, B].map((issue) => ({ ...issue, ...DONE })));
    expect(stage.said.slice(1)).toEqual(["B done", "done"]);
  });

  test("again after a person has added a ticket that is done as well", async () => {
    await stage.change([{ ...A, ...DONE }]);
    await stage.change([{ ...A, ...DONE }, B]);
    await stage.change([A, B].map((issue) => ({ ...issue, ...DONE })));
    expect(stage.said).toEqual(["done", "done"]);
  });
});

describe("a demo is stuck", () => {
  test("when what is left is blocked, or held back by that", async () => {
    await stage.change([A, { ...B, dispatchable: false }], blocked(A));
    expect(stage.said).toEqual(["A blocked: stopped by a person", "stuck"]);
  });

  test("but not while another ticket may still start", async () => {
    await stage.change([A, B], blocked(A));
    expect(stage.said).toEqual(["A blocked: stopped by a person"]);
  });
});

test("a board that can't be read ends nothing, and the next change looks again", async () => {
  await stage.change(new Error("no such folder"));
  await stage.change([{ ...A, ...DONE }]);
  expect(stage.said).toEqual(["Error: no such folder", "done"]);
});

test("what an agent does is shown with its ticket, for as long as the run lasts", async () => {
  const claim: Claim = {
    kind: "running",
    runId: runId("r"),
    attempt: null,
    issue: A,
    phase: "turn",
    host: "local",
    threadId: null,
    startedAt: 0,
    lastEventAt: 0,
    open: 0,
    turn: 1,
    question: null,
    stopping: null,
    idle: { runs: 0, state: "todo" },
    inbox: [],
  };
  await stage.change([A], claim);
  stage.watch.agentEvent(claim.runId, A.id, { kind: "message", text: "hello", at: 0, agentPid: 1 });
  await stage.clock.advance(1000);
  expect(stage.painted).toMatchObject([{ identifier: "A", activity: "says: hello" }]);
  await stage.change([A]);
  expect(stage.painted).toMatchObject([{ identifier: "A", activity: null, claim: null }]);
});

test("a view that ticks is painted each second without a change, and no more once it is over", async () => {
  stage = new Stage(true);
  await stage.change([A]);
  stage.painted = [];
  await stage.clock.advance(1000);
  expect(stage.painted).toHaveLength(1);
  stage.watch[Symbol.dispose]();
  stage.painted = [];
  await stage.clock.advance(5000);
  expect(stage.painted).toEqual([]);
});
