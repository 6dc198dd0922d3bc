/** Budgets on a whole daemon: what a spent one stops, what it says, and that no restart forgets it. */
import { join } from "node:path";
import { expect, test } from "vitest";
import { runProgram } from "../support/program.ts";
import { TestDaemon } from "../support/test-daemon.ts";
import { MOVE_TO_DONE } from "./board.ts";
import { processesBelow } from "./command-line.ts";

/** 450 tokens that count: the uncached input and the output. */
const TOKENS = { input: 1000, cached_input: 600, output: 50, reasoning: 20 };
const SAY = { do: "say", text: "thinking about it", tokens: TOKENS };
const HANG = { do: "hang" };

test("an issue's budget interrupts and blocks it with the numbers, and no restart gives it more", async () => {
  await using my = await TestDaemon.make();
  await my.writeScript({ "BUD-1": [[[SAY, SAY, HANG]]] });
  await my.writeWorkflow({
    budget: {
      tokens_per_issue: 800,
      usd_per_day: 100,
      prices: { simulated: { input: 1000, cached_input: 100, output: 10000 } },
    },
  });
  await my.writeTicket("BUD-1");
  await my.start();
  const spent = "budget.tokens_per_issue is spent: 900 of 800 tokens (uncached input and output)";
  await my.untilRunsEnded("BUD-1");
  await my.until("it is blocked", ({ blocked }) => blocked.length === 1);
  expect(my.snapshot().blocked).toMatchObject([{ why: "budget", message: spent }]);
  expect(my.runs()).toMatchObject([{ outcome: "failed", class: "budget", error: spent, turns: 1 }]);
  expect(processesBelow(join(my.dir, "workspaces", "BUD-1"))).toEqual([]);
  const user = { dir: my.dir, home: my.dir, tmp: my.dir };
  const usage = JSON.parse((await runProgram(user, ["usage", "--json"])).stdout) as { total: { usd: number } };
  // 800 uncached, 1200 cached and 100 out, per million.
  expect(usage.total.usd).toBe(0.8 + 0.12 + 1);

  await my.stop();
  await my.start();
  expect(my.snapshot()).toMatchObject({ running: [], blocked: [{ message: spent }], budget: { tokens: 900 } });
  await my.writeTicket("BUD-1", { labels: ["again"] });
  const [, again] = await my.untilRunsEnded("BUD-1", 2);
  await my.until("it is blocked again", ({ blocked }) => blocked.length === 1);
  expect(again).toMatchObject({ outcome: "failed", class: "budget", turns: 0, tokens: { total: 0 } });
});

test("the day's budget interrupts what runs and starts nothing, until there is more", async () => {
  await using my = await TestDaemon.make();
  await my.writeScript({ "DAY-1": [[[SAY, HANG]], [[MOVE_TO_DONE]]], "DAY-2": [[[MOVE_TO_DONE]]] });
  await my.writeWorkflow({ budget: { tokens_per_day: 450 }, agent: { max_concurrent_agents: 1 } });
  await my.writeTicket("DAY-1", { created_at: "2026-01-01T00:00:00Z" });
  await my.writeTicket("DAY-2", { created_at: "2026-01-01T00:01:00Z" });
  await my.start();
  await my.until("the run was interrupted", ({ retrying }) => retrying.length === 1);
  const held = {
    running: [],
    retrying: [{ issue_identifier: "DAY-1", why: "day_budget", attempt: null }],
    paused: [
      {
        kind: "budget",
        until: expect.stringMatching(/T00:00:00\.000Z$/) as string,
        message: expect.stringContaining("450 of 450 tokens") as string,
      },
    ],
  };
  expect(my.snapshot()).toMatchObject(held);

  await my.stop();
  await my.start();
  expect(my.snapshot()).toMatchObject(held);
  await my.writeWorkflow({ budget: { tokens_per_day: 100_000 }, agent: { max_concurrent_agents: 1 } });
  const [first, second] = await my.untilRunsEnded("DAY-1", 2);
  await my.untilRunsEnded("DAY-2");
  for (const name of ["DAY-1", "DAY-2"]) expect(await my.text("board", `${name}.md`)).toContain('state: "Done"');
  expect(first).toMatchObject({ outcome: "failed", class: "budget", attempt: null });
  expect(second).toMatchObject({ outcome: "succeeded", attempt: null, thread_id: first?.thread_id });
});
