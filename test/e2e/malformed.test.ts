import { readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { afterEach, beforeEach, expect, test } from "vitest";
import { TestDaemon } from "../support/test-daemon.ts";
import { MOVE_TO_DONE } from "./board.ts";

let my: TestDaemon;

beforeEach(async () => {
  my = await TestDaemon.make();
});

afterEach(() => my[Symbol.asyncDispose]());

test("a ticket whose file breaks while it is worked on goes on, keeps nobody else from being worked on, and ends once it is mended", async () => {
  const wait = { do: "shell", command: "until [ -e ../../go ]; do sleep 0.05; done" };
  await my.writeScript({ "T-1": [[[wait, MOVE_TO_DONE]]], "T-2": [[[MOVE_TO_DONE]]] });
  await my.writeWorkflow();
  await my.writeTicket("T-1");
  await my.start();
  await my.untilInTurn("T-1");
  const file = join(my.dir, "board", "T-1.md");
  const whole = await readFile(file, "utf8");
  await writeFile(file, "no front matter any more\n");
  await my.until("the broken file has been met", ({ tracker }) => Number(tracker["malformed"]) > 0);
  await my.writeTicket("T-2");
  const [other] = await my.untilRunsEnded("T-2");
  expect(other).toMatchObject({ outcome: "succeeded" });
  await writeFile(file, whole);
  await writeFile(join(my.dir, "go"), "");
  const [run] = await my.untilRunsEnded("T-1");
  expect(run).toMatchObject({ outcome: "succeeded", turns: 1 });
});
