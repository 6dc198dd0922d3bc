/**
 * A process that writes into a ledger as fast as it can, and prints each number once it has been committed. It is there to be killed.
 * Arguments: the ledger's path, and the first number.
 */
import { pino } from "pino";

import { openLedger } from "../../src/ledger/ledger.ts";
import { systemClock } from "../../src/lib/clock.ts";
import { makeIssue } from "../support/issues.ts";
import { changeOf, ended, started } from "../support/ledger.ts";
import { runId } from "../../src/domain/ids.ts";

const [path = "", first = "1"] = process.argv.slice(2);
const ledger = openLedger({ path, clock: systemClock, log: pino({ level: "silent" }) });
const issue = makeIssue("A-1");

process.stdout.write("ready\n");
for (let number = Number(first); ; number += 1) {
  const run = `run-${number}`;
  const at = Date.now();
  ledger.commit(
    changeOf({
      claims: [
        [
          issue.id,
          {
            kind: "waiting",
            attempt: number,
            issue,
            dueAt: at,
            why: "failure",
            error: null,
            threadId: null,
            check: null,
            idle: { runs: 0, state: "todo" },
            inbox: [],
          },
        ],
      ],
      facts: [started(run, at, issue, number), ended(`run-${number - 1}`, at)],
    }),
  );
  ledger.turnIntended({ runId: runId(run), turn: 1, intentId: `intent-${number}`, at });
  const total = { input: number * 10, cachedInput: number, output: number, reasoning: 0 };
  const usage = { runId: runId(run), turn: 1, threadId: "t-1", issueId: issue.id, total, subAgent: false };
  ledger.recordTokens({ ...usage, model: "m-1", at });
  process.stdout.write(`${number}\n`);
}
