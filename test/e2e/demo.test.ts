/** `symphony demo` as a newcomer meets it. */
import { existsSync } from "node:fs";
import { readdir, readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { expect, test } from "vitest";
import { DEMO_TICKETS } from "../../src/cli/demo-board.ts";
import { openKeptDemo } from "../../src/cli/demo-place.ts";
import { demoScript } from "../../src/cli/demo-script.ts";
import { gitIn } from "../support/git.ts";
import { runsIn } from "./board.ts";
import { filesBelow, makeSurroundings, processesBelow, type Ending, type Surroundings } from "./command-line.ts";

/** Ten agents and twenty git commands on a busy machine. */
const PATIENCE_MS = 120_000;

interface Tokens {
  readonly input: number;
  readonly cached_input: number;
  readonly output: number;
}

/** What the agent's script makes it report, each step once. */
function scriptedTokens(): Tokens & { readonly total: number } {
  const sum = { input: 0, cached_input: 0, output: 0 };
  JSON.stringify(demoScript(), (key, value: unknown) => {
    if (key !== "tokens") return value;
    const tokens = value as Tokens;
    sum.input += tokens.input;
    sum.cached_input += tokens.cached_input;
    sum.output += tokens.output;
    return value;
  });
  return { ...sum, total: sum.input + sum.output };
}

interface Summary {
  readonly ledger: string;
}

function lastLine({ stdout }: Ending): Summary {
  return JSON.parse(stdout.trimEnd().split("\n").at(-1) ?? "") as Summary;
}

async function json(user: Surroundings, ...args: readonly string[]): Promise<unknown> {
  return JSON.parse((await user.run(args)).stdout);
}

test.concurrent(
  "demo --json works the board to Done, answers with its figures, and leaves the ledger alone",
  { timeout: PATIENCE_MS },
  async () => {
    await using user = await makeSurroundings();
    // As in a git hook, whose variables would lead the demo's commits into the user's repository.
    const end = await user.run(["demo", "--json"], { GIT_DIR: join(user.dir, "not-yours"), GIT_AUTHOR_NAME: "User" });
    expect({ code: end.code, stderr: end.stderr }).toEqual({ code: 0, stderr: expect.stringContaining("no model") });
    expect(end.stdout).toMatch(/^\{[^\n]*\}\n$/);
    const summary = lastLine(end);
    expect(summary).toEqual({
      issues: 6,
      done: 6,
      runs: 7,
      turns: 8,
      retries: 1,
      tokens: scriptedTokens(),
      ledger: expect.any(String),
    });

    expect(existsSync(summary.ledger)).toBe(true);
    const [folder = ""] = await readdir(user.tmp);
    expect(await filesBelow(user.tmp)).toEqual([folder, join(folder, "state"), join(folder, "state", "ledger.db")]);
    expect(await filesBelow(user.dir)).toEqual([]);
    expect(processesBelow(user.root)).toEqual([]);

    const stateDir = join(user.tmp, folder, "state");
    const usage = await json(user, "usage", "--json", "--state-dir", stateDir);
    expect(usage).toMatchObject({ total: { runs: 7, turns: 8, total_tokens: scriptedTokens().total } });
    const runs = runsIn(join(user.tmp, folder));
    const startOf = (issue: string): string =>
      String(runs.findLast((run) => run.issue_identifier === issue)?.started_at);
    expect(runs.filter((run) => run.issue_identifier === "DEMO-4").map((run) => run.outcome)).toEqual([
      "succeeded",
      "failed",
    ]);
    // Blocked by DEMO-1, which began first; DEMO-3 is behind it in order and overtook it.
    expect(startOf("DEMO-2") > startOf("DEMO-1")).toBe(true);
    expect(startOf("DEMO-2") > startOf("DEMO-3")).toBe(true);
    expect(startOf("DEMO-5") >= startOf("DEMO-6")).toBe(true); // No priority, and an urgent one.
  },
);

/** A kept demo of which one ticket is left to do: the one of two turns. */
async function makeNearlyDone(dir: string): Promise<void> {
  const { layout } = await openKeptDemo(dir, Date.now(), () => Promise.resolve(false));
  const others = DEMO_TICKETS.filter(({ identifier }) => identifier !== "DEMO-3");
  for (const { identifier } of others) {
    const path = join(layout.board, `${identifier}.md`);
    await writeFile(path, (await readFile(path, "utf8")).replace("state: Todo", "state: Done"));
  }
}

test.concurrent(
  "demo --keep goes on where kill -9 has cut it off, on the same thread, and leaves its work to look at",
  { timeout: PATIENCE_MS },
  async () => {
    await using user = await makeSurroundings();
    const dir = join(user.dir, "kept");
    await makeNearlyDone(dir);
    const first = user.start(["demo", "--keep", "--dir", dir]);
    await first.says("DEMO-3  turn 2");
    first.kill("SIGKILL");
    await first.ended;
    const [before, ...more] = runsIn(dir);
    expect(more).toEqual([]);
    expect(before).toMatchObject({ issue_identifier: "DEMO-3", thread_id: expect.any(String), ended_at: null });

    const second = await user.run(["demo", "--keep", "--dir", dir]);
    expect(second).toMatchObject({ code: 0, stderr: "" });
    expect(second.stdout).toContain("goes on with the board");
    expect(second.stdout).toContain("6 of 6 tickets done");
    expect(second.stdout).toContain(join(dir, "state", "ledger.db"));
    const after = runsIn(dir);
    expect(after.length).toBeGreaterThan(1);
    expect(new Set(after.map((run) => run.thread_id))).toEqual(new Set([before?.thread_id]));

    const repository = join(dir, "repository");
    expect(gitIn(repository, "branch", "--list", "demo/*", "--format", "%(refname:short)")).toBe("demo/DEMO-3");
    expect(gitIn(repository, "log", "--format=%an: %s", "demo/DEMO-3").split("\n")).toEqual([
      "Simulated agent: Add examples to the manual",
      "Simulated agent: Begin the manual",
      "Symphony demo: A program that greets",
    ]);
    expect(await readFile(join(dir, "board", "DEMO-3.md"), "utf8")).toContain("no model was asked");
    expect(processesBelow(user.root)).toEqual([]);
  },
);

test.concurrent("Ctrl-C ends the demo and removes all of it", { timeout: PATIENCE_MS }, async () => {
  await using user = await makeSurroundings();
  const demo = user.start(["demo"]);
  await demo.says("DEMO-1  turn 1");
  demo.kill("SIGINT");
  const { code, stderr } = await demo.ended;
  expect(code).toBe(130);
  expect(stderr).toContain("everything of it is removed");
  expect(await filesBelow(user.root)).toEqual(["home", "tmp", "work"]);
  expect(processesBelow(user.root)).toEqual([]);
});

test.concurrent("a folder that is no demo's is left alone", async () => {
  await using user = await makeSurroundings();
  await writeFile(join(user.dir, "mine.txt"), "mine");
  const { code, stdout, stderr } = await user.run(["demo", "--dir", user.dir]);
  expect(stderr).toMatch(/^symphony: [^\n]*is not empty[^\n]*--dir\n$/);
  expect({ code, stdout }).toEqual({ code: 1, stdout: "" });
  expect(await filesBelow(user.root)).toEqual(["home", "tmp", "work", "work/mine.txt"]);
});
