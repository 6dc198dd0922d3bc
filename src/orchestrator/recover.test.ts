/** What a start finds of a daemon that was killed: real processes, and the real daemon that has to end them first. */
import { join } from "node:path";

import Database from "better-sqlite3";
import { expect, test } from "vitest";

import { captureLog } from "../../test/support/captured-log.ts";
import { isRunning, pidFrom } from "../../test/support/processes.ts";
import { TestDaemon } from "../../test/support/test-daemon.ts";
import { createLocalHost } from "../host/local.ts";

function ledgerIdOf(daemon: TestDaemon): string {
  const db = new Database(join(daemon.dir, "state", "ledger.db"), { readonly: true });
  try {
    return db.prepare<[], string>("SELECT id FROM ledger").pluck().get() ?? "";
  } finally {
    db.close();
  }
}

test("processes that the ledger doesn't know, such as those of a before_remove hook, are gone before the start is over", async () => {
  await using daemon = await TestDaemon.make();
  await daemon.writeWorkflow();
  await daemon.start();
  await daemon.stop();
  const host = createLocalHost({ log: captureLog().log, owner: ledgerIdOf(daemon) });
  const env = { PATH: "/usr/bin:/bin", HOME: daemon.dir };
  const request = { cwd: daemon.dir, env, marker: "remove-id-T-1", timeoutMs: 600_000 };
  const hook = host.runScript({ ...request, script: "echo $$ > pid; sleep 600" });
  const pid = await pidFrom(join(daemon.dir, "pid"));
  await daemon.start();
  expect(await isRunning(pid)).toBe(false);
  await hook;
  expect(daemon.logged("ended processes that an earlier daemon of this ledger left")).toMatchObject([{ level: 40 }]);
});
