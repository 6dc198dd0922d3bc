/** What must hold when a round is over: every breach is a loss, in words. */
import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { checkLedger } from "../../src/ledger/maintenance.ts";
import { RolloutStore } from "../../src/agent/simulated/rollout.ts";
import { readLedger, type LedgerView, type RunRow } from "./ledger-view.ts";
import { isLook, type Entry } from "./journal.ts";
import { processesOf } from "./processes.ts";
import { isFinished } from "./scripts.ts";
import { SECRET, type World } from "./world.ts";

/** Columns of the final table. */
export const LOSSES = {
  ticket: "tickets neither done nor properly waiting",
  twice: "tickets worked on after they were done",
  workspace: "two at work in one workspace, or a workspace left behind",
  process: "processes left, or daemons that died by themselves",
  tokens: "tokens counted twice, or more than were served",
  thread: "threads that were not resumed",
  attempt: "attempts consumed by a stop of the daemon",
  ledger: "ledgers with damage, open rows or missing runs",
  secret: "secrets in files",
  fault: "faults that were answered wrongly",
} as const satisfies Readonly<Record<string, string>>;
export type LossKind = keyof typeof LOSSES;

export interface Loss {
  readonly kind: LossKind;
  readonly text: string;
}

/** Figures of a round for the final table. */
export interface Figures {
  readonly done: number;
  readonly waiting: number;
  readonly runs: number;
  readonly served: number;
  readonly counted: number;
}

interface Evidence {
  readonly world: World;
  readonly ledger: LedgerView;
  readonly journal: readonly Entry[];
  /** A backup was put back: what the ledger learnt after it is forgotten. */
  readonly restored: boolean;
}

function checkTickets({ world, ledger, journal }: Evidence): Loss[] {
  const losses: Loss[] = [];
  for (const { id, kind } of world.plan.tickets) {
    const state = world.stateOf(id);
    const claim = ledger.claims.find(({ ticket }) => ticket === id);
    if (isFinished(kind)) {
      if (state !== "Done") losses.push({ kind: "ticket", text: `${id} (${kind}) is ${state}` });
      if (claim !== undefined) losses.push({ kind: "ticket", text: `${id} is Done and still ${claim.kind}` });
    } else if (state !== "Todo" || claim?.kind !== "blocked" || claim.why !== "needs_input") {
      losses.push({
        kind: "ticket",
        text: `${id} (${kind}) is ${state}, ${claim?.kind ?? "unclaimed"} ${claim?.why ?? ""}`,
      });
    }
    const mine = journal.filter(({ ticket }) => ticket === id);
    const firstDone = mine.findIndex(({ name }) => name === "done");
    const after = firstDone === -1 ? [] : mine.slice(firstDone + 1);
    for (const { name } of after) {
      if (name === "begin" || name === "tool" || name === "done") {
        losses.push({ kind: "twice", text: `${id}: ${name} after done` });
      }
    }
  }
  return losses;
}

function checkWorkspaces({ world, journal, ledger }: Evidence): Loss[] {
  const losses: Loss[] = journal
    .filter(({ name }) => name.startsWith("violation:"))
    .map(({ name, ticket }) => ({ kind: "workspace", text: `${ticket}: ${name}` }));
  const kept = world.plan.tickets.filter(({ kind }) => !isFinished(kind)).map(({ id }) => id);
  for (const [where, found] of [
    ["the root", world.workspaces()],
    ["the ledger", ledger.workspaces],
  ] as const) {
    if (found.toSorted().join() !== kept.join()) {
      losses.push({ kind: "workspace", text: `${where} has ${found.join() || "none"}, not ${kept.join() || "none"}` });
    }
  }
  return losses;
}

function checkProcesses({ world }: Evidence): Loss[] {
  const left = processesOf(world.user.root).map(({ pid, command }) => `process ${pid} is left: ${command}`);
  return [...left, ...world.deaths].map((text) => ({ kind: "process", text }));
}

/** What a thread's agent has had served, input and output together. */
function servedTo(world: World, threadId: string): number {
  const total = new RolloutStore(join(world.chaosDir, "agents")).read(threadId).usage?.usage.total;
  return total === undefined ? 0 : total.inputTokens + total.outputTokens;
}

/** Threads of all agents, those included that no daemon ever learnt of. */
function allThreads(world: World): readonly string[] {
  const names = readdirSync(join(world.chaosDir, "agents"), { recursive: true }).map(String);
  return names.flatMap((name) => /rollout-(.+)\.jsonl$/.exec(name)?.[1] ?? []);
}

/** A thread whose last run ended in good order was heard to its end; of another the newest report may never have arrived. */
function checkTokens({ world, ledger }: Evidence): Loss[] {
  const losses: Loss[] = [];
  for (const { thread_id: thread, counted, mark } of ledger.threads) {
    const served = servedTo(world, thread);
    const last = ledger.runs.findLast((run) => run.thread_id === thread && run.begun > 0);
    const text = `thread ${thread} of ${last?.ticket ?? "?"}: served ${served}, counted ${counted}, mark ${mark}`;
    const wasHeard = last?.outcome === "succeeded" || last?.outcome === "needs_input";
    if (counted > served || mark > served || (wasHeard && counted !== served)) losses.push({ kind: "tokens", text });
  }
  return losses;
}

function runsOf(runs: readonly RunRow[], ticket: string): readonly RunRow[] {
  return runs.filter((run) => run.ticket === ticket);
}

/** A thread that has begun a turn can be resumed, whatever happened to its agent; one whose agent was killed right before that has no file. */
function checkThreads({ world, ledger, restored }: Evidence): Loss[] {
  if (restored) return [];
  const kept = new Set(allThreads(world));
  return world.plan.tickets.flatMap(({ id }): Loss[] => {
    const begun = runsOf(ledger.runs, id).filter((run) => run.begun > 0 && kept.has(run.thread_id ?? ""));
    const threads = [...new Set(begun.map((run) => run.thread_id))];
    return threads.length <= 1 ? [] : [{ kind: "thread", text: `${id} had threads ${threads.join(", ")}` }];
  });
}

function checkAttempts({ world, ledger, restored }: Evidence): Loss[] {
  if (restored) return [];
  return world.plan.tickets.flatMap(({ id }): Loss[] => {
    const runs = runsOf(ledger.runs, id);
    return runs.flatMap((run, index): Loss[] => {
      const next = runs[index + 1];
      if (run.class !== "shutdown" || next === undefined || next.attempt === run.attempt) return [];
      return [{ kind: "attempt", text: `${id}: attempt ${run.attempt} became ${next.attempt} by a shutdown` }];
    });
  });
}

/** The row of a process whose end couldn't be written stays open until the next boot; the log says so of each. */
const UNRECORDED_END = "recording the end of the agent's process failed";

function checkLedgerRows({ world, ledger, journal, restored }: Evidence): Loss[] {
  const problems = checkLedger(world.ledger).map((text) => `damage: ${text}`);
  if (!ledger.isClosed) problems.push("the ledger was not closed");
  const unrecorded = world.log.split(UNRECORDED_END).length - 1;
  if (ledger.openProcesses > unrecorded) problems.push(`${ledger.openProcesses} processes have no end`);
  for (const run of ledger.runs) {
    if (run.ended_at === null) problems.push(`run ${run.run_id} of ${run.ticket} has no end`);
  }
  const known = new Set(ledger.runs.map((run) => run.run_id));
  for (const { name, ticket, run } of restored ? [] : journal) {
    if (name === "before_remove" || isLook(run) || known.has(run)) continue;
    problems.push(`${ticket}: ${name} in run ${run}, which has no row`);
  }
  return problems.map((text) => ({ kind: "ledger", text }));
}

const EXPECTED_ERRORS = ["the ledger can't be written", "events can't be written", "a tool call threw"];

function checkLog({ world }: Evidence): Loss[] {
  return world.log.split("\n").flatMap((line): Loss[] => {
    if (line === "" || (line.startsWith("{") && !line.includes('"level":"error"'))) return [];
    if (EXPECTED_ERRORS.some((text) => line.includes(text)) || line.startsWith("symphony works on")) return [];
    return [{ kind: "fault", text: `the log says: ${line.slice(0, 400)}` }];
  });
}

function filesWith(dir: string, texts: readonly string[]): readonly string[] {
  const entries = readdirSync(dir, { recursive: true, withFileTypes: true });
  const paths = entries.flatMap((entry) => (entry.isFile() ? [join(entry.parentPath, entry.name)] : []));
  return paths.filter((path) => {
    const content = readFileSync(path, "latin1");
    return texts.some((text) => content.includes(text));
  });
}

function checkSecrets({ world }: Evidence): Loss[] {
  const tokenFile = join(world.stateDir, "token");
  const token = readFileSync(tokenFile, "utf8").trim();
  const found = filesWith(world.user.root, [SECRET, token]).filter((path) => path !== tokenFile);
  if (world.log.includes(SECRET) || world.log.includes(token)) found.push("the log");
  return found.map((path) => ({ kind: "secret", text: path }));
}

const CHECKS = [
  checkTickets,
  checkWorkspaces,
  checkProcesses,
  checkTokens,
  checkThreads,
  checkAttempts,
  checkLedgerRows,
  checkLog,
  checkSecrets,
] as const;

/** Looks at everything after the last daemon has stopped. */
export function findLosses(world: World, { restored }: { readonly restored: boolean }): readonly Loss[] {
  const evidence: Evidence = { world, restored, ledger: readLedger(world.ledger), journal: world.journal() };
  return CHECKS.flatMap((check) => check(evidence));
}

/** Counts for the table. */
export function countFigures(world: World): Figures {
  const ledger = readLedger(world.ledger);
  const done = world.plan.tickets.filter(({ id }) => world.stateOf(id) === "Done").length;
  return {
    done,
    waiting: world.plan.tickets.length - done,
    runs: ledger.runs.length,
    served: allThreads(world).reduce((sum, thread) => sum + servedTo(world, thread), 0),
    counted: ledger.threads.reduce((sum, { counted }) => sum + counted, 0),
  };
}
