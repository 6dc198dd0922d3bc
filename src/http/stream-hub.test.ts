/** The stream by hand: made-up events, a clock that a test moves, and readers that read as fast as they like. */
import { beforeEach, describe, expect, it } from "vitest";
import { ManualClock } from "../../test/support/manual-clock.ts";
import type { AgentEvent } from "../domain/events.ts";
import { issueId, runId } from "../domain/ids.ts";
import type { EventEntryJson } from "../ledger/event-list.ts";
import type { Observer } from "../orchestrator/orchestrator.ts";
import { StreamHub } from "./stream-hub.ts";

let clock: ManualClock;
let rows: EventEntryJson[];
let observers: Set<Observer>;
let snapshots: number;
let hub: StreamHub;

const SAID: AgentEvent = { kind: "message", text: "hello", at: 0, agentPid: null };

function row(sequence: number, message = "hello"): EventEntryJson {
  const at = "2026-01-01T00:00:00.000Z";
  return { sequence, run_id: "r-1", issue_id: "i-1", at, event: "message", message, item: null };
}

/** An agent's event: observed now, in the ledger at once. */
function happen(sequence: number, message?: string): void {
  rows.push(row(sequence, message));
  for (const observer of observers) observer.changed?.();
}

beforeEach(() => {
  clock = new ManualClock();
  rows = [];
  observers = new Set();
  snapshots = 0;
  hub = new StreamHub({
    clock,
    snapshot: () => ({ number: (snapshots += 1) }),
    observe(observer) {
      observers.add(observer);
      return () => observers.delete(observer);
    },
    events({ after, limit = 100 }) {
      if (after === undefined) return rows.slice(-limit);
      return rows.filter(({ sequence }) => sequence > after).slice(0, limit);
    },
  });
});

interface Frame {
  readonly event: string;
  readonly id: number | null;
  readonly data: unknown;
}

class Reader {
  readonly #reader;

  constructor(after: number | null = null) {
    const stream = hub.open(after);
    if (stream === null) throw new Error("too many readers");
    this.#reader = stream.getReader();
  }

  /** What has come since the last read, or null when the stream has ended. */
  async read(): Promise<readonly Frame[] | null> {
    const { value, done } = await this.#reader.read();
    if (done) return null;
    return new TextDecoder()
      .decode(value)
      .split("\n\n")
      .flatMap((text) => parseFrame(text) ?? []);
  }

  close(): Promise<void> {
    return this.#reader.cancel();
  }
}

function parseFrame(text: string): Frame | null {
  const fields = new Map(
    text.split("\n").map((line) => [line.slice(0, line.indexOf(":")), line.slice(line.indexOf(":") + 2)]),
  );
  const event = fields.get("event");
  if (event === undefined) return null;
  const id = fields.get("id");
  return { event, id: id === undefined ? null : Number(id), data: JSON.parse(fields.get("data") ?? "null") };
}

function names(frames: readonly Frame[] | null): readonly string[] | undefined {
  return frames?.map(({ event, id }) => (id === null ? event : `${event} ${id}`));
}

describe("the stream", () => {
  it("begins with a snapshot, and tells what happens then: events once, changes as one snapshot", async () => {
    rows.push(row(1));
    const reader = new Reader();
    expect(names(await reader.read())).toEqual(["snapshot"]);
    happen(2);
    happen(3);
    await clock.advance(250);
    const frames = await reader.read();
    expect(names(frames)).toEqual(["run_event 2", "run_event 3", "snapshot"]);
    expect(frames?.[0]?.data).toEqual(row(2));
    expect(snapshots).toBe(2);
  });

  it("goes on where a reader stopped, without a gap and without a repetition", async () => {
    rows.push(row(1), row(2), row(5));
    const reader = new Reader(1);
    expect(names(await reader.read())).toEqual(["run_event 2", "run_event 5", "snapshot"]);
    happen(6);
    await clock.advance(250);
    expect(names(await reader.read())).toEqual(["run_event 6", "snapshot"]);
  });

  it("a second reader neither misses nor repeats what the first has yet to be told", async () => {
    const first = new Reader();
    await first.read();
    happen(1);
    const second = new Reader(0);
    expect(names(await second.read())).toEqual(["run_event 1", "snapshot"]);
    expect(names(await first.read())).toEqual(["run_event 1"]);
    await clock.advance(250);
    expect(names(await first.read())).toEqual(["snapshot"]);
    expect(names(await second.read())).toEqual(["snapshot"]);
  });

  it("says where more was missed than is told again", async () => {
    for (let sequence = 1; sequence <= 1500; sequence += 1) rows.push(row(sequence));
    const frames = await new Reader(10).read();
    expect(names(frames)).toEqual(["gap 1500", "snapshot"]);
    expect(frames?.[0]?.data).toEqual({ after: 10, before: 1500 });
  });

  it("waits for the row of an event that was only observed", async () => {
    const reader = new Reader();
    await reader.read();
    for (const observer of observers) observer.agentEvent?.(runId("r-1"), issueId("i-1"), SAID);
    await clock.advance(250);
    expect(names(await reader.read())).toEqual(["snapshot"]);
    rows.push(row(1));
    await clock.advance(250);
    expect(names(await reader.read())).toEqual(["run_event 1", "snapshot"]);
  });

  it("gives a reader that was busy the newest snapshot alone", async () => {
    const reader = new Reader();
    await reader.read();
    for (let round = 0; round < 3; round += 1) {
      for (const observer of observers) observer.changed?.();
      await clock.advance(250);
    }
    const frames = await reader.read();
    expect(frames?.map(({ data }) => data)).toEqual([{ number: 4 }]);
  });

  it("drops a reader that doesn't read, and keeps those that do", async () => {
    const slow = new Reader();
    const quick = new Reader();
    await slow.read();
    await quick.read();
    for (let sequence = 1; sequence <= 50; sequence += 1) {
      happen(sequence, "x".repeat(100_000));
      await clock.advance(250);
      await quick.read();
    }
    expect(await slow.read()).toBeNull();
    happen(51);
    await clock.advance(250);
    expect(names(await quick.read())).toEqual(["run_event 51", "snapshot"]);
  });

  it("does nothing while nobody listens", async () => {
    const reader = new Reader();
    await reader.read();
    expect(observers.size).toBe(1);
    await reader.close();
    expect(observers.size).toBe(0);
    expect(clock.armedCount()).toBe(0);
    await clock.advance(60_000);
    expect(snapshots).toBe(1);
  });

  it("keeps a quiet connection open, and takes no more readers than it can serve", async () => {
    const reader = new Reader();
    await reader.read();
    await clock.advance(15_000);
    expect(await reader.read()).toEqual([]);
    for (let count = 1; count < 64; count += 1) expect(hub.open(null)).not.toBeNull();
    expect(hub.open(null)).toBeNull();
  });
});
