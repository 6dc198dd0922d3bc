/** Boot of a daemon that has a thousand claims and a million event rows. */
import { copyFileSync, mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { pino } from "pino";
import { issueId } from "../src/domain/ids.ts";
import type { Claim } from "../src/domain/claim.ts";
import { openLedger } from "../src/ledger/ledger.ts";
import { systemClock } from "../src/lib/clock.ts";
import { makeIssue } from "../test/support/issues.ts";
import { until } from "../test/support/until.ts";
import type { Bench } from "./bench.ts";
import { loadNote, median, rounded } from "./figures.ts";
import { fillLedger } from "./ledger-queries.ts";
import { Product } from "./product.ts";

const CLAIMS = 1000;
const REPEATS = 3;

function claim(identifier: string): Claim {
  const issue = makeIssue(identifier, { id: issueId(identifier) });
  return {
    kind: "waiting",
    attempt: 1,
    issue,
    dueAt: Date.now() + 3_600_000,
    why: "failure",
    error: "the model answered 500",
    threadId: null,
    check: null,
    idle: { runs: 0, state: "" },
    inbox: [],
  };
}

function fill(path: string): void {
  const ledger = openLedger({ path, clock: systemClock, log: pino({ level: "silent" }) });
  const claims = new Map(Array.from({ length: CLAIMS }, (_, n) => [issueId(`B-${n}`), claim(`B-${n}`)] as const));
  ledger.commit({ claims, workspaces: new Map(), pauses: new Map(), facts: [] });
  ledger.close();
  fillLedger(path);
}

/** A daemon's ledger before it boots; made once, since that takes far longer than a boot. */
function filledLedger(): { readonly path: string } & Disposable {
  const dir = mkdtempSync(join(tmpdir(), "symphony-bench-ledger-"));
  const path = join(dir, "ledger.db");
  fill(path);
  return { path, [Symbol.dispose]: () => rmSync(dir, { recursive: true, force: true }) };
}

/** The one ticket without a claim is dispatched by the first poll. */
async function bootOnce(ledger: string): Promise<{ readonly startMs: number; readonly dispatchMs: number }> {
  await using product = new Product();
  product.configure();
  copyFileSync(ledger, product.ledgerPath);
  product.addTickets(CLAIMS + 1);
  const begun = Date.now();
  const startMs = await product.start();
  const id = `B-${CLAIMS}`;
  const at = await until("the ticket is dispatched", () => {
    const startedAt = product.count(`SELECT started_at FROM runs WHERE issue_id = '${id}'`);
    return startedAt > 0 && startedAt;
  });
  return { startMs, dispatchMs: at - begun };
}

/** Registered in main.ts. */
export const restart: Bench = {
  name: "restart",
  about: "boot to the first dispatch with a thousand claims and a million event rows",
  async run() {
    using ledger = filledLedger();
    const boots: Awaited<ReturnType<typeof bootOnce>>[] = [];
    for (let n = 0; n < REPEATS; n += 1) boots.push(await bootOnce(ledger.path));
    return {
      rows: [
        {
          claims: CLAIMS,
          boot_ms: rounded(median(boots.map(({ startMs }) => startMs))),
          first_dispatch_ms: rounded(median(boots.map(({ dispatchMs }) => dispatchMs))),
        },
      ],
      notes: [`From the start of the process, built package, median of ${REPEATS}.`, loadNote()],
    };
  },
};
