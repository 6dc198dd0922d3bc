/** An hour of a daemon's traffic with Linear, under a virtual clock: polls, ends of turns and starts of ten agents, counted and priced by a local Linear. */
import { issueId } from "../../src/domain/ids.ts";
import type { IssueId } from "../../src/domain/ids.ts";
import { startLinearBench } from "./linear-tracker.ts";
import type { LinearBench } from "./linear-tracker.ts";
import { ManualClock } from "./manual-clock.ts";

export const ACTIVE_STATES = ["Todo", "In Progress"];
/** `polling.interval_ms` of the specification. */
export const TICK_MS = 30_000;
const TICKS_PER_HOUR = 120;
const AGENTS = 10;
/** The board has grown over two days. */
const AGE_MS = 172_800_000;

/** A board at work. Dispose of `bench` in the end. */
export interface LinearDay {
  readonly clock: ManualClock;
  readonly bench: LinearBench;
  /** The issues that agents work on. */
  readonly running: readonly IssueId[];
}

/** What an hour has cost. */
export interface HourlySpend {
  readonly requests: number;
  readonly points: number;
}

/** A board with that many active issues, ten of them at work. */
export async function startLinearDay(issues: number): Promise<LinearDay> {
  const clock = new ManualClock();
  const bench = await startLinearBench({ clock, server: { now: () => clock.now() } });
  const running: IssueId[] = [];
  for (let n = 0; n < issues; n += 1) {
    const isRunning = n < AGENTS;
    const state = isRunning ? "In Progress" : "Todo";
    const row = bench.server.board.createIssue({ title: `${n}`, state, labels: [`team ${n % 5}`] });
    if (isRunning) running.push(issueId(row.id));
    await clock.advance(AGE_MS / issues);
  }
  return { clock, bench, running };
}

/** One hour: each minute a turn ends and its issue is refreshed; each six minutes an issue changes and is refreshed for its start. */
export async function runLinearHour(day: LinearDay, eachTick: () => Promise<void> = quiet): Promise<HourlySpend> {
  const { bench, clock, running } = day;
  const { server, tracker } = bench;
  const before = server.requests.length;
  for (let tick = 0; tick < TICKS_PER_HOUR; tick += 1) {
    await eachTick();
    await tracker.poll?.({ states: ACTIVE_STATES, ids: running });
    const id = running[tick % running.length];
    if (id !== undefined && tick % 2 === 0) await tracker.fetchIssuesByIds([id]);
    if (id !== undefined && tick % 12 === 0) {
      server.board.patchIssue(id, { description: `worked on at ${tick}` });
      await tracker.fetchIssuesByIds([id]);
    }
    await clock.advance(TICK_MS);
  }
  const requests = server.requests.slice(before);
  return { requests: requests.length, points: requests.reduce((sum, request) => sum + request.points, 0) };
}

function quiet(): Promise<void> {
  return Promise.resolve();
}
