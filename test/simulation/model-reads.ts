/** The scheduler's two kinds of read, carried out on the model board and reported as the real effects do. */
import type { IssueId } from "../../src/domain/ids.ts";
import type { Issue } from "../../src/domain/issue.ts";
import type { Effect } from "../../src/scheduler/effects.ts";
import type { Event } from "../../src/scheduler/events.ts";
import type { Faults } from "./faults.ts";
import { inStates, type ModelBoard } from "./model-board.ts";

type Report = (event: Event) => void;

/** Candidates and tracked tickets of one moment, or one failure for both. */
export function answerPoll(
  board: ModelBoard,
  faults: Faults,
  { poll, states, ids }: Extract<Effect, { kind: "poll" }>,
  report: Report,
): void {
  const isCandidate = inStates(states);
  const isTracked = ofIds(ids);
  board.read(
    faults,
    (issue) => isCandidate(issue) || isTracked(issue),
    (answer) => {
      if ("failure" in answer) return report({ kind: "poll_failed", poll, failure: answer.failure });
      const candidates = answer.issues.filter(isCandidate);
      report({ kind: "polled", poll, candidates, tracked: answer.issues.filter(isTracked), trackedIds: ids });
    },
  );
}

/** The look right before a start. */
export function answerRefresh(
  board: ModelBoard,
  faults: Faults,
  { check, ids }: Extract<Effect, { kind: "refresh" }>,
  report: Report,
): void {
  board.read(faults, ofIds(ids), (answer) =>
    report(
      "failure" in answer
        ? { kind: "refresh_failed", check, ids, failure: answer.failure }
        : { kind: "refreshed", check, ids, issues: answer.issues },
    ),
  );
}

function ofIds(ids: readonly IssueId[]): (issue: Issue) => boolean {
  const wanted = new Set(ids);
  return (issue) => wanted.has(issue.id);
}
