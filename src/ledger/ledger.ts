/** The ledger's writing side: the one connection of the daemon, and every row that it writes. */
import { randomUUID } from "node:crypto";
import { statSync } from "node:fs";
import type { DurableChange } from "../domain/claim.ts";
import { AppError } from "../domain/errors.ts";
import type { Clock } from "../lib/clock.ts";
import type { Log } from "../lib/log.ts";
import { prepareClaimRows, type ClaimRows } from "./claims.ts";
import { openForWriting, type Connection } from "./database.ts";
import { prepareEarlierWork } from "./earlier-work.ts";
import { createEventRows } from "./events.ts";
import { guarded } from "./failure.ts";
import type { Ledger } from "./port.ts";
import { prepareProcessRows } from "./processes.ts";
import { DETAILS_KEPT_MS, prune } from "./prune.ts";
import { prepareRunRows, type RunRows } from "./runs.ts";
import { prepareThreadRows, type ThreadRows } from "./threads.ts";
import { createTokenCounter } from "./tokens.ts";
import { prepareToolCallRows } from "./tool-calls.ts";
import { createWriter, whole, type Writer } from "./writer.ts";

export interface LedgerDeps {
  /** The ledger's file; its directory is made if need be. */
  readonly path: string;
  readonly clock: Clock;
  readonly log: Log;
  /** Takes known secret values out of a text before it is kept. */
  readonly redact?: (text: string) => string;
}

/** The file that a name leads to now. */
function fileIdentity(path: string): string | null {
  const file = statSync(path, { throwIfNoEntry: false, bigint: true });
  return file === undefined ? null : `${file.dev}:${file.ino}`;
}

/** Writes go to the open file even when its name leads elsewhere by now, and would be lost. */
function createPlaceGuard(path: string): () => void {
  const opened = fileIdentity(path);
  return () => {
    if (fileIdentity(path) === opened) return;
    throw new AppError(
      "ledger_unusable",
      `the ledger ${path} was removed or replaced while the daemon ran; put it back, or restart the daemon`,
      { path, reason: "moved" },
    );
  };
}

/**
 * Names the ledger if it has no name yet, and marks it as open: a mark that is left by a killed daemon makes the next start check the
 * file. Answers the name.
 */
function beginSession(db: Connection, writer: Writer, at: number): string {
  return writer.durable("opening", () => {
    db.prepare("INSERT OR IGNORE INTO ledger (one, id, created_at) VALUES (1, ?, ?)").run(randomUUID(), whole(at));
    db.prepare("INSERT OR REPLACE INTO daemon (one, pid, started_at, stopped_at) VALUES (1, ?, ?, NULL)").run(
      process.pid,
      whole(at),
    );
    return db.prepare<[], string>("SELECT id FROM ledger").pluck().get() ?? "";
  });
}

const DAY_MS = 24 * 60 * 60 * 1000;

/** Lets old details go once a day, beside what is written anyway: at the first call, and a day later again. */
function dailyPrune(db: Connection, writer: Writer, clock: Clock, log: Log): () => void {
  let nextAt = 0;
  return () => {
    const now = clock.now();
    if (now < nextAt) return;
    nextAt = now + DAY_MS;
    try {
      const pruned = prune(db, writer, now - DETAILS_KEPT_MS);
      if (Object.values(pruned).some((rows) => rows > 0)) log.info({ pruned }, "old details left the ledger");
    } catch (error) {
      log.warn({ err: error }, "old details can't be pruned; tried again tomorrow");
    }
  };
}

function createCommit(parts: {
  readonly claims: ClaimRows;
  readonly runs: RunRows;
  readonly threads: ThreadRows;
  readonly writer: Writer;
  readonly clock: Clock;
  checkPlace(): void;
}): (change: DurableChange) => void {
  const { claims, runs, threads, writer, clock, checkPlace } = parts;
  return (change) => {
    checkPlace();
    const at = clock.now();
    try {
      writer.durable("keeping a decision", () => {
        for (const fact of change.facts) {
          if (fact.kind === "run_started") claims.seeIssue(fact.issue, at);
          if (fact.kind === "thread_unbound") threads.unbind(fact.issueId);
          else runs.write(fact);
        }
        claims.write(change, at);
      });
    } catch (error) {
      claims.rolledBack();
      throw error;
    }
  };
}

/** Sum of what ended runs took, in milliseconds. */
function endedMs(db: Connection): number {
  return (
    db
      .prepare<[], number>("SELECT COALESCE(SUM(ended_at - started_at), 0) FROM runs WHERE ended_at IS NOT NULL")
      .pluck()
      .get() ?? 0
  );
}

/** Opens, creates or upgrades the ledger. Throws `ledger_unusable`, `ledger_newer` or `state_dir_unusable`. */
export function openLedger({ path, clock, log, redact = (text) => text }: LedgerDeps): Ledger {
  const db = openForWriting(path, log);
  const writer = createWriter(db, path);
  const claims = prepareClaimRows(db, redact);
  const runs = prepareRunRows(db, redact);
  const processes = prepareProcessRows(db);
  const threads = prepareThreadRows(db);
  const tools = prepareToolCallRows(db);
  const earlierWork = prepareEarlierWork(db);
  const tokens = createTokenCounter(db, writer);
  const events = createEventRows({ db, writer, clock, log, redact, written: dailyPrune(db, writer, clock, log) });
  const id = beginSession(db, writer, clock.now());

  function close(): void {
    if (!db.open) return;
    events.close();
    try {
      db.prepare("UPDATE daemon SET stopped_at = ?").run(whole(clock.now()));
    } catch (error) {
      log.warn({ err: error }, "the ledger can't be marked as closed; the next start checks it");
    }
    db.close();
  }

  return {
    path,
    id,
    loadState: () => guarded(path, "reading the state", () => claims.load()),
    commit: createCommit({ claims, runs, threads, writer, clock, checkPlace: createPlaceGuard(path) }),
    // A power loss ends the process too, so its row need only survive this one.
    processSpawned: (...spawned) => writer.quick("keeping a process", () => processes.spawned(...spawned)),
    processEnded: (...ended) => writer.quick("ending a process", () => processes.ended(...ended)),
    liveProcesses: () => guarded(path, "reading processes", () => processes.live()),
    processesOf: (issueId) => guarded(path, "reading processes", () => processes.ofIssue(issueId)),
    turnIntended: (intent) => writer.durable("keeping a turn", () => runs.turnIntended(intent)),
    turnStarted: (start) => writer.quick("starting a turn", () => runs.turnStarted(start)),
    turnEnded: (end) => writer.quick("ending a turn", () => runs.turnEnded(end)),
    recordTokens: (report) => tokens.record(report),
    totals: () => guarded(path, "reading totals", () => ({ tokens: tokens.all(), endedMs: endedMs(db) })),
    tokensOfIssue: (issueId) => guarded(path, "reading tokens", () => tokens.ofIssue(issueId)),
    tokensOfDay: (at) => guarded(path, "reading tokens", () => tokens.ofDay(at)),
    toolIntended: (intent) => writer.durable("keeping a tool call", () => tools.intended(intent)),
    toolEnded: (end) => writer.quick("ending a tool call", () => tools.ended(end)),
    callsInDoubt: (issueId) => guarded(path, "reading tool calls", () => tools.inDoubt(issueId)),
    earlierWork: (issueId) => {
      events.flush();
      return guarded(path, "reading earlier work", () => earlierWork(issueId));
    },
    bindThread: (binding) => writer.durable("binding a thread", () => threads.bind(binding)),
    threadBinding: (issueId) => guarded(path, "reading a thread", () => threads.binding(issueId)),
    unbindThread: (issueId) => writer.durable("unbinding a thread", () => threads.unbind(issueId)),
    appendEvent: (event) => events.append(event),
    flush: () => events.flush(),
    close,
  };
}
