/** Before anything is dispatched: no process of an earlier run may be left, so that a workspace never has two agents. */
import type { IssueId, RunId } from "../domain/ids.ts";
import type { Host, ProcessIdentity } from "../host/port.ts";
import type { Clock } from "../lib/clock.ts";
import type { Log } from "../lib/log.ts";

export interface RecoverDeps {
  readonly host: Host;
  readonly clock: Clock;
  readonly log: Log;
  readonly ledger: {
    liveProcesses(): readonly { readonly runId: RunId; readonly identity: ProcessIdentity }[];
    processEnded(runId: RunId, at: number): void;
  };
}

interface ReapDeps {
  readonly host: Pick<Host, "reap">;
  readonly ledger: {
    processesOf(issueId: IssueId): readonly { readonly runId: RunId; readonly identity: ProcessIdentity }[];
  };
}

/** Ends what earlier runs of an issue have left, although they were recorded as ended; answers how many processes. */
export async function reapEarlier({ host, ledger }: ReapDeps, issueId: IssueId, current: RunId): Promise<number> {
  const earlier = ledger.processesOf(issueId).filter(({ runId }) => runId !== current);
  const ended = await Promise.all(earlier.map(({ identity }) => host.reap(identity)));
  return ended.reduce((sum, processes) => sum + processes, 0);
}

/** Ends the process trees that an unclean stop left behind; each is recorded as ended only when nothing of it is left. */
export async function reapOrphans({ host, clock, log, ledger }: RecoverDeps): Promise<void> {
  await Promise.all(
    ledger.liveProcesses().map(async ({ runId, identity }) => {
      const ended = await host.reap(identity);
      ledger.processEnded(runId, clock.now());
      if (ended > 0) {
        log.warn({ run_id: runId, pid: identity.pid, processes: ended }, "ended processes of an earlier run");
      }
    }),
  );
  // A hook of a clean-up has no run, and a ledger that was restored from a backup doesn't know the newest ones.
  const others = await host.reapAll();
  if (others > 0) log.warn({ processes: others }, "ended processes that an earlier daemon of this ledger left");
}
