import { readdirSync } from "node:fs";
import { mkdir, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { afterEach, beforeEach, expect, test } from "vitest";
import { openLedgerReader } from "../../src/ledger/queries.ts";
import type { RunEvent } from "../../src/orchestrator/run-feed.ts";
import { TestDaemon } from "../support/test-daemon.ts";
import { until } from "../support/until.ts";
import { MOVE_TO_DONE } from "./board.ts";

const TICKET = `---
title: Look at the pictures
state: Todo
---
The button is wrong: ![shot](shots/button.png), and ![gone](shots/gone.png).
`;
/** In a turn that waits for the file, so that a test can look while it goes on. */
const WAIT = { do: "shell", command: "until [ -e ../../go ]; do sleep 0.05; done; echo waited" };

let my: TestDaemon;

beforeEach(async () => {
  my = await TestDaemon.make();
});

afterEach(() => my[Symbol.asyncDispose]());

function pictures(): readonly string[] {
  try {
    return readdirSync(join(my.dir, "state", "pictures"), { recursive: true }).map(String);
  } catch {
    return [];
  }
}

test("what an agent does is heard live, kept in full under the same numbers, and shown as one run", async () => {
  await my.writeScript({ "T-1": [[[WAIT, { do: "say", text: "The button is mended." }, MOVE_TO_DONE]]] });
  await my.writeWorkflow();
  await mkdir(join(my.dir, "board", "shots"));
  await writeFile(join(my.dir, "board", "shots", "button.png"), Buffer.from("\x89PNG\r\n\x1a\n...", "latin1"));
  await writeFile(join(my.dir, "board", "T-1.md"), TICKET);
  await mkdir(join(my.dir, "state", "pictures", "left-by-a-killed-daemon"), { recursive: true });
  await my.start();
  const heard: RunEvent[] = [];
  const stream = my.daemon.orchestrator.listen();
  const listening = (async () => {
    for await (const event of stream) heard.push(event);
  })();
  const row = await my.untilInTurn("T-1");
  await until(
    "the picture is there, and nothing else",
    () => pictures().join() === `${String(row["run_id"])},${String(row["run_id"])}/1.png`,
  );
  await writeFile(join(my.dir, "go"), "");
  const [run] = await my.untilRunsEnded("T-1");
  expect(pictures()).toEqual([]);
  await my.stop();
  await listening;

  const reader = openLedgerReader(join(my.dir, "state", "ledger.db"));
  const events = reader.events({ run: run?.run_id ?? "" });
  const detail = reader.run(run?.run_id ?? "");
  reader.close();
  expect(heard.map(({ sequence, event }) => [sequence, event.kind])).toEqual(
    events.map(({ sequence, event }) => [sequence, event]),
  );
  expect(new Set(heard.map(({ issueIdentifier }) => issueIdentifier))).toEqual(new Set(["T-1"]));
  expect(events.flatMap(({ item }) => (item === null ? [] : [[item.kind, item.data]]))).toMatchObject([
    ["command", { exit_code: 0, output_tail: "waited\n" }],
    ["message", { text: "The button is mended." }],
  ]);
  expect(events.find(({ event }) => event === "warning")?.message).toMatch(
    /can't be given to the agent: shots\/gone\.png: ENOENT/,
  );
  expect(detail).toMatchObject({
    outcome: "succeeded",
    turn_list: [{ turn: 1, status: "completed", final_message: "The button is mended." }],
    tool_calls: [{ name: "local_board", ok: true }],
  });
});
