/** The decisive conditions of the scheduler, and how each is turned around to see whether the tests notice. */

export interface Mutation {
  /** Below src/scheduler. */
  readonly file: string;
  /** Stands exactly once in the file. */
  readonly from: string;
  readonly to: string;
  readonly what: string;
}

export const MUTATIONS: readonly Mutation[] = [
  {
    file: "eligibility.ts",
    from: "active_state: (issue, { tracker }) => hasState(tracker.activeStates, issue.state),",
    to: "active_state: () => true,",
    what: "an inactive ticket may run",
  },
  {
    file: "eligibility.ts",
    from: "tracker.excludedLabels.some(",
    to: "tracker.excludedLabels.every(",
    what: "one excluded label isn't enough",
  },
  {
    file: "eligibility.ts",
    from: 'label !== "" && issue.labels.includes(label)',
    to: "issue.labels.length >= 0",
    what: "required labels don't matter",
  },
  {
    file: "eligibility.ts",
    from: "!RULES[gate](issue, settings, false)",
    to: 'gate === "active_state" && !RULES[gate](issue, settings, false)',
    what: "an unroutable ticket's run goes on",
  },
  { file: "order.ts", from: "priority <= 4", to: "priority <= 9", what: "priorities above 4 rank" },
  {
    file: "order.ts",
    from: "createdA < createdB ? -1 : 1",
    to: "createdA < createdB ? 1 : -1",
    what: "the newest goes first",
  },
  {
    file: "backoff.ts",
    from: "2 ** (Math.max(1, attempt) - 1), capMs);",
    to: "2 ** Math.max(1, attempt), capMs);",
    what: "the first retry waits 20 s",
  },
  {
    file: "slots.ts",
    from: "this.#used < this.#settings.agent.maxConcurrentAgents",
    to: "this.#used <= this.#settings.agent.maxConcurrentAgents",
    what: "one run more than the cap",
  },
  {
    file: "slots.ts",
    from: "ofState.used < ofState.cap",
    to: "ofState.used <= ofState.cap",
    what: "one run more than a state's cap",
  },
  {
    file: "dispatch.ts",
    from: 'if (claim?.kind !== "waiting" || claim.check !== answer.check) continue;\n    slots',
    to: 'if (claim?.kind !== "waiting") continue;\n    slots',
    what: "stale looks are believed",
  },
  {
    file: "dispatch.ts",
    from: 'if (gate === "probe" && chosen.length === 1) break;',
    to: "",
    what: "everybody probes a limit",
  },
  {
    file: "polling.ts",
    from: "see(draft, env, id, sightings.get(id) ?? null)",
    to: "see(draft, env, id, sightings.get(id) ?? draft.state.claims.get(id)?.issue ?? null)",
    what: "a ticket that is gone keeps its claim",
  },
  {
    file: "polling.ts",
    from: "if (event.poll !== draft.state.polling) return;\n  endPoll(draft, env);\n  const sightings",
    to: "endPoll(draft, env);\n  const sightings",
    what: "superseded polls are believed",
  },
  {
    file: "run-end.ts",
    from: "limit > 0 && idle.runs >= limit",
    to: "limit > 0 && idle.runs > limit",
    what: "one idle run more",
  },
  {
    file: "run-end.ts",
    from: "const attempt = (claim.attempt ?? 0) + 1;",
    to: "const attempt = claim.attempt ?? 1;",
    what: "attempts aren't counted",
  },
  {
    file: "transitions.ts",
    from: 'case "operator_release":\n      release(draft, claim.issue, "operator");\n      return true;',
    to: 'case "operator_release":\n      return false;',
    what: "a released run comes back",
  },
  {
    file: "timers.ts",
    from: "&& claim.open === 0",
    to: "",
    what: "an open command is no life",
  },
  {
    file: "timers.ts",
    from: "deadline.at <= env.now) stopRun",
    to: "deadline.at < env.now) stopRun",
    what: "a stall is noticed late, and the timer spins",
  },
  {
    file: "pauses.ts",
    from: "return issueId !== null && before.probe === issueId ? before.step + 1 : before.step;",
    to: "return before.step + 1;",
    what: "ten runs at one limit are ten steps",
  },
  {
    file: "sightings.ts",
    from: "if (!differs || !changedSince(issue, claim.since)) return refreshSnapshot(draft, claim, issue);",
    to: "",
    what: "a blocked ticket unblocks itself",
  },
  {
    file: "sightings.ts",
    from: "!differs || !changedSince(issue, claim.since)",
    to: "!differs",
    what: "what the agent changed before the block unblocks its ticket",
  },
  {
    file: "operator.ts",
    from: "const answered = { ...claim, inbox: [...claim.inbox, item] };",
    to: "const answered = claim;",
    what: "a person's answer isn't kept",
  },
  {
    file: "operator.ts",
    from: "const inbox: readonly InboxItem[] = [...claim.inbox, message];",
    to: "const inbox: readonly InboxItem[] = claim.inbox;",
    what: "a person's message isn't kept",
  },
  {
    file: "pauses.ts",
    from: 'draft.dropPause("operator");',
    to: "",
    what: "resume doesn't end a pause",
  },
  {
    file: "explain.ts",
    from: "gates.every((gate) => gate.pass)",
    to: "gates.some((gate) => gate.pass)",
    what: "explain calls a ticket ready that is held",
  },
  {
    file: "timers.ts",
    from: "{ ...claim, lastEventAt: env.now }",
    to: "claim",
    what: "a standstill of the daemon counts as the agents' silence",
  },
  {
    file: "dispatch.ts",
    from: 'isServed && dispatchGate(state, now) === "open" ? NO_SLOT : claim.error',
    to: "claim.error",
    what: "a ticket that waits for a slot doesn't say so",
  },
  {
    file: "boot.ts",
    from: "attempt: claim.attempt, dueAt: null, error: null });",
    to: "attempt: (claim.attempt ?? 0) + 1, dueAt: null, error: null });",
    what: "a crash costs an attempt",
  },
  {
    file: "transitions.ts",
    from: "{ memoryOnly: !isOperators(why) },",
    to: "{ memoryOnly: true },",
    what: "a person's stop is forgotten by a crash",
  },
  {
    file: "transitions.ts",
    from: 'if (why === "terminal") return env.settings.agent.finishGraceMs;',
    to: "",
    what: "a finished ticket's turn gets no grace",
  },
];
