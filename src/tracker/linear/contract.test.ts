/** The Linear adapter passes the contract of every tracker. */
import { describeTrackerContract } from "../../../test/contract/tracker-contract.ts";
import type { TrackerHarness } from "../../../test/contract/tracker-harness.ts";
import { startLinearBench } from "../../../test/support/linear-tracker.ts";
import { issueId } from "../../domain/ids.ts";

async function makeHarness(): Promise<TrackerHarness> {
  const { server, tracker, log, dispose } = await startLinearBench();
  const { board } = server;
  board.addProject("elsewhere", "Elsewhere");
  return {
    tracker,
    warnings: log.warnings,
    create: (draft) => Promise.resolve(issueId(board.createIssue(draft).id)),
    update(id, { title, state, description, priority, labels }) {
      if (state !== undefined) board.moveIssue(id, state);
      if (labels !== undefined) board.labelIssue(id, labels);
      board.patchIssue(id, {
        ...(title === undefined ? {} : { title }),
        ...(description === undefined ? {} : { description }),
        ...(priority === undefined ? {} : { priority }),
      });
      return Promise.resolve();
    },
    remove(id) {
      board.patchIssue(id, { projectId: board.project("elsewhere").id });
      return Promise.resolve();
    },
    breakRecord(id) {
      board.patchIssue(id, { title: " " });
      return Promise.resolve();
    },
    failReads() {
      // The first page and the first batch are answered, what follows isn't; a combined read fails at once.
      const fault = { kind: "status", status: 503 } as const;
      for (const operation of ["SymphonyCandidates", "SymphonyIssuesById"]) server.fail({ operation, skip: 1, fault });
      server.fail({ operation: "SymphonyTick", fault });
      return Promise.resolve();
    },
    healReads() {
      server.heal();
      return Promise.resolve();
    },
    dispose,
  };
}

describeTrackerContract("linear", makeHarness);
