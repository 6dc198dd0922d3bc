import { expect, test } from "vitest";
import { issueId, runId } from "../domain/ids.ts";
import type { Host, ProcessIdentity } from "../host/port.ts";
import { reapEarlier } from "./recover.ts";

test("ending what earlier runs left spares the current run, and counts what was ended", async () => {
  const processes = ["r1", "r2", "r3"].map((run, index) => ({
    runId: runId(run),
    identity: { pid: index, processGroup: index, startTime: "1", marker: run },
  }));
  const reaped: string[] = [];
  const host = {
    reap: async ({ marker }: ProcessIdentity) => {
      reaped.push(marker);
      return 2;
    },
  } satisfies Pick<Host, "reap">;
  const ledger = { processesOf: () => processes };
  expect(await reapEarlier({ host, ledger }, issueId("i"), runId("r3"))).toBe(4);
  expect(reaped).toEqual(["r1", "r2"]);
});
