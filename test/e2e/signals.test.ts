/** How a daemon ends: drained, killed, or cut off by force and started again. */
import { existsSync } from "node:fs";
import { readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { expect, test } from "vitest";
import { until } from "../support/until.ts";
import { isRunning } from "../support/processes.ts";
import { COMMENT, MOVE_TO_DONE, run, runsIn, stateOf, ticketText, writeBoard } from "./board.ts";
import { makeSurroundings, processesBelow, type RunningCommand, type Surroundings } from "./command-line.ts";

const TICKETS = ["SIG-1", "SIG-2"];
const ONE = TICKETS.slice(0, 1);
/** Tells who is at the gate, and waits for it. */
const WAIT_AT_GATE = {
  do: "shell",
  command: 'echo $$ > "../../at-gate-$SIMULATED_TICKET"; until [ -e ../../gate ]; do sleep 0.2; done',
};
const SCRIPT = { "*": { runs: [run([WAIT_AT_GATE, COMMENT, MOVE_TO_DONE])] } };

/** A daemon whose agents all stand in the middle of a command. */
async function startHeld(user: Surroundings, tickets: readonly string[]): Promise<RunningCommand> {
  await writeBoard(user.dir, { tickets, script: SCRIPT });
  const daemon = user.start([]);
  await until("every agent is at the gate", () =>
    tickets.every((ticket) => existsSync(join(user.dir, `at-gate-${ticket}`))),
  );
  return daemon;
}

test.concurrent("the first signal lets running turns end, and is a clean stop: exit code 0", async () => {
  await using user = await makeSurroundings();
  const daemon = await startHeld(user, TICKETS);
  daemon.kill("SIGTERM");
  await daemon.says("stopping");
  await writeFile(join(user.dir, "gate"), "");
  const { code, signal } = await daemon.ended;
  expect({ code, signal }).toEqual({ code: 0, signal: null });
  expect(await Promise.all(TICKETS.map((ticket) => stateOf(user.dir, ticket)))).toEqual(["Done", "Done"]);
  expect(runsIn(user.dir)).toMatchObject(TICKETS.map(() => ({ turns: 1, ended_at: expect.any(String) })));
  expect(processesBelow(user.root)).toEqual([]);
});

test.concurrent("the second signal stops at once, costs no attempt, and gives that signal's exit code", async () => {
  await using user = await makeSurroundings();
  const daemon = await startHeld(user, ONE);
  daemon.kill("SIGHUP"); // Without a terminal nothing but a note in the log.
  await daemon.says("SIGHUP");
  daemon.kill("SIGTERM");
  daemon.kill("SIGTERM"); // An echo of the first.
  await daemon.says("stopping:");
  daemon.kill("SIGINT");
  const { code, signal } = await daemon.ended;
  expect({ code, signal }).toEqual({ code: 130, signal: null });
  expect(processesBelow(user.root)).toEqual([]);
  expect(await stateOf(user.dir, "SIG-1")).toBe("Todo");
  expect(runsIn(user.dir)).toMatchObject([{ outcome: "cancelled", class: "shutdown", attempt: null }]);

  await writeFile(join(user.dir, "gate"), "");
  const next = user.start([]);
  await until("the next daemon finishes it", async () => (await stateOf(user.dir, "SIG-1")) === "Done");
  next.kill("SIGTERM");
  expect((await next.ended).code).toBe(0);
  expect(runsIn(user.dir)).toMatchObject(Array.from({ length: 2 }, () => ({ attempt: null })));
});

test.concurrent(
  "a daemon that is killed by force is started again: orphans are ended, threads go on, each ticket is done once",
  async () => {
    await using user = await makeSurroundings();
    const daemon = await startHeld(user, TICKETS);
    const orphans = await Promise.all(
      TICKETS.map(async (ticket) => Number(await readFile(join(user.dir, `at-gate-${ticket}`), "utf8"))),
    );
    const before = runsIn(user.dir);
    daemon.kill("SIGKILL");
    await daemon.ended;

    const next = user.start([]);
    await next.says('"msg":"daemon started"');
    expect(await Promise.all(orphans.map(isRunning))).toEqual([false, false]);
    await writeFile(join(user.dir, "gate"), "");
    await until(
      "every ticket is done and cleaned up",
      () => next.stderr().split("workspace cleaned").length > TICKETS.length,
    );
    next.kill("SIGTERM");
    expect((await next.ended).code).toBe(0);

    for (const ticket of TICKETS) {
      expect(await stateOf(user.dir, ticket)).toBe("Done");
      expect((await ticketText(user.dir, ticket)).split(`worked on ${ticket}`)).toHaveLength(2);
    }
    const threads = (rows: typeof before): readonly string[] =>
      [...new Set(rows.map((row) => String(row.thread_id)))].toSorted((a, b) => a.localeCompare(b));
    const after = runsIn(user.dir);
    expect(threads(before)).not.toContain("null");
    expect(threads(after)).toEqual(threads(before));
    expect(after.filter((row) => row.outcome === "succeeded")).toHaveLength(TICKETS.length);
    expect(processesBelow(user.root)).toEqual([]);
  },
);
