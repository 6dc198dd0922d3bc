/** Many tickets in one agent process: it dies, or its daemon is killed and it doesn't notice. */
import { existsSync } from "node:fs";
import { readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { expect, test } from "vitest";
import { simulatedAgentCommand } from "../../src/agent/simulated/command.ts";
import { isRunning } from "../support/processes.ts";
import { TestDaemon } from "../support/test-daemon.ts";
import { until } from "../support/until.ts";
import { MOVE_TO_DONE, run, runsIn, stateOf, writeBoard } from "./board.ts";
import { makeSurroundings, processesBelow } from "./command-line.ts";

const TICKETS = ["SH-1", "SH-2"];
/** Tells its own pid and its agent's, holds the ticket's lock as long as it runs, and waits at the gate. */
const WORK = {
  do: "shell",
  command: `
    exec 9> "../../lock-$SIMULATED_TICKET"
    flock -n 9 || echo "$SIMULATED_TICKET" >> ../../two-at-work
    echo "$$ $PPID" > "../../at-gate-$SIMULATED_TICKET"
    until [ -e ../../gate ]; do sleep 0.1; done`,
};
const SCRIPT = { "*": { runs: [run([WORK, MOVE_TO_DONE])] } };

/** The pids of a ticket's command and of its agent, once they are at work. */
function pidsOf(dir: string, ticket: string): Promise<readonly [command: number, agent: number]> {
  return until(`${ticket} is at the gate`, async () => {
    const path = join(dir, `at-gate-${ticket}`);
    const [command, agent] = existsSync(path) ? (await readFile(path, "utf8")).split(" ").map(Number) : [];
    return command !== undefined && agent !== undefined && ([command, agent] as const);
  });
}

function threadsOf(dir: string): readonly string[] {
  return [...new Set(runsIn(dir).map((row) => String(row.thread_id)))].toSorted();
}

test.concurrent(
  "a shared process that outlives its killed daemon is ended before anything is dispatched, and its threads go on",
  async () => {
    await using user = await makeSurroundings();
    const { dir } = user;
    // Its input stays open when the daemon is gone, so the agent and its commands go on.
    const agent = simulatedAgentCommand({ home: join(dir, "agent-home"), script: join(dir, "script.json") });
    const launcher = join(dir, "agent.sh");
    await writeFile(launcher, `{ cat; exec sleep 600; } | ${agent}\n`);
    await writeBoard(dir, { tickets: TICKETS, script: SCRIPT });
    const workflow = join(dir, "WORKFLOW.md");
    const text = await readFile(workflow, "utf8");
    const codex = `codex:\n  process: shared\n  command: bash '${launcher}'\n`;
    await writeFile(workflow, text.replace(/^codex:\n.*\n/m, codex));
    const daemon = user.start([]);
    const pids = await Promise.all(TICKETS.map((ticket) => pidsOf(dir, ticket)));
    expect(new Set(pids.map(([, shared]) => shared)).size).toBe(1);
    const threads = threadsOf(dir);
    daemon.kill("SIGKILL");
    await daemon.ended;
    expect(await Promise.all(pids.flat().map(isRunning))).toEqual([true, true, true, true]);

    const next = user.start([]);
    await next.says('"msg":"daemon started"');
    expect(await Promise.all(pids.flat().map(isRunning))).toEqual([false, false, false, false]);
    await writeFile(join(dir, "gate"), "");
    await until("all are done and cleaned up", () => next.stderr().split("workspace cleaned").length > TICKETS.length);
    next.kill("SIGTERM");
    expect((await next.ended).code).toBe(0);
    expect(await Promise.all(TICKETS.map((ticket) => stateOf(dir, ticket)))).toEqual(["Done", "Done"]);
    expect(existsSync(join(dir, "two-at-work"))).toBe(false);
    expect(threads).not.toContain("null");
    expect(threadsOf(dir)).toEqual(threads);
    expect(processesBelow(user.root)).toEqual([]);
  },
);

test("the death of a shared process costs each of its runs one attempt, and they go on in one new process", async () => {
  await using my = await TestDaemon.make();
  await my.writeScript({ "*": [[[WORK, MOVE_TO_DONE]]] });
  await my.writeWorkflow({
    codex: { command: my.agentCommand(), process: "shared" },
    agent: { max_retry_backoff_ms: 100 },
  });
  for (const ticket of TICKETS) await my.writeTicket(ticket);
  await my.start();
  const before = await Promise.all(TICKETS.map((ticket) => pidsOf(my.dir, ticket)));
  const [[, first] = [0, 0]] = before;
  expect(before.map(([, shared]) => shared)).toEqual([first, first]);
  process.kill(first, "SIGKILL");
  const after = await Promise.all(
    TICKETS.map((ticket) =>
      until(`${ticket} is at work again`, async () => {
        const [command, shared] = await pidsOf(my.dir, ticket);
        return shared !== first && ([command, shared] as const);
      }),
    ),
  );
  expect(new Set(after.map(([, shared]) => shared)).size).toBe(1);
  await writeFile(join(my.dir, "gate"), "");
  const runs = await until("all are done", () => {
    const rows = runsIn(my.dir);
    return rows.filter(({ outcome }) => outcome === "succeeded").length === TICKETS.length && rows;
  });
  expect(threadsOf(my.dir)).toHaveLength(TICKETS.length);
  expect(runs.map(({ outcome, attempt }) => `${attempt ?? 0} ${outcome}`).toSorted()).toEqual([
    "0 failed",
    "0 failed",
    "1 succeeded",
    "1 succeeded",
  ]);
  expect(existsSync(join(my.dir, "two-at-work"))).toBe(false);
});
