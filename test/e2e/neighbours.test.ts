/** Two daemons from different directories on one board: the second says who else is there. */
import { cp } from "node:fs/promises";
import { join } from "node:path";
import { expect, test } from "vitest";
import { TestDaemon } from "../support/test-daemon.ts";

const SAID = "another daemon reads the same tickets; unless labels or assignees keep the two apart, stop one of them";

test("the second daemon on a board warns of the first, and a daemon on a copied ledger doesn't start", async () => {
  await using first = await TestDaemon.make();
  await using second = await TestDaemon.make();
  const board = { kind: "local", provider: { path: join(first.dir, "board") } };
  await first.writeWorkflow();
  await second.writeWorkflow({ tracker: board });
  await first.start();
  expect(first.logged(SAID)).toEqual([]);
  await second.start();
  expect(second.logged(SAID)).toMatchObject([{ pid: process.pid, scope: `the board ${join(first.dir, "board")}` }]);
  await second.stop();

  await first.stop();
  await cp(join(first.dir, "state", "ledger.db"), join(second.dir, "state", "ledger.db"));
  await first.start();
  await expect(second.start()).rejects.toMatchObject({
    code: "already_running",
    message: expect.stringContaining("a copy of this ledger"),
  });
});
