/** Why isn't it running: one ticket at each gate, and what a person reads there. */
import { describe, expect, it } from "vitest";
import { makeIssue, makeSettings } from "../../test/support/issues.ts";
import { driverIn, SchedulerDriver } from "../../test/support/scheduler.ts";
import type { Issue } from "../domain/issue.ts";
import { failed } from "../domain/outcome.ts";
import { explain, type Explanation, type GateReport } from "./explain.ts";

const ISSUE = makeIssue("ENG-1");

function ask(driver: SchedulerDriver, issue: Issue = ISSUE): Explanation {
  return explain({ state: driver.state, settings: driver.settings, now: driver.now, issue });
}

function closed(driver: SchedulerDriver, issue: Issue = ISSUE): readonly GateReport[] {
  return ask(driver, issue).gates.filter((gate) => !gate.pass);
}

/** A daemon whose one slot is taken by another ticket, so that nothing more is started. */
function busy(overrides: Parameters<typeof makeSettings>[0] = {}): SchedulerDriver {
  const driver = new SchedulerDriver(makeSettings({ ...overrides, agent: { maxConcurrentAgents: 1 } }));
  driver.dispatch(makeIssue("ENG-0", { priority: 1, labels: ["agent"] }));
  return driver;
}

describe("an issue's own gates", () => {
  it.each<[gate: string, issue: Partial<Issue>, value: RegExp, mend: RegExp]>([
    ["required_fields", { title: " " }, /^blank: title$/, /fill/],
    ["active_state", { state: "Backlog" }, /^state Backlog$/, /Todo, In Progress/],
    ["dispatchable", { dispatchable: false, assignee_id: "u-1" }, /assignee u-1/, /assign/],
    [
      "dispatchable",
      { dispatchable: false, blocked_by: [{ id: "b", identifier: "ENG-9", state: "In Progress" }] },
      /blocked by ENG-9 \(In Progress\)/,
      /end the blockers/,
    ],
    ["required_labels", { labels: ["bug"] }, /has bug; required: agent/, /required_labels/],
    ["excluded_labels", { labels: ["agent", "hold"] }, /excluded: hold/, /off it/],
  ])("%s says what it saw and what would open it", (gate, overrides, value, mend) => {
    const driver = busy({ tracker: { requiredLabels: ["agent"], excludedLabels: ["hold"] } });
    const issue = makeIssue("ENG-1", { labels: ["agent"], ...overrides });
    driver.now += 30_000;
    driver.tick([issue], [driver.state.claims.values().next().value?.issue ?? issue]);
    const gates = closed(driver, issue).filter((report) => report.gate !== "slot");
    expect(gates).toEqual([
      { gate, pass: false, value: expect.stringMatching(value), mend: expect.stringMatching(mend) },
    ]);
    expect(ask(driver, issue).verdict).toBe("held");
  });

  it("a terminal state fails both gates of the state", () => {
    const driver = busy();
    const gates = closed(driver, makeIssue("ENG-1", { state: "done" })).map(({ gate }) => gate);
    expect(gates).toEqual(["listed", "active_state", "not_terminal", "slot"]);
  });
});

describe("gates of the daemon", () => {
  it("names the slots, and who comes first", () => {
    const driver = busy();
    driver.now += 30_000;
    driver.tick([ISSUE, makeIssue("ENG-2", { priority: 1 })], [makeIssue("ENG-0", { priority: 1, labels: ["agent"] })]);
    expect(closed(driver)).toEqual([
      {
        gate: "slot",
        pass: false,
        value: "1 of 1 in use, and 1 of those that wait come first",
        mend: expect.stringContaining("agent.max_concurrent_agents"),
      },
    ]);
  });

  it("names the cap of the ticket's state", () => {
    const driver = new SchedulerDriver(makeSettings({ agent: { maxConcurrentAgentsByState: { todo: 1 } } }));
    driver.dispatch(makeIssue("ENG-0"));
    driver.now += 30_000;
    driver.tick([ISSUE], [makeIssue("ENG-0")]);
    expect(closed(driver).map(({ gate, value }) => [gate, value])).toEqual([
      ["state_slot", "1 of 1 for state Todo in use"],
    ]);
  });

  it("names each pause with its message", () => {
    const driver = new SchedulerDriver();
    driver.boot();
    driver.send({ kind: "operator", command: { kind: "pause" } });
    driver.send({ kind: "workflow_broken", message: "codex.command: must be text" });
    driver.send({ kind: "budget_day_spent", until: driver.now + 60_000, message: "5 of 5 USD" });
    driver.tick([ISSUE]);
    expect(closed(driver).map(({ gate, value }) => [gate, value.replace(/^.*Z: /, "")])).toEqual([
      ["pause_operator", "paused by an operator"],
      ["pause_budget", "5 of 5 USD"],
      ["pause_workflow", "codex.command: must be text"],
    ]);
  });

  it("a limit whose time is up is no gate any more, until one ticket tries it", () => {
    const driver = new SchedulerDriver();
    driver.dispatch(makeIssue("ENG-0"));
    driver.endRun(makeIssue("ENG-0"), failed("usage_limit", "limit", { resetsAt: driver.now + 1000 }));
    expect(closed(driver).map(({ gate }) => gate)).toContain("pause_usage_limit");
    driver.now += 1000;
    expect(closed(driver).map(({ gate }) => gate)).not.toContain("pause_usage_limit");
  });

  it("a tracker that can't be read, a ticket that it didn't list, and a daemon that drains", () => {
    const driver = new SchedulerDriver();
    driver.boot();
    expect(closed(driver).map(({ gate, value }) => [gate, value])).toEqual([
      ["tracker", "not read yet"],
      ["listed", "not among the 0 candidates of the last poll"],
    ]);
    const poll = driver.state.polling ?? 0;
    driver.send({ kind: "poll_failed", poll, failure: { code: "tracker_status", message: "401", resetAt: null } });
    expect(closed(driver)[0]?.value).toMatch(/^the last read failed at .*: 401$/);
    driver.send({ kind: "shutdown" });
    expect(closed(driver).map(({ gate }) => gate)).toEqual(["tracker", "listed", "mode"]);
  });
});

describe("a claimed ticket", () => {
  it("that runs passes every gate, and holds its slot", () => {
    const driver = driverIn(ISSUE, "running");
    expect(ask(driver).verdict).toBe("running");
    expect(closed(driver)).toEqual([]);
    expect(ask(driver).gates.find(({ gate }) => gate === "slot")?.value).toBe(
      "1 of 10 in use, one of them by this ticket",
    );
  });

  it("that waits names its time and its last error, and passes once it is due", () => {
    const driver = driverIn(ISSUE, "waiting");
    expect(ask(driver).verdict).toBe("waiting");
    expect(closed(driver)).toEqual([
      {
        gate: "claim",
        pass: false,
        value: expect.stringMatching(/^waits until .* \(failure\): boom$/),
        mend: expect.any(String),
      },
    ]);
    driver.now += 3_600_000;
    expect(closed(driver)).toEqual([]);
  });

  it("that is blocked names the reason and the command that unblocks it", () => {
    const driver = driverIn(ISSUE, "blocked");
    expect(ask(driver).verdict).toBe("blocked");
    expect(closed(driver)).toEqual([
      {
        gate: "claim",
        pass: false,
        value: expect.stringMatching(/^blocked since .* \(not_retryable\): no such policy$/),
        mend: "symphony retry ISSUE, or change its state or labels",
      },
    ]);
  });
});

it("a free ticket with every gate open is ready, and dispatch agrees: the next serve starts it", () => {
  const driver = new SchedulerDriver();
  driver.boot();
  driver.send({ kind: "operator", command: { kind: "pause" } });
  driver.tick([ISSUE]);
  expect(ask(driver).verdict).toBe("held");
  driver.send({ kind: "operator", command: { kind: "resume" } });
  expect(driver.effect("refresh")?.ids).toEqual([ISSUE.id]);
  expect(closed(driver)).toEqual([]);
});

it("a daemon for one ticket starts that one alone, and says so of the others", () => {
  const driver = new SchedulerDriver();
  const durable = { claims: new Map(), workspaces: new Map(), pauses: new Map() };
  driver.send({ kind: "boot", durable, only: "eng-1" });
  const other = makeIssue("ENG-2", { priority: 1 });
  driver.tick([ISSUE, other]);
  expect(driver.effect("refresh")?.ids).toEqual([ISSUE.id]);
  expect(ask(driver, other).verdict).toBe("held");
  expect(closed(driver, other)).toEqual([
    { gate: "only", pass: false, value: "the daemon was started for eng-1 alone", mend: expect.any(String) },
  ]);
});
