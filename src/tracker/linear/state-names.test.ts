/** Names of states are matched by Linear at each request; one that nobody has is told of. */
import { afterEach, beforeEach, describe, expect, it } from "vitest";

import { captureLog } from "../../../test/support/captured-log.ts";
import type { CapturedLog } from "../../../test/support/captured-log.ts";
import { linearTrackerOn, startLinearBench } from "../../../test/support/linear-tracker.ts";
import type { LinearBench } from "../../../test/support/linear-tracker.ts";
import { ManualClock } from "../../../test/support/manual-clock.ts";
import type { Tracker } from "../port.ts";

let bench: LinearBench;
let clock: ManualClock;
let log: CapturedLog;
let tracker: Tracker;

beforeEach(async () => {
  clock = new ManualClock();
  log = captureLog();
  bench = await startLinearBench();
});
afterEach(async () => {
  await tracker.close();
  await bench.dispose();
});

async function make(
  activeStates: readonly string[],
  provider: object = {},
  terminalStates?: readonly string[],
): Promise<void> {
  const states = { activeStates, ...(terminalStates === undefined ? {} : { terminalStates }) };
  tracker = await linearTrackerOn(bench.server, { ...provider }, { clock, log, states });
}

async function poll(states: readonly string[]): Promise<readonly string[]> {
  const answer = await tracker.poll?.({ states, ids: [] });
  return (answer?.candidates ?? []).map((issue) => issue.title);
}

function checks(): number {
  return bench.server.requests.filter((request) => request.operation === "SymphonyStates").length;
}

function renameState(from: string, to: string): void {
  for (const state of bench.server.board.states.values()) if (state.name === from) state.name = to;
}

describe("the name of an active state", () => {
  it("that no team has is told of once, with the states that there are", async () => {
    await make(["Todo", "In Porgress"]);
    for (let hour = 0; hour < 3; hour += 1) {
      await poll(["Todo", "In Porgress"]);
      await clock.advance(3_600_000);
    }
    expect(log.warnings()).toHaveLength(1);
    expect(log.warnings()[0]).toContain('no state in Linear is named \\"In Porgress\\"');
    expect(log.warnings()[0]).toContain('"In Progress"');
    expect(checks()).toBe(3);
  });

  it("in any letter case is known, and costs a question an hour at most, while it isn't in use", async () => {
    await make(["todo", "IN PROGRESS"]);
    for (let n = 0; n < 5; n += 1) await poll(["todo", "IN PROGRESS"]);
    expect([log.warnings(), checks()]).toEqual([[], 1]);
  });

  it("costs nothing while it is in use", async () => {
    bench.server.board.createIssue({ title: "A" });
    await make(["Todo"]);
    await poll(["Todo"]);
    expect(checks()).toBe(0);
  });

  it("is looked for in the scope's team alone", async () => {
    bench.server.board.addTeam("OPS", "Operations", [
      ["Ready", "unstarted"],
      ["Done", "completed"],
    ]);
    await make(["Ready"], { team: "OPS" });
    await poll(["Ready"]);
    expect(log.warnings()).toEqual([]);
    await tracker.close();
    await make(["Ready"], { team: "ENG" });
    await poll(["Ready"]);
    expect(log.warnings()).toHaveLength(1);
  });

  it("that goes is told of within the hour, and one that comes is matched at the very next poll", async () => {
    bench.server.board.createIssue({ title: "A" });
    await make(["Todo"]);
    expect(await poll(["Todo"])).toEqual(["A"]);
    renameState("Todo", "Ready");
    expect(await poll(["Todo"])).toEqual([]);
    expect(log.warnings().join()).toContain('no state in Linear is named \\"Todo\\"');
    renameState("Ready", "Todo");
    expect(await poll(["Todo"])).toEqual(["A"]);
  });

  it("is a question that fails no poll", async () => {
    await make(["Todo"]);
    bench.server.fail({ operation: "SymphonyStates", fault: { kind: "status", status: 500 } });
    expect(await poll(["Todo"])).toEqual([]);
    expect(log.warnings()).toEqual([]);
  });
});

it("terminal states are told of when there is none of them, for then nothing would ever end", async () => {
  await make(["Todo"], {}, ["Finished", "Dropped"]);
  await poll(["Todo"]);
  expect(log.warnings().join()).toContain("tracker.terminal_states: no state in Linear has one of these names");
});
