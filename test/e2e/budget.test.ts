/** Budgets from outside: what a spent one stops, what it says, and that no restart forgets it. */
import { readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { expect, test } from "vitest";
import { until } from "../support/until.ts";
import { MOVE_TO_DONE, run, runsIn, stateOf, statusIn, writeBoard } from "./board.ts";
import { makeSurroundings, processesBelow, type RunningCommand, type Surroundings } from "./command-line.ts";

/** 450 tokens that count: the uncached input and the output. */
const TOKENS = { input: 1000, cached_input: 600, output: 50, reasoning: 20 };
const SAY = { do: "say", text: "thinking about it", tokens: TOKENS };
const HANG = { do: "hang" };

interface Status {
  readonly running: readonly unknown[];
  readonly retrying: readonly { readonly issue_identifier: string }[];
  readonly blocked: readonly { readonly message: string }[];
  readonly paused: readonly { readonly kind: string; readonly until: string; readonly message: string }[];
  readonly budget: Readonly<Record<string, unknown>>;
}

async function status({ dir }: Surroundings): Promise<Status> {
  return (await statusIn(dir)) as Status;
}

/** Cuts the daemon off, and starts the next one. */
async function restart(user: Surroundings, daemon: RunningCommand): Promise<RunningCommand> {
  daemon.kill("SIGKILL");
  await daemon.ended;
  const next = user.start([]);
  await next.says("daemon started");
  return next;
}

test.concurrent(
  "an issue's budget interrupts and blocks it with the numbers, and no restart gives it more",
  async () => {
    await using user = await makeSurroundings();
    const { dir } = user;
    const more = `budget:
  tokens_per_issue: 800
  usd_per_day: 100
  prices: { simulated: { input: 1000, cached_input: 100, output: 10000 } }`;
    await writeBoard(dir, { tickets: ["BUD-1"], script: { "BUD-1": { runs: [run([SAY, SAY, HANG])] } }, more });
    const daemon = user.start([]);
    await daemon.says('"msg":"issue blocked"');
    const spent = "budget.tokens_per_issue is spent: 900 of 800 tokens (uncached input and output)";
    const shown = JSON.parse((await user.run(["status", "--json"])).stdout) as Status;
    expect(shown.blocked).toMatchObject([{ why: "budget", message: spent }]);
    expect(runsIn(dir)).toMatchObject([{ outcome: "failed", class: "budget", error: spent, turns: 1 }]);
    expect(processesBelow(join(dir, "workspaces"))).toEqual([]);
    const usage = JSON.parse((await user.run(["usage", "--json"])).stdout) as { total: { usd: number } };
    // 800 uncached, 1200 cached and 100 out, per million.
    expect(usage.total.usd).toBe(0.8 + 0.12 + 1);

    const next = await restart(user, daemon);
    expect(await status(user)).toMatchObject({ running: [], blocked: [{ message: spent }], budget: { tokens: 900 } });
    const ticket = join(dir, "board", "BUD-1.md");
    await writeFile(ticket, (await readFile(ticket, "utf8")).replace("state: Todo", "state: Todo\nlabels: [again]"));
    await until("it was tried and is blocked again", async () => {
      const ended = runsIn(dir).filter((row) => row.ended_at !== null);
      return ended.length === 2 && (await status(user)).blocked.length === 1;
    });
    expect(runsIn(dir)[0]).toMatchObject({ outcome: "failed", class: "budget", turns: 0, tokens: { total: 0 } });
    next.kill("SIGTERM");
    expect((await next.ended).code).toBe(0);
  },
);

test.concurrent("the day's budget interrupts what runs and starts nothing, until there is more", async () => {
  await using user = await makeSurroundings();
  const { dir } = user;
  const script = {
    "DAY-1": { runs: [run([SAY, HANG]), run([MOVE_TO_DONE])] },
    "DAY-2": { runs: [run([MOVE_TO_DONE])] },
  };
  const more = "budget: { tokens_per_day: 450 }\nagent: { max_concurrent_agents: 1 }";
  const workflow = await writeBoard(dir, { tickets: ["DAY-1", "DAY-2"], script, more });
  const daemon = user.start([]);
  await daemon.says("daemon started");
  await until("the run was interrupted", async () => (await status(user)).retrying.length === 1);
  const held = {
    running: [],
    retrying: [{ issue_identifier: "DAY-1", why: "day_budget", attempt: null }],
    paused: [
      {
        kind: "budget",
        until: expect.stringMatching(/T00:00:00\.000Z$/),
        message: expect.stringContaining("450 of 450 tokens"),
      },
    ],
  };
  expect(await status(user)).toMatchObject(held);

  const next = await restart(user, daemon);
  expect(await status(user)).toMatchObject(held);
  await writeFile(workflow, (await readFile(workflow, "utf8")).replace("450", "100000"));
  await until("both are done", async () => {
    const states = await Promise.all(["DAY-1", "DAY-2"].map((name) => stateOf(dir, name)));
    return states.every((state) => state === "Done");
  });
  next.kill("SIGTERM");
  expect((await next.ended).code).toBe(0);
  const [second, first] = runsIn(dir).filter((row) => row.issue_identifier === "DAY-1");
  expect(first).toMatchObject({ outcome: "failed", class: "budget", attempt: null });
  expect(second).toMatchObject({ outcome: "succeeded", attempt: null, thread_id: first?.thread_id });
});
