import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { issue, makeRunBench, type RunBench } from "../../../test/support/run-bench.ts";
import type { Pictures } from "./gather.ts";

let my: RunBench;
let asked: number;
let removedAfter: string[] | null;

beforeEach(async () => {
  my = await makeRunBench();
  asked = 0;
  removedAfter = null;
});

afterEach(() => my[Symbol.asyncDispose]());

/** Two pictures, one of which could not be had. */
async function pictures(): Promise<Pictures> {
  asked += 1;
  return {
    paths: ["/state/pictures/run-1/1.png"],
    note: "These pictures come along: 1. a.png",
    problems: ["b.png: it is gone"],
    remove: async () => {
      removedAfter = [...my.heard];
    },
  };
}

describe("the pictures of a description", () => {
  it("come with the first turn of a fresh thread, and go when the agent's process has", async () => {
    const run = my.start({ maxTurns: 2, request: { pictures } });
    await my.completeTurns(run);
    const [first, second] = my.backend.turns.map(({ request }) => request);
    expect(first).toMatchObject({ images: ["/state/pictures/run-1/1.png"] });
    expect(first?.prompt).toBe("Work on ENG-7.\n\nThese pictures come along: 1. a.png");
    expect(second).not.toHaveProperty("images");
    expect(removedAfter).toContain("finishing 2");
    expect(my.backend.closed).toBe(1);
  });

  it("that can't be had are a warning each, and the run goes on", async () => {
    my.board = async () => ({ ...issue, state: "Done" });
    const { outcome } = await my.completeTurns(my.start({ request: { pictures } }));
    expect(outcome).toEqual({ kind: "succeeded" });
    const text = "a picture of the description can't be given to the agent: b.png: it is gone";
    expect(my.events.filter((event) => event.kind === "warning")).toMatchObject([{ text }]);
    expect(my.log.warnings()).toHaveLength(1);
  });

  it("are not fetched for a thread that is resumed: it has them", async () => {
    my.board = async () => ({ ...issue, state: "Done" });
    await my.completeTurns(my.start({ request: { pictures, threadId: "thread-9" } }));
    expect(asked).toBe(0);
    expect(my.backend.turns[0]?.request).not.toHaveProperty("images");
  });
});
