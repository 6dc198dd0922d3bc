import { spawn } from "node:child_process";
import { once } from "node:events";
import { join } from "node:path";
import { createInterface } from "node:readline";

import { describe, expect, test } from "vitest";

import { makeIssue } from "../../test/support/issues.ts";
import { makeLedgerPlace } from "../../test/support/ledger.ts";

const WRITER = join(import.meta.dirname, "..", "..", "test", "fakes", "ledger-writer.ts");

/** Starts the writer, kills it -9 once it has printed `lines` numbers, and answers the last number that it had printed. */
async function writeAndKill(path: string, first: number, lines: number): Promise<number> {
  const child = spawn(process.execPath, [WRITER, path, String(first)], { stdio: ["ignore", "pipe", "inherit"] });
  const exited = once(child, "exit");
  let last = first - 1;
  for await (const line of createInterface({ input: child.stdout })) {
    if (line === "ready") continue;
    last = Number(line);
    if (last - first + 1 >= lines) child.kill("SIGKILL");
  }
  await exited;
  return last;
}

describe("a daemon that is killed in the middle of its writing", () => {
  test("leaves everything that it had committed, whole, and the next one goes on from there", async () => {
    await using place = await makeLedgerPlace();
    let last = 0;
    for (const lines of [1, 7, 23]) {
      last = await writeAndKill(place.path, last + 1, lines);
      const ledger = place.open();
      const [claim] = ledger.loadState().claims.values();
      const reached = claim?.kind === "waiting" ? (claim.attempt ?? 0) : 0;
      // The one number that may have been committed without being printed.
      expect([last, last + 1]).toContain(reached);
      const reader = place.reader();
      const runs = reader.runs();
      expect(runs).toHaveLength(reached);
      expect(runs.filter((run) => run.ended_at === null).map((run) => run.run_id)).toEqual([`run-${reached}`]);
      const counted = ledger.totals().tokens;
      expect([last * 10, reached * 10]).toContain(counted.input);
      expect(counted).toEqual({
        input: counted.input,
        cachedInput: counted.input / 10,
        output: counted.input / 10,
        reasoning: 0,
      });
      expect(ledger.liveProcesses().map((process) => process.runId)).toEqual([`run-${reached}`]);
      expect(reader.damage()).toEqual([]);
      expect(claim?.issue).toEqual(makeIssue("A-1"));
      last = reached;
      reader.close();
      ledger.close();
    }
  });
});
