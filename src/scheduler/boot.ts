/** From what the ledger held to a state that some crash-free history could have reached. */
import type { Claim, DurableState } from "../domain/claim.ts";
import type { Draft } from "./draft.ts";
import type { Env } from "./state.ts";
import { settleOperatorsStop, wait } from "./transitions.ts";

/**
 * Processes of earlier runs are gone by now. Runs found alive are taken up again at once on their threads and cost no attempt;
 * waits keep their due times; interrupted clean-ups are done again; pauses hold, except those that only this process can know.
 */
export function onBoot(draft: Draft, env: Env, durable: DurableState): void {
  for (const record of durable.workspaces.values()) draft.setWorkspace(record);
  for (const pause of durable.pauses.values()) {
    if (pause.kind === "workflow" || pause.kind === "ledger") draft.dropPause(pause.kind);
    else draft.setPause({ ...pause, probe: null });
  }
  for (const claim of durable.claims.values()) restoreClaim(draft, env, claim);
  draft.effect({ kind: "sweep" });
  draft.patch({ nextPollAt: env.now });
}

function restoreClaim(draft: Draft, env: Env, claim: Claim): void {
  const { id } = claim.issue;
  if (claim.kind === "running") {
    draft.fact({
      kind: "run_ended",
      runId: claim.runId,
      at: env.now,
      result: {
        outcome: { kind: "cancelled", by: "shutdown", message: "the daemon ended while this run was going on" },
        issue: claim.issue,
        turns: claim.turn,
        threadId: claim.threadId,
        changed: null,
      },
    });
    // The person who stopped it was told so. It is known first, so that a release deletes its row.
    draft.setClaim(id, claim, { memoryOnly: true });
    if (settleOperatorsStop(draft, env, claim)) return;
    wait(draft, claim, { why: "recovered", attempt: claim.attempt, dueAt: null, error: null });
    const { runId, threadId } = claim;
    const decision = recoveryOf(threadId, env.settings.agent.resume);
    draft.log("info", "run recovered", claim.issue, { run_id: runId, thread_id: threadId, decision });
    return;
  }
  draft.setClaim(id, claim.kind === "waiting" ? { ...claim, check: null } : claim);
  if (claim.kind !== "cleaning") return;
  const record = draft.state.workspaces.get(id);
  if (record === undefined) draft.dropClaim(id);
  else draft.effect({ kind: "clean", record, issue: claim.issue });
}

/** The first rows of the table in docs/recovery.md; the rest is known once the agent has been asked. */
function recoveryOf(threadId: string | null, resume: boolean): string {
  if (threadId === null) return "fresh thread: no turn had begun";
  return resume ? "resume the thread" : "fresh thread: agent.resume is off";
}
