/** The main job from outside: a board, the daemon, the simulated agent; and what the reports say meanwhile and afterwards. */
import { existsSync } from "node:fs";
import { readdir, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { expect, test } from "vitest";
import { runProgram } from "../support/program.ts";
import { until } from "../support/until.ts";
import { COMMENT, MOVE_TO_DONE, run, stateOf, ticketText, writeBoard } from "./board.ts";
import { makeSurroundings, processesBelow, type Ending, type Surroundings } from "./command-line.ts";

const TOKENS = { input: 1000, cached_input: 600, output: 50, reasoning: 20 };
/** Holds the agent until the test has looked. */
const WAIT_AT_GATE = {
  do: "shell",
  command: 'touch "../../at-gate"; until [ -e ../../gate ]; do sleep 0.2; done',
  tokens: TOKENS,
};

const SCRIPT = {
  "ONE-1": {
    runs: [
      run(
        [{ do: "write_file", path: "a.txt", content: "a", tokens: TOKENS }],
        [
          { ...COMMENT, tokens: null },
          { ...MOVE_TO_DONE, tokens: TOKENS },
        ],
      ),
    ],
  },
  "ONE-2": {
    runs: [run([{ do: "fail", message: "the model answered 500" }]), run([{ ...MOVE_TO_DONE, tokens: TOKENS }])],
  },
  "ONE-3": { runs: [run([WAIT_AT_GATE, { ...MOVE_TO_DONE, tokens: TOKENS }])] },
};

const RUN_KEYS = [
  "attempt",
  "class",
  "ended_at",
  "error",
  "issue_id",
  "issue_identifier",
  "outcome",
  "run_id",
  "started_at",
  "thread_id",
  "tokens",
  "turns",
];
const SUM_KEYS = [
  "cached_input_tokens",
  "input_tokens",
  "output_tokens",
  "reasoning_tokens",
  "runs",
  "seconds_running",
  "total_tokens",
  "turns",
  "usd",
];

interface RunRow {
  readonly issue_identifier: string;
  readonly attempt: number | null;
  readonly outcome: string | null;
  readonly turns: number;
  readonly error: string | null;
  readonly ended_at: string | null;
  readonly tokens: Readonly<Record<string, number | boolean>>;
}

interface Usage {
  readonly by: string;
  readonly rows: readonly (Readonly<Record<string, number>> & { readonly key: string })[];
  readonly total: Readonly<Record<string, number>>;
}

/** The one JSON value that a command printed, and nothing else. */
function answer({ code, stdout, stderr }: Pick<Ending, "code" | "stdout" | "stderr">): unknown {
  expect({ code, stderr }).toEqual({ code: 0, stderr: "" });
  expect(stdout).toMatch(/^[^\n]+\n$/);
  return JSON.parse(stdout);
}

async function runsOf(user: Surroundings, ...args: readonly string[]): Promise<readonly RunRow[]> {
  return answer(await runProgram(user, ["runs", "--json", ...args])) as readonly RunRow[];
}

async function usageOf(user: Surroundings, ...args: readonly string[]): Promise<Usage> {
  return answer(await runProgram(user, ["usage", "--json", ...args])) as Usage;
}

test.concurrent(
  "tickets go from the board to Done, and runs and usage tell about them, while the daemon runs and afterwards",
  async () => {
    await using user = await makeSurroundings();
    const { dir } = user;
    await writeBoard(dir, {
      tickets: ["ONE-1", "ONE-2", "ONE-3"],
      script: SCRIPT,
      more: "agent: { max_retry_backoff_ms: 200 }",
    });
    const daemon = user.start([]);
    await until("two are done and the third waits", async () => {
      const states = await Promise.all(["ONE-1", "ONE-2"].map((ticket) => stateOf(dir, ticket)));
      return states.every((state) => state === "Done") && existsSync(join(dir, "at-gate"));
    });
    // Done on the board, and with its workspace removed the run is in the ledger as well.
    await until("their workspaces are gone", async () => {
      const names = await readdir(join(dir, "workspaces"));
      return names.filter((name) => name.startsWith("ONE")).join() === "ONE-3";
    });

    const during = answer(await user.run(["runs", "--json"])) as readonly RunRow[];
    expect(Object.keys(during[0] ?? {}).toSorted()).toEqual(RUN_KEYS);
    expect(during.find((row) => row.issue_identifier === "ONE-3")).toMatchObject({
      outcome: null,
      ended_at: null,
      attempt: null,
      turns: 1,
    });
    expect(await user.run(["usage"])).toMatchObject({
      code: 0,
      stdout: expect.stringMatching(/^ISSUE .*\nONE-1 .*\nONE-2 .*\nONE-3 .*\ntotal .*\n$/),
    });

    await writeFile(join(dir, "gate"), "");
    await until("the third is done", async () => (await stateOf(dir, "ONE-3")) === "Done");
    await until("all workspaces are gone", async () =>
      (await readdir(join(dir, "workspaces"))).every((name) => !name.startsWith("ONE")),
    );
    daemon.kill("SIGTERM");
    const end = await daemon.ended;
    expect({ code: end.code, stdout: end.stdout }).toEqual({ code: 0, stdout: "" });

    const runs = await runsOf(user);
    const byIssue = (name: string): readonly RunRow[] =>
      runs.filter((row) => row.issue_identifier === name).toReversed();
    expect(byIssue("ONE-1")).toMatchObject([
      {
        outcome: "succeeded",
        attempt: null,
        turns: 2,
        error: null,
        tokens: { input: 2000, cached_input: 1200, output: 100, reasoning: 40, total: 2100, fresh: true },
      },
    ]);
    expect(byIssue("ONE-2")).toMatchObject([
      { outcome: "failed", attempt: null, turns: 1, error: expect.stringContaining("the model answered 500") },
      { outcome: "succeeded", attempt: 1, turns: 1 },
    ]);
    expect(byIssue("ONE-3")).toMatchObject([{ outcome: "succeeded", turns: 1 }]);
    expect(await runsOf(user, "--issue", "ONE-2", "--limit", "1")).toEqual([byIssue("ONE-2")[1]]);

    const usage = await usageOf(user, "--by", "issue");
    expect(usage.by).toBe("issue");
    expect(Object.keys(usage.total).toSorted()).toEqual(SUM_KEYS);
    expect(usage.rows.map((row) => [row.key, row["runs"], row["turns"], row["total_tokens"]])).toEqual([
      ["ONE-1", 1, 2, 2100],
      ["ONE-2", 2, 2, 1050],
      ["ONE-3", 1, 1, 2100],
    ]);
    const total = {
      runs: 4,
      turns: 5,
      input_tokens: 5000,
      cached_input_tokens: 3000,
      output_tokens: 250,
      reasoning_tokens: 100,
      total_tokens: 5250,
    };
    expect(usage.total).toMatchObject(total);
    expect((await usageOf(user, "--by", "day", "-w", join(dir, "WORKFLOW.md"))).total).toMatchObject(total);
    expect(await ticketText(dir, "ONE-1")).toContain("> worked on ONE-1");
    expect(processesBelow(user.root)).toEqual([]);
  },
);

test.concurrent(
  "logs are JSON lines on stderr, each transition with its issue, and a second daemon is told who owns the board",
  async () => {
    await using user = await makeSurroundings();
    await writeBoard(user.dir, {
      tickets: ["TWO-1"],
      script: { "TWO-1": { runs: [run([WAIT_AT_GATE, MOVE_TO_DONE])] } },
    });
    const daemon = user.start(["WORKFLOW.md"]);
    await until("the agent is at work", () => existsSync(join(user.dir, "at-gate")));
    const second = await user.run(["WORKFLOW.md"]);
    expect(second.stderr).toMatch(/^symphony: [^\n]+\n$/);
    expect(second.stderr).toContain(`pid ${daemon.pid}`);
    expect({ code: second.code, stdout: second.stdout }).toEqual({ code: 1, stdout: "" });
    await writeFile(join(user.dir, "gate"), "");
    await daemon.says('"msg":"workspace cleaned"');
    daemon.kill("SIGINT");
    const { code, stderr } = await daemon.ended;
    expect(code).toBe(0);
    const lines = stderr
      .trimEnd()
      .split("\n")
      .map((line) => JSON.parse(line) as Record<string, unknown>);
    const about = lines.filter((line) => line["issue_identifier"] === "TWO-1").map((line) => line["msg"]);
    expect(about).toEqual(
      expect.arrayContaining(["run started", "run completed", "cleaning workspace", "workspace cleaned"]),
    );
    expect(lines.at(-1)).toMatchObject({ level: "info", msg: "daemon stopped" });
  },
);
