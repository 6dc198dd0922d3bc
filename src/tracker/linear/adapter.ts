/** The tracker on a Linear workspace. */
import { AppError } from "../../domain/errors.ts";
import { issueId, type IssueId } from "../../domain/ids.ts";
import type { Issue } from "../../domain/issue.ts";
import type { Clock } from "../../lib/clock.ts";
import type { Log } from "../../lib/log.ts";
import type { Tracker } from "../port.ts";
import type { TrackerDeps } from "../registry.ts";
import { Accounts } from "./accounts.ts";
import type { Budget } from "./budget.ts";
import { LinearClient } from "./client.ts";
import { Coalescer } from "./coalesce.ts";
import { DeltaReads } from "./delta.ts";
import { readProvider } from "./provider.ts";
import { IssueReads } from "./reads.ts";
import type { Snapshot } from "./snapshots.ts";
import { Snapshots } from "./snapshots.ts";
import { LinearSessions } from "./sessions.ts";
import { StateNames } from "./state-names.ts";
import { createLinearTool } from "./tool.ts";
import { Uploads } from "./uploads.ts";

/** Says once what is wrong with a record, and again only after it was mended or is wrong in another way. */
class Warnings {
  readonly #log: Log;
  readonly #said = new Map<string, string>();

  constructor(log: Log) {
    this.#log = log;
  }

  /** The usable ones of a list. */
  keep(snapshots: readonly Snapshot[]): Issue[] {
    const issues: Issue[] = [];
    for (const snapshot of snapshots) {
      if (snapshot.issue === null) this.#warn(snapshot);
      else {
        this.#said.delete(snapshot.id);
        issues.push(snapshot.issue);
      }
    }
    return issues;
  }

  #warn({ id, identifier, problem }: Extract<Snapshot, { issue: null }>): void {
    const key = id ?? identifier ?? "";
    if (this.#said.get(key) === problem) return;
    this.#said.set(key, problem);
    this.#log.warn({ issue_id: id, issue_identifier: identifier, problem }, "malformed Linear issue skipped");
  }
}

/** One line an hour says what the credential has left and what has been spent. */
class BudgetLog {
  readonly #budget: Budget;
  readonly #clock: Clock;
  readonly #log: Log;
  #saidAt = Number.NEGATIVE_INFINITY;

  constructor({ budget, clock, log }: { readonly budget: Budget; readonly clock: Clock; readonly log: Log }) {
    this.#budget = budget;
    this.#clock = clock;
    this.#log = log;
  }

  /** Called after each poll; silent until an answer has told of the buckets. */
  polled(): void {
    const now = this.#clock.now();
    if (now - this.#saidAt < BUDGET_LOG_MS) return;
    const { requests, complexity, sent, points } = this.#budget.reading();
    if (requests === null) return;
    this.#saidAt = now;
    this.#log.info({ requests, complexity, sent, points }, "Linear's hourly budget of this credential");
  }
}

const BUDGET_LOG_MS = 3_600_000;

/** A refresh answers for each id that it was asked: a record that can't be read fails it. */
function demandAll(snapshots: readonly Snapshot[]): Issue[] {
  return snapshots.map((snapshot) => {
    if (snapshot.issue !== null) return snapshot.issue;
    const { id, identifier, problem } = snapshot;
    const text = `Linear answered issue ${identifier ?? id ?? "(without id)"} with a malformed record: ${problem}`;
    throw new AppError("tracker_response", text, { reason: "shape", retryable: true, issueId: id });
  });
}

/** Which of the followed issues came as records that can't be read. Without its id such a record could be any of them, which fails them all. */
function unreadableIds(snapshots: readonly Snapshot[]): IssueId[] {
  const unreadable = snapshots.filter(({ issue }) => issue === null);
  demandAll(unreadable.filter(({ id }) => id === null));
  return unreadable.flatMap(({ id }) => (id === null ? [] : [issueId(id)]));
}

/** The adapter for `tracker.kind: linear`. Sends nothing before its first call. */
export async function createLinearTracker({ settings, clock, log, carried = {} }: TrackerDeps): Promise<Tracker> {
  const provider = readProvider(settings.tracker.provider);
  if (provider.credential.kind === "token" && provider.credential.source === "literal") {
    log.warn("tracker.provider.api_key stands in the workflow file; name a variable such as $LINEAR_API_KEY instead");
  }
  carried.linear ??= new Accounts(clock);
  const account = carried.linear.of(provider);
  const client = new LinearClient({ endpoint: provider.endpoint, account, clock });
  const uploads = new Uploads({ endpoint: provider.endpoint, credentials: account.credentials, clock });
  const reads = new IssueReads(client, provider.scope, settings.tracker.terminalStates);
  const snapshots = new Snapshots({ client, clock, provider, settings });
  const warnings = new Warnings(log);
  const deltas = new DeltaReads({ client, clock, scope: provider.scope, reads });
  const refreshes = new Coalescer<Snapshot>(async (ids) => {
    const found = await reads.byIds(ids, "refresh");
    deltas.learn(ids, found);
    return snapshots.of(found, { lane: "refresh" });
  });
  const stateNames = new StateNames({ client, clock, log, scope: provider.scope, ...settings.tracker });
  const sessions = provider.agentSessions ? new LinearSessions({ client, clock, log }) : null;
  const budgetLog = new BudgetLog({ budget: client.budget, clock, log });
  return {
    kind: "linear",
    ...(sessions === null ? {} : { sessions }),
    tools: [createLinearTool({ client, credentials: account.credentials, mode: provider.toolMode })],
    async fetchIssuesByStates(names, signal) {
      const records = await reads.byStates(names, "refresh", signal);
      return warnings.keep(await snapshots.of(records, { lane: "refresh", signal }));
    },
    async fetchIssuesByIds(ids, signal) {
      return ids.length === 0 ? [] : demandAll(await refreshes.fetch(ids, signal));
    },
    async poll(query, signal) {
      const { candidates, tracked } = await deltas.tick(query, signal);
      budgetLog.polled();
      const all = await snapshots.of([...candidates, ...tracked], { lane: "refresh", signal });
      const issues = warnings.keep(all.slice(0, candidates.length));
      const followed = all.slice(candidates.length);
      const seen = issues.map((issue) => issue.state);
      await stateNames.polled(query.states, seen, signal);
      return {
        candidates: issues,
        tracked: warnings.keep(followed),
        unreadable: unreadableIds(followed),
      };
    },
    fetchImage: (reference, options) => uploads.fetch(reference, options),
    usage: () => client.budget.reading(),
    async close() {
      await sessions?.close();
      uploads.close();
      client.close();
    },
  };
}
