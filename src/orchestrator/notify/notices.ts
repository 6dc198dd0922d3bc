/** What people who aren't looking want to be told: tickets that wait for them, and what holds up everything. Found by comparing states. */
import type { PauseKind } from "../../domain/claim.ts";
import type { Issue } from "../../domain/issue.ts";
import type { State } from "../../scheduler/state.ts";

/** `docs/operating.md` lists them; receivers may rely on the names. */
export type NoticeKind =
  | "daemon_up"
  | "daemon_down"
  | "issue_blocked"
  | "question"
  | "usage_limit"
  | "not_logged_in"
  | "budget_spent"
  | "workflow_broken"
  | "pause_ended"
  | "tracker_down"
  | "tracker_up";

export interface Notice {
  readonly kind: NoticeKind;
  /** Two notices with one key are about the same thing: the later takes the place of the earlier. */
  readonly key: string;
  readonly message: string;
  readonly issue: Pick<Issue, "id" | "identifier" | "title" | "url"> | null;
}

/** One failed poll is nothing to wake anybody for. */
const POLLS_UNTIL_DOWN = 3;

/** Pauses that a person wants to hear of; those by an operator he made himself, and the tracker has notices of its own. */
const PAUSES: Partial<Readonly<Record<PauseKind, NoticeKind>>> = {
  usage_limit: "usage_limit",
  auth: "not_logged_in",
  budget: "budget_spent",
  workflow: "workflow_broken",
};

/** What has come to pass between two states. */
export function noticesBetween(before: State, after: State): readonly Notice[] {
  return [...aboutIssues(before, after), ...aboutPauses(before, after), ...aboutTracker(before, after)];
}

/** What holds in a state that a daemon starts with: told as if it had just come to pass, because nobody may have heard of it. */
export function standing(state: State): readonly Notice[] {
  return aboutPauses({ ...state, pauses: new Map() }, state);
}

function aboutIssues(before: State, after: State): readonly Notice[] {
  if (before.claims === after.claims) return [];
  return [...after.claims].flatMap(([id, claim]): readonly Notice[] => {
    const earlier = before.claims.get(id);
    if (earlier === claim) return [];
    const { issue } = claim;
    const key = `issue ${id}`;
    if (claim.kind === "blocked" && earlier?.kind !== "blocked") {
      return [
        {
          kind: "issue_blocked",
          key,
          message: `${issue.identifier} is blocked (${claim.why}): ${claim.message}`,
          issue,
        },
      ];
    }
    if (claim.kind !== "running" || claim.question === null) return [];
    const asked = earlier?.kind === "running" ? earlier.question?.id : undefined;
    if (asked === claim.question.id) return [];
    return [{ kind: "question", key, message: `${issue.identifier} asks: ${claim.question.summary}`, issue }];
  });
}

function aboutPauses(before: State, after: State): readonly Notice[] {
  if (before.pauses === after.pauses) return [];
  return [...new Set([...before.pauses.keys(), ...after.pauses.keys()])].flatMap((name): readonly Notice[] => {
    const kind = PAUSES[name];
    const [earlier, pause] = [before.pauses.get(name), after.pauses.get(name)];
    if (kind === undefined || (earlier === undefined) === (pause === undefined)) return [];
    const key = `pause ${name}`;
    if (pause === undefined) {
      return [{ kind: "pause_ended", key, message: `dispatch goes on: ${name} is over`, issue: null }];
    }
    const until = pause.until === null ? "" : `, until ${new Date(pause.until).toISOString()}`;
    return [{ kind, key, message: `dispatch is paused (${name}${until}): ${pause.message}`, issue: null }];
  });
}

function aboutTracker({ tracker: before }: State, { tracker: after }: State): readonly Notice[] {
  const [wasDown, isDown] = [before.failures >= POLLS_UNTIL_DOWN, after.failures >= POLLS_UNTIL_DOWN];
  if (wasDown === isDown) return [];
  const key = "tracker";
  if (!isDown) return [{ kind: "tracker_up", key, message: "the tracker answers again", issue: null }];
  const message = `the tracker can't be read: ${after.lastError?.message ?? "no answer"}`;
  return [{ kind: "tracker_down", key, message, issue: null }];
}
