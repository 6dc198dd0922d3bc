import { describe, expect, it } from "vitest";
import { issueId, runId } from "../domain/ids.ts";
import { RunFeed, type RunEvent, type RunEventStream } from "./run-feed.ts";

function event(sequence: number): RunEvent {
  return {
    sequence,
    runId: runId("run-1"),
    issueId: issueId("id-A-1"),
    issueIdentifier: "A-1",
    event: { kind: "message", text: String(sequence), at: sequence, agentPid: null },
  };
}

async function readAll(stream: RunEventStream): Promise<number[]> {
  const seen: number[] = [];
  for await (const { sequence } of stream) seen.push(sequence);
  return seen;
}

describe("a listener", () => {
  it("is told everything from when it began to listen, in order, until the feed ends", async () => {
    const feed = new RunFeed();
    feed.tell(event(1));
    const stream = feed.listen();
    feed.tell(event(2));
    const all = readAll(stream);
    feed.tell(event(3));
    await Promise.resolve();
    feed.tell(event(4));
    feed.end();
    expect(await all).toEqual([2, 3, 4]);
    expect(stream.lagged).toBe(false);
  });

  it("that is too slow is dropped and told so, and the others go on", async () => {
    const feed = new RunFeed();
    const slow = feed.listen();
    const quick = feed.listen();
    const seen: number[] = [];
    const reading = (async () => {
      for await (const { sequence } of quick) {
        seen.push(sequence);
        if (sequence === 1500) break;
      }
    })();
    for (let sequence = 1; sequence <= 1500; sequence += 1) {
      feed.tell(event(sequence));
      await Promise.resolve();
      await Promise.resolve();
      await Promise.resolve();
    }
    await reading;
    expect(seen).toHaveLength(1500);
    expect(quick.lagged).toBe(false);
    expect(slow.lagged).toBe(true);
    expect(await readAll(slow)).toEqual([]);
  });

  it("leaves nothing behind when it stops reading, is closed, or goes out of scope", async () => {
    const feed = new RunFeed();
    expect(feed.isIdle).toBe(true);
    const first = feed.listen();
    feed.tell(event(1));
    for await (const _ of first) break;
    const second = feed.listen();
    const waiting = readAll(second);
    second.close();
    expect(await waiting).toEqual([]);
    {
      using third = feed.listen();
      expect(feed.isIdle).toBe(false);
      expect(third.lagged).toBe(false);
    }
    expect(feed.isIdle).toBe(true);
  });

  it("that comes after the end is at its end", async () => {
    const feed = new RunFeed();
    feed.end();
    expect(await readAll(feed.listen())).toEqual([]);
  });
});
